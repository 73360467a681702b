import { ApiError, type ErrorCode, type PollErrorCode } from "../domain/errors.ts";
import type { Log } from "../domain/log.ts";
import type { ServerPicture } from "../domain/picture.ts";
import type { PollOutcome, PollRaw } from "../domain/poll.ts";
import type { Timers } from "../domain/time/clock.ts";

export type RescanRow = Awaited<ReturnType<typeof awaitRescan>>[number];

export interface PolledServer {
  readonly outcome: PollOutcome;
  readonly picture: ServerPicture;
}

/**
 * Waits for the polls of several servers, at most `timeoutMs`. Unfinished polls are reported as TIMEOUT,
 * but continue. Returns one row per poll, in order. Never rejects.
 */
export async function awaitRescan(
  polls: readonly { readonly server: string; readonly done: Promise<PolledServer> }[],
  timeoutMs: number,
  timers: Timers,
) {
  const { promise: late, resolve: ring } = Promise.withResolvers<null>();
  const cancel = timers.after(timeoutMs, () => ring(null));
  const rows = polls.map(async ({ server, done }) => {
    const failed = (durationMs: number, code: ErrorCode, message: string, details: string | null = null) => {
      return { server, status: "failed", durationMs, error: { code, message, details } } as const;
    };
    try {
      const polled = await Promise.race([done, late]);
      if (polled === null) {
        const message = `The poll did not finish within ${timeoutMs / 1000} s; it continues.`;
        return failed(timeoutMs, "TIMEOUT", message);
      }
      const { error, durationMs } = polled.outcome;
      const status = error !== null ? "failed" : polled.picture.state === "ok" ? "ok" : "partial";
      return { server, status, durationMs, error } as const;
    } catch (error) {
      // Cancelled polls reject with an ApiError; other errors come from storing the reading.
      if (error instanceof ApiError) return failed(0, error.code, error.message, error.details ?? null);
      return failed(0, "DATABASE_ERROR", "The server was polled, but its reading could not be stored.");
    }
  });
  return Promise.all(rows).finally(cancel);
}

const WINDOW = 512;

export function createPollCounter() {
  const durations: number[] = [];
  /** `partial`: usable, but the output was cut. */
  const polls = { ok: 0, partial: 0, failed: 0 };
  let parseProblems = 0;

  return {
    add({ error, reading, durationMs }: PollOutcome): void {
      durations.push(durationMs);
      if (durations.length > WINDOW) durations.shift();
      polls[error !== null ? "failed" : reading?.cut ? "partial" : "ok"]++;
      parseProblems += reading?.unparsedLines ?? 0;
    },
    stats() {
      const sorted = durations.toSorted((a, b) => a - b);
      const durationMs = { p50: percentile(sorted, 50), p95: percentile(sorted, 95) };
      return { polls: { ...polls }, durationMs, parseProblems };
    },
  };
}

/** Returns the smallest value that at least `percent` of all values do not exceed (nearest rank). */
function percentile(sorted: readonly number[], percent: number): number | null {
  return sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)] ?? null;
}

const MAX_DETAILS = 500;

const OUTAGES: Readonly<Record<PollErrorCode, string>> = {
  LICENSE_SERVER_UNREACHABLE: "server does not answer",
  TIMEOUT: "server does not answer in time",
  LICENSE_QUERY_FAILED: "server cannot be queried",
  LICENSE_PARSE_ERROR: "server returned unrecognized output",
};

/**
 * Logs when a server stops answering and when it answers again; other polls are logged at debug level.
 * `failingSince`: time of the first consecutive failed poll before this one, epoch ms.
 */
export function logOutage(log: Log, outcome: PollOutcome, failingSince: number | null): void {
  const { serverId: server, finishedAt, durationMs, reading, error, raw } = outcome;
  if (error !== null && failingSince === null) {
    const { code, message, details } = error;
    log.error(OUTAGES[code], { server, code, error: message, details: details?.slice(0, MAX_DETAILS) });
  } else if (error === null && failingSince !== null) {
    log.info("server answers again", { server, downMs: finishedAt - failingSince });
  }
  log.debug("poll done", {
    server,
    code: error?.code ?? null,
    durationMs,
    exitCode: raw.exitCode,
    signal: raw.signal,
    bytes: raw.stdout.length,
    features: reading?.features.length ?? null,
    unparsedLines: reading?.unparsedLines ?? null,
    cut: reading?.cut ?? null,
  });
}

/** Keeps an output in memory, compressed off the event loop. Lists of checkouts shrink to a tenth. */
export function kept({ stdout, stderr, ...rest }: PollRaw): () => Promise<PollRaw> {
  const [out, err] = [packed(stdout), packed(stderr)];
  return async () => ({ ...rest, stdout: await out(), stderr: await err() });
}

function packed(bytes: Uint8Array): () => Promise<Uint8Array> {
  const frame = Bun.zstdCompress(bytes, { level: 1 });
  // Ignore the error (out of memory) here, because awaiting `frame` below reports it.
  frame.catch(() => {});
  return async () => Bun.zstdDecompress(await frame);
}
