import type { PollErrorCode } from "../domain/errors.ts";
import type { PollOutcome } from "../domain/poll.ts";
import { counter, type Emit, histogram } from "./family.ts";
import { createHistogram, type Histogram } from "./histogram.ts";

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
export interface PollMeter {
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
          emit(
            POLLS.polls,
            [
              ["server", server],
              ["outcome", outcome],
            ],
            outcomes[outcome],
          );
        }
        durations.emit(emit, POLLS.durations, [["server", server]]);
        emit(POLLS.unparsed, [["server", server]], unparsed);
      }
    },
  };
}
