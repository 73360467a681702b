import type { Config } from "../config/config.ts";
import { printBytes } from "../domain/bytes.ts";
import { StoreError } from "../store/database/store-error.ts";
import { openStore, type StoreOptions } from "../store/open/open.ts";
import type { OpeningStep } from "../store/open/prepare.ts";
import type { Logging, LogSink } from "../system/log.ts";
import type { ServiceManager } from "./service-manager.ts";

/**
 * Opens the daemon's databases. A damaged one is moved aside, because a monitor that is down all night is worse than
 * one that has lost its history for now.
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
    /** Gives the lines that opening wrote (an upgrade, damage) to a sink that could not be there yet. */
    const replayLines = (sink: LogSink) => lines.forEach(sink);
    return { store, replayLines };
  } finally {
    removeSink();
  }
}

/** While another program has the database locked, a write holds the event loop for so long, at most once a second. */
const BUSY_WAIT_MS = 100;

/** A slow disk: what work over the whole database is expected to manage at least. */
const BYTES_A_MS = 20_000;
const WORDS: Readonly<Record<OpeningStep, string>> = {
  check: "Reading all of the database, in which damage was met",
  copy: "Copying the database before its upgrade",
  upgrade: "Upgrading the database",
};

/** Reports to the service manager what a start is at, and has it wait for that: a large database is not copied in 90 s. */
function reportOpening(manager: ServiceManager): NonNullable<StoreOptions["onProgress"]> {
  return (step, bytes) => manager.says(`${WORDS[step]} (${printBytes(bytes)})`, 60_000 + bytes / BYTES_A_MS);
}

/**
 * Starts something on a store; once more when the store turns out to be damaged on the way: the query that met it left a
 * note, by which opening it again moves it aside. Whatever `start` began must be undone by `undo`, which gets the reason.
 */
export async function startDespiteDamage<T>(
  start: () => Promise<T>,
  undo: (reason: unknown) => Promise<void>,
): Promise<T> {
  for (let isAgain = false; ; isAgain = true) {
    try {
      return await start();
    } catch (error) {
      await undo(error);
      if (isAgain || !(error instanceof StoreError) || error.code !== "CORRUPT") throw error;
    }
  }
}
