import type { PollErrorCode } from "../domain/errors.ts";
import type { DenialEvent } from "../domain/events.ts";
import type { PollOutcome } from "../domain/poll.ts";
import { counter, type Emit, type Family, histogram, type Labels, labelsOf } from "./family.ts";

export type Histogram = ReturnType<typeof createHistogram>;

/**
 * Counts observations by upper bound. `bounds` ascend and are finite; the bucket `+Inf` comes by itself. Buckets are
 * cumulative, as Prometheus wants.
 */
export function createHistogram(bounds: readonly number[]) {
  const counts = bounds.map(() => 0);
  // OpenMetrics 1.0 wants a point in every bound; the older text takes any spelling. One for both is one series.
  const names = bounds.map((bound) => (Number.isInteger(bound) ? bound.toFixed(1) : String(bound)));
  let count = 0;
  let sum = 0;
  return {
    observe(value: number): void {
      count++;
      sum += value;
      const index = bounds.findIndex((bound) => value <= bound);
      if (index >= 0) counts[index] = (counts[index] ?? 0) + 1;
    },
    emit(emit: Emit, family: Family, labels: Labels): void {
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

export const DENIALS = {
  denials: counter(
    "license_denials_total",
    "Denied requests since the start of licmond; a user who tries again within minutes counts once.",
  ),
} as const;

type DenialFields = Pick<DenialEvent, "server" | "daemon" | "feature" | "user" | "count" | "outcome">;

/** A log may name features without end; what does not fit is counted without its feature. */
const MAX_SERIES = 10_000;

/** Counts denials as they are published. Granted and queued requests are none. */
export function createDenialMeter(maxSeries: number = MAX_SERIES) {
  const counts = new Map<string, { readonly labels: Labels; count: number }>();
  return {
    add({ server, daemon, feature, user, count, outcome }: DenialFields): void {
      if (outcome !== "denied") return;
      const known = `${server}\0${daemon}\0${feature ?? ""}`;
      const isCounted = counts.has(known) || counts.size < maxSeries;
      const entry = counts.getOrInsertComputed(isCounted ? known : `${server}\0${daemon}\0`, () => ({
        labels: labelsOf({ server, daemon, feature: isCounted ? (feature ?? "") : "" }),
        count: 0,
      }));
      // Where the manager only counts, one event tells of many.
      entry.count += feature === null && user === null ? count : 1;
    },
    emit(emit: Emit): void {
      for (const { labels, count } of counts.values()) emit(DENIALS.denials, labels, count);
    },
  };
}

export const POLLS = {
  polls: counter("licmond_polls_total", "Polls by server and by what came of them."),
  durations: histogram("licmond_poll_duration_seconds", "How long polls took, whatever came of them."),
  unparsed: counter("licmond_unparsed_lines_total", "Lines of the tools that no rule knew."),
} as const;

const OUTCOME_OF = {
  LICENSE_SERVER_UNREACHABLE: "unreachable",
  LICENSE_QUERY_FAILED: "query_failed",
  LICENSE_PARSE_ERROR: "parse_error",
  TIMEOUT: "timeout",
} as const satisfies Record<PollErrorCode, string>;

/** Seconds: tools answer in a tenth, and may be given ten minutes. */
const BOUNDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** Counts polls since the start. */
export function createPollMeter() {
  const entries = new Map<string, ReturnType<typeof newEntry>>();
  return {
    add({ serverId, error, reading, durationMs }: PollOutcome): void {
      const entry = entries.getOrInsertComputed(serverId, newEntry);
      entry.outcomes[error === null ? (reading?.cut ? "partial" : "ok") : OUTCOME_OF[error.code]]++;
      entry.durations.observe(durationMs / 1000);
      entry.unparsed += reading?.unparsedLines ?? 0;
    },
    /** Servers of the config: each is there from its start on, those that are gone no more. */
    emit(emit: Emit, servers: readonly string[]): void {
      for (const server of new Set(entries.keys()).difference(new Set(servers))) entries.delete(server);
      for (const server of servers) {
        const { outcomes, durations, unparsed } = entries.getOrInsertComputed(server, newEntry);
        for (const [outcome, count] of Object.entries(outcomes))
          emit(POLLS.polls, labelsOf({ server, outcome }), count);
        durations.emit(emit, POLLS.durations, [["server", server]]);
        emit(POLLS.unparsed, [["server", server]], unparsed);
      }
    },
  };
}

function newEntry() {
  const outcomes = { ok: 0, partial: 0, unreachable: 0, query_failed: 0, parse_error: 0, timeout: 0 };
  return { outcomes, durations: createHistogram(BOUNDS), unparsed: 0 };
}
