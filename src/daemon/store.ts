import type { Config } from "../config/config.ts";
import { printBytes } from "../domain/bytes.ts";
import { openStore, type StoreOptions } from "../store/open/open.ts";
import type { OpeningStep } from "../store/open/prepare.ts";
import type { Logging, LogSink } from "../system/log.ts";
import type { ServiceManager } from "./service-manager.ts";

/** Opens the daemon's databases. Moves a damaged one aside: monitoring without history is better than none. */
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

/** Maximum time that a write blocks the event loop while another program locks the database, at most once a second. */
const BUSY_WAIT_MS = 100;

/** Minimum speed of work over the whole database, on a slow disk. */
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
