import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { printBytes } from "../domain/bytes.ts";
import { messageOf } from "../domain/error-code.ts";
import type { Log } from "../domain/log.ts";
import { type Clock, DAY_MS, HOUR_MS, type Timers } from "../domain/time/clock.ts";
import { backUp } from "../store/backup/back-up.ts";
import { freeBytes, pathsOf, stampedAt, timeStamp } from "../store/database/files.ts";
import { bytesInUse } from "../store/database/read-only.ts";

/** Not at once: a start has enough to do. */
const FIRST_LOOK_MS = 60_000;

/** `state`: state.db alone · `history`: both databases, as `licmond backup` writes them. */
type Kind = "state" | "history";

export interface DailyBackupsDeps {
  readonly directory: string;
  readonly keep: () => Readonly<Record<Kind, number>>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  /** Free bytes of a directory's file system. Tests give their own. */
  readonly free?: (directory: string) => number;
}

/** Keeps daily backups in `backups/` of the storage directory: `state-20260131T081530Z.db`, `history-…`. */
export function createDailyBackups(deps: DailyBackupsDeps) {
  const { directory, keep, clock, timers, log, free = freeBytes } = deps;
  const folder = join(directory, "backups");
  const ending = new AbortController();
  let cancel = () => {};

  /** The newest first. */
  const madeOf = (kind: Kind) =>
    readdirSync(folder)
      .filter((name) => name.startsWith(`${kind}-`) && /-\d{8}T\d{6}Z\.db$/.test(name))
      .sort()
      .reverse();

  async function make(kind: Kind, kept: number): Promise<void> {
    const nameAt = (at: number) => `${kind}-${timeStamp(at)}.db`;
    const now = clock.now();
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // One of a time to come was made while the clock was wrong.
    const isDone = madeOf(kind).some((name) => name > nameAt(now - DAY_MS) && name < nameAt(now + DAY_MS));
    if (isDone) return;
    const needed = 2 * bytesInUse(pathsOf(directory).history);
    if (kind === "history" && free(folder) < needed) {
      log.warn("The daily backup of history was skipped: too little space is free", {
        free: printBytes(free(folder)),
        needed: printBytes(needed),
        fix: "Free space, or set storage.backups to { history = 0 } and back up elsewhere (licmond backup)",
      });
      return;
    }
    await backUp({
      directory,
      file: join(folder, nameAt(now)),
      ...(kind === "state" && { only: kind }),
      signal: ending.signal,
    });
    for (const name of madeOf(kind).slice(kept)) rmSync(join(folder, name), { force: true });
  }

  /** Makes what is due, and removes what is too much. */
  async function look(): Promise<void> {
    for (const kind of ["state", "history"] as const) {
      const kept = keep()[kind];
      try {
        if (kept > 0) await make(kind, kept);
      } catch (error) {
        if (ending.signal.aborted) return;
        log.warn("A daily backup could not be made", { of: kind, error: messageOf(error) });
      }
    }
  }

  function wait(ms: number): void {
    cancel = timers.after(ms, async () => {
      await look();
      if (!ending.signal.aborted) wait(HOUR_MS);
    });
  }

  /** When the newest one was made, as its name says; null where there is none. */
  function newestOf(kind: Kind): number | null {
    const until = `${kind}-${timeStamp(clock.now() + DAY_MS)}.db`;
    try {
      const newest = madeOf(kind).find((name) => name < until);
      return newest === undefined ? null : stampedAt(newest);
    } catch {
      // No folder yet, or none that can be read, which the next backup tells.
      return null;
    }
  }

  return {
    start: () => wait(FIRST_LOOK_MS),
    look,
    newest: () => ({ state: newestOf("state"), history: newestOf("history") }),
    stop() {
      cancel();
      ending.abort(new Error("The daemon ends"));
    },
  };
}
