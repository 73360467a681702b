import { appendFileSync, mkdirSync, statSync, utimesSync } from "node:fs";
import { dirname, join } from "node:path";
import type { MonitoredServer } from "../domain/server.ts";
import { hostZone } from "../domain/zone.ts";
import { createSimulatedLog } from "../simulator/debug-log.ts";
import { SERVERS } from "../simulator/servers.ts";
import { createSite } from "../simulator/site.ts";

const WRITE_MS = 1_000;
/** After a longer pause the log has a gap: nobody waits for the lines of half a year. */
const LONGEST_MS = 35 * 86_400_000;

/** Where the debug log of a simulated server lies. */
export function demoLogFile(directory: string, server: string): string {
  return join(directory, "simulated-logs", `${server}.log`);
}

/** The debug logs of the simulated servers, written as time passes, as a vendor daemon writes them. */
export interface DemoLogs {
  /** Appends what has happened since the last call, also since an earlier process'. */
  writeUpTo(now: number): void;
}

/** Logs that are not there begin at `begin`, epoch ms. Throws the error of the file system. */
export function createDemoLogs(
  servers: readonly Pick<MonitoredServer, "id" | "logFile">[],
  seed: number,
  begin: number,
): DemoLogs {
  const site = createSite({ seed, zone: hostZone() });
  const logs = servers.flatMap(({ id, logFile }) => {
    const spec = SERVERS.find((one) => one.id === id);
    if (spec === undefined || logFile === null) return [];
    mkdirSync(dirname(logFile), { recursive: true });
    return [{ path: logFile, log: createSimulatedLog(site, seed, spec), to: begunAt(logFile, begin) }];
  });
  return {
    writeUpTo(now) {
      const until = Math.floor(now / 1000) * 1000;
      for (const one of logs) {
        if (until <= one.to) continue;
        const text = one.log.text(Math.max(one.to, until - LONGEST_MS), until);
        if (text !== "") appendFileSync(one.path, text);
        // The time of the file says how far it is written: the next process goes on from there.
        utimesSync(one.path, until / 1000, until / 1000);
        one.to = until;
      }
    },
  };
}

/** How far a log is written; makes an empty one where there is none. */
function begunAt(path: string, begin: number): number {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found !== undefined) return Math.round(found.mtimeMs);
  const start = Math.floor(begin / 1000) * 1000;
  appendFileSync(path, "");
  utimesSync(path, start / 1000, start / 1000);
  return start;
}

/** Writes the logs once a second. That they cannot be written is told once, and then nobody tries any more. */
export function createLogWriting(logs: DemoLogs, err: (text: string) => void) {
  let timer: Timer | undefined;
  function write(): void {
    try {
      logs.writeUpTo(Date.now());
    } catch (error) {
      clearInterval(timer);
      const why = error instanceof Error ? error.message : String(error);
      err(`The simulated debug logs cannot be written: ${why}\n`);
    }
  }
  return {
    start() {
      timer = setInterval(write, WRITE_MS);
      write();
    },
    stop: () => clearInterval(timer),
  };
}
