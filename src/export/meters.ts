import type { PollErrorCode } from "../domain/errors.ts";
import type { DenialEvent } from "../domain/events.ts";
import type { PollOutcome } from "../domain/poll.ts";
import { counter, type Emit, type Family, histogram, type Labels, labelsOf } from "./family.ts";

/** Counts observations by upper bound. */
export interface Histogram {
  observe(value: number): void;
  emit(emit: Emit, family: Family, labels: Labels): void;
}

/** `bounds` ascend and are finite; the bucket `+Inf` comes by itself. Buckets are told cumulatively, as Prometheus wants. */
export function createHistogram(bounds: readonly number[]): Histogram {
  const counts = bounds.map(() => 0);
  const names = bounds.map(boundName);
  let count = 0;
  let sum = 0;
  return {
    observe(value) {
      count++;
      sum += value;
      const index = bounds.findIndex((bound) => value <= bound);
      if (index >= 0) counts[index] = (counts[index] ?? 0) + 1;
    },
    emit(emit, family, labels) {
      let below = 0;
      for (const [index, name] of names.entries()) {
        below += counts[index] ?? 0;
        emit(family, [...labels, ["le", name]], below, "_bucket");
      }
      emit(family, [...labels, ["le", "+Inf"]], count, "_bucket");
      emit(family, labels, sum, "_sum");
      emit(family, labels, count, "_count");
    },
  };
}

/** OpenMetrics 1.0 wants a point in every bound; the older text takes any spelling. One for both is one series. */
function boundName(bound: number): string {
  return Number.isInteger(bound) ? bound.toFixed(1) : String(bound);
}

export const DENIALS = {
  denials: counter(
    "license_denials_total",
    "Denied requests since the start of licmond; a user who tries again within minutes counts once.",
  ),
} as const;

/** A log may name features without end; what does not fit is counted without its feature. */
const MAX_SERIES = 10_000;

/** Counts denials as they are told. Granted and queued requests are none. */
interface DenialMeter {
  add(denial: Pick<DenialEvent, "server" | "daemon" | "feature" | "user" | "count" | "outcome">): void;
  emit(emit: Emit): void;
}

export function createDenialMeter(maxSeries: number = MAX_SERIES): DenialMeter {
  const counts = new Map<string, { readonly labels: readonly [string, string, string]; count: number }>();

  return {
    add({ server, daemon, feature, user, count, outcome }) {
      if (outcome !== "denied") return;
      let labels: readonly [string, string, string] = [server, daemon, feature ?? ""];
      if (counts.size >= maxSeries && !counts.has(labels.join("\0"))) labels = [server, daemon, ""];
      const key = labels.join("\0");
      const entry = counts.get(key) ?? { labels, count: 0 };
      // Where the manager only counts, one event tells of many.
      entry.count += feature === null && user === null ? count : 1;
      counts.set(key, entry);
    },
    emit(emit) {
      for (const { labels, count } of counts.values()) {
        const [server, daemon, feature] = labels;
        emit(DENIALS.denials, labelsOf({ server, daemon, feature }), count);
      }
    },
  };
}

export const POLLS = {
  polls: counter("licmond_polls_total", "Polls by server and by what came of them."),
  durations: histogram("licmond_poll_duration_seconds", "How long polls took, whatever came of them."),
  unparsed: counter("licmond_unparsed_lines_total", "Lines of the tools that no rule knew."),
} as const;

const OUTCOMES = ["ok", "partial", "unreachable", "query_failed", "parse_error", "timeout"] as const;
type Outcome = (typeof OUTCOMES)[number];

const OUTCOME_OF: Readonly<Record<PollErrorCode, Outcome>> = {
  LICENSE_SERVER_UNREACHABLE: "unreachable",
  LICENSE_QUERY_FAILED: "query_failed",
  LICENSE_PARSE_ERROR: "parse_error",
  TIMEOUT: "timeout",
};

/** Seconds: tools answer in a tenth, and may be given ten minutes. */
const BOUNDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** Counts polls since the start. */
interface PollMeter {
  add(outcome: PollOutcome): void;
  /** Servers of the config: each is told from its start on, those that are gone no more. */
  emit(emit: Emit, servers: readonly string[]): void;
}

interface Entry {
  readonly outcomes: Record<Outcome, number>;
  readonly durations: Histogram;
  unparsed: number;
}

export function createPollMeter(): PollMeter {
  const entries = new Map<string, Entry>();

  function entryOf(server: string): Entry {
    let entry = entries.get(server);
    if (entry === undefined) {
      const outcomes = { ok: 0, partial: 0, unreachable: 0, query_failed: 0, parse_error: 0, timeout: 0 };
      entry = { outcomes, durations: createHistogram(BOUNDS), unparsed: 0 };
      entries.set(server, entry);
    }
    return entry;
  }

  return {
    add({ serverId, error, reading, durationMs }) {
      const entry = entryOf(serverId);
      entry.outcomes[error === null ? (reading?.cut ? "partial" : "ok") : OUTCOME_OF[error.code]]++;
      entry.durations.observe(durationMs / 1000);
      entry.unparsed += reading?.unparsedLines ?? 0;
    },
    emit(emit, servers) {
      const configured = new Set(servers);
      for (const server of entries.keys()) if (!configured.has(server)) entries.delete(server);
      for (const server of servers) {
        const { outcomes, durations, unparsed } = entryOf(server);
        for (const outcome of OUTCOMES) {
          emit(POLLS.polls, labelsOf({ server, outcome }), outcomes[outcome]);
        }
        durations.emit(emit, POLLS.durations, [["server", server]]);
        emit(POLLS.unparsed, [["server", server]], unparsed);
      }
    },
  };
}
