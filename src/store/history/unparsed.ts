import type { Step } from "../../domain/history.ts";
import type { Store } from "../open.ts";
import type { Reader } from "./reader.ts";
import { stepsOf } from "./steps.ts";

/** Stores how many lines of a server's output no rule knew, as a good reading at `at` had them. */
export interface UnparsedWriter {
  /** Runs in the caller's transaction. */
  write(serverId: string, at: number, lines: number): void;
}

export function createUnparsedWriter({ sqlite }: Pick<Store, "sqlite">): UnparsedWriter {
  const write = sqlite.query<null, [string, number, number]>(
    "INSERT OR REPLACE INTO unparsed_counts (server_id, at, lines) VALUES (?, ?, ?)",
  );
  return { write: (serverId, at, lines) => void write.run(serverId, at, lines) };
}

/** Lines that no rule knew, from `at` to the next step; null while nobody read the server. */
export interface UnparsedStep {
  readonly at: number;
  readonly lines: number | null;
}

/** All that is kept of a server up to `end`, ascending. Empty where nothing is: a database of before they were kept. */
export function unparsedSteps(
  read: Pick<Reader, "all" | "coverage">,
  serverId: string,
  end: number,
): UnparsedStep[] {
  const counts = read.all<{ at: number; lines: number }>(
    "SELECT at, lines FROM unparsed_counts WHERE server_id = ? AND at < ? ORDER BY at",
    serverId,
    end,
  );
  const start = counts[0]?.at;
  if (start === undefined) return [];
  // They hold as samples do.
  const samples = counts.map(({ at, lines }): Step => ({ ...NOTHING_ELSE, at, used: lines }));
  return stepsOf(samples, read.coverage(serverId, start, end), start, end).map(({ at, used }) => ({
    at,
    lines: used,
  }));
}

const NOTHING_ELSE = { total: null, reserved: null, queued: null, unlimited: false };
