import type { PollErrorCode } from "../domain/errors.ts";
import type { PollOutcome } from "../domain/poll.ts";

/** Polls whose durations are remembered. */
const WINDOW = 512;

export interface PollStats {
  /** Polls since the start, by what came of them; `partial` = usable, but the text was cut. */
  readonly outcomes: Readonly<Record<"ok" | "partial" | PollErrorCode, number>>;
  /** Over the last 512 polls; null before the first. */
  readonly durationMs: { readonly p50: number | null; readonly p95: number | null };
  /** Since the start: outputs with lines that no rule knew, and those lines. */
  readonly parseProblems: { readonly outputs: number; readonly lines: number };
}

export interface PollCounter {
  add(outcome: PollOutcome): void;
  stats(): PollStats;
}

export function createPollCounter(): PollCounter {
  const durations: number[] = [];
  let position = 0;
  const outcomes = {
    ok: 0,
    partial: 0,
    LICENSE_SERVER_UNREACHABLE: 0,
    LICENSE_QUERY_FAILED: 0,
    LICENSE_PARSE_ERROR: 0,
    TIMEOUT: 0,
  };
  const parseProblems = { outputs: 0, lines: 0 };

  return {
    add({ error, reading, durationMs }) {
      durations[position] = durationMs;
      position = (position + 1) % WINDOW;
      outcomes[error?.code ?? (reading?.cut ? "partial" : "ok")]++;
      const lines = reading?.unparsedLines ?? 0;
      parseProblems.lines += lines;
      if (lines > 0 || error?.code === "LICENSE_PARSE_ERROR") parseProblems.outputs++;
    },
    stats() {
      const sorted = durations.toSorted((a, b) => a - b);
      return {
        outcomes: { ...outcomes },
        durationMs: { p50: percentile(sorted, 50), p95: percentile(sorted, 95) },
        parseProblems: { ...parseProblems },
      };
    },
  };
}

/** Nearest rank: the smallest value that at least `percent` of all values do not exceed. */
export function percentile(sorted: readonly number[], percent: number): number | null {
  return sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)] ?? null;
}
