import type { PollErrorCode } from "../domain/errors.ts";
import type { Log } from "../domain/log.ts";
import type { PollOutcome } from "../domain/poll.ts";

/** Characters of the tool's words in the log; the raw output has them all. */
const MAX_DETAILS = 500;

/** A server that nobody can get a seat from is an error; what kept the poll from it is said apart from its silence. */
const OUTAGES: Readonly<Record<PollErrorCode, string>> = {
  LICENSE_SERVER_UNREACHABLE: "server does not answer",
  TIMEOUT: "server does not answer in time",
  LICENSE_QUERY_FAILED: "server cannot be queried",
  LICENSE_PARSE_ERROR: "server's answer is not understood",
};

export interface OutageLog {
  /** Writes one line when a server stops answering and one when it is back; everything else is for debugging. */
  note(outcome: PollOutcome): void;
  forget(serverId: string): void;
}

export function createOutageLog(log: Log): OutageLog {
  /** Since when a server's polls fail, epoch ms. */
  const downSince = new Map<string, number>();
  return {
    note({ serverId, startedAt, finishedAt, durationMs, reading, error, raw }) {
      const since = downSince.get(serverId);
      if (error !== null && since === undefined) {
        downSince.set(serverId, startedAt);
        log.error(OUTAGES[error.code], {
          server: serverId,
          code: error.code,
          error: error.message,
          details: error.details?.slice(0, MAX_DETAILS),
        });
      } else if (error === null && since !== undefined) {
        downSince.delete(serverId);
        log.info("server answers again", { server: serverId, downMs: finishedAt - since });
      }
      log.debug("poll done", {
        server: serverId,
        code: error?.code ?? null,
        durationMs,
        exitCode: raw.exitCode,
        signal: raw.signal,
        bytes: raw.stdout.length,
        features: reading?.features.length ?? null,
        unparsedLines: reading?.unparsedLines ?? null,
        cut: reading?.cut ?? null,
      });
    },
    forget: (serverId) => void downSince.delete(serverId),
  };
}
