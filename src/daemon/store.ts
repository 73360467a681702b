import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../config/config.ts";
import { printBytes } from "../domain/bytes.ts";
import { messageOf } from "../domain/error-code.ts";
import type { Log } from "../domain/log.ts";
import { type Clock, DAY_MS, HOUR_MS, type Timers } from "../domain/time/clock.ts";
import { backUp } from "../store/backup/back-up.ts";
import { freeBytes, pathsOf, stampedAt, timeStamp } from "../store/database/files.ts";
import { bytesInUse } from "../store/database/read-only.ts";
import { openStore, type StoreOptions } from "../store/open/open.ts";
import type { OpeningStep } from "../store/open/prepare.ts";
import type { Logging, LogSink } from "../system/log.ts";
import type { ServiceManager } from "../system/service-manager.ts";

/**
 * Opens the daemon's databases. A damaged database is moved aside, because monitoring without history is
 * better than no monitoring.
 */
export function openDaemonStore(
  { directory, backupBeforeUpgrade }: Pick<Config["storage"], "directory" | "backupBeforeUpgrade">,
  logging: Logging,
  manager: ServiceManager | null,
) {
  const lines: Parameters<LogSink>[0][] = [];
  const removeSink = logging.addSink((line) => void lines.push(line));
  try {
    const store = openStore({
      ...(manager !== null && { onProgress: reportOpening(manager) }),
      directory,
      log: logging.logOf("store"),
      damaged: "move-aside",
      busyWaitMs: BUSY_WAIT_MS,
      backUpBeforeUpgrade: backupBeforeUpgrade,
    });
    /** Passes the lines of the opening (an upgrade, damage) to a sink that was added later. */
    const replayLines = (sink: LogSink) => lines.forEach(sink);
    return { store, replayLines };
  } finally {
    removeSink();
  }
}

/**
 * Maximum time that a write waits, blocking the event loop, while another program locks the database.
 * Writes wait at most once a second.
 */
const BUSY_WAIT_MS = 100;

/**
 * Minimum speed of work over a whole database, on a slow disk. The timeout of the start is computed with
 * it.
 */
const BYTES_A_MS = 20_000;
const WORDS: Readonly<Record<OpeningStep, string>> = {
  check: "Checking the damaged database",
  copy: "Copying the database before the upgrade",
  upgrade: "Upgrading the database",
};

/** Reports the progress of the opening to the service manager, and extends its timeout for large databases. */
function reportOpening(manager: ServiceManager): NonNullable<StoreOptions["onProgress"]> {
  return (step, bytes) => manager.says(`${WORDS[step]} (${printBytes(bytes)})`, 60_000 + bytes / BYTES_A_MS);
}

/** Time between the start and the first backup, because the startup has other work. */
const FIRST_LOOK_MS = 60_000;

/** `state` copies only state.db; `history` copies both databases, as `licmond backup` does. */
type Kind = "state" | "history";

interface DailyBackupsDeps {
  readonly directory: string;
  readonly keep: () => Readonly<Record<Kind, number>>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly free?: (directory: string) => number;
}

/** Keeps daily backups in `backups/` of the storage directory: `state-20260131T081530Z.db`, `history-…`. */
export function createDailyBackups(deps: DailyBackupsDeps) {
  const { directory, keep, clock, timers, log, free = freeBytes } = deps;
  const folder = join(directory, "backups");
  const ending = new AbortController();
  let cancel = () => {};

  const madeOf = (kind: Kind) =>
    readdirSync(folder)
      .filter((name) => name.startsWith(`${kind}-`) && /-\d{8}T\d{6}Z\.db$/.test(name))
      .sort()
      .reverse();

  async function make(kind: Kind, kept: number): Promise<void> {
    const nameAt = (at: number) => `${kind}-${timeStamp(at)}.db`;
    const now = clock.now();
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // Ignore backups with a future time, made while the clock was wrong.
    const isDone = madeOf(kind).some((name) => name > nameAt(now - DAY_MS) && name < nameAt(now + DAY_MS));
    if (isDone) return;
    const needed = 2 * bytesInUse(pathsOf(directory).history);
    if (kind === "history" && free(folder) < needed) {
      log.warn("Skipped the daily history backup: not enough free space", {
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

  async function look(): Promise<void> {
    for (const kind of ["state", "history"] as const) {
      const kept = keep()[kind];
      try {
        if (kept > 0) await make(kind, kept);
      } catch (error) {
        if (ending.signal.aborted) return;
        log.warn("Daily backup failed", { of: kind, error: messageOf(error) });
      }
    }
  }

  function wait(ms: number): void {
    cancel = timers.after(ms, async () => {
      await look();
      if (!ending.signal.aborted) wait(HOUR_MS);
    });
  }

  /** Returns the time in the name of the newest backup; null without backups. */
  function newestOf(kind: Kind): number | null {
    const until = `${kind}-${timeStamp(clock.now() + DAY_MS)}.db`;
    try {
      const newest = madeOf(kind).find((name) => name < until);
      return newest === undefined ? null : stampedAt(newest);
    } catch {
      // The directory is missing or unreadable, which the next backup reports.
      return null;
    }
  }

  return {
    start: () => wait(FIRST_LOOK_MS),
    look,
    newest: () => ({ state: newestOf("state"), history: newestOf("history") }),
    stop() {
      cancel();
      ending.abort(new Error("The daemon is stopping"));
    },
  };
}
