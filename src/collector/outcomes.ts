import type { PollErrorCode } from "../domain/errors.ts";
import type { Log } from "../domain/log.ts";
import type { PollOutcome, PollRaw } from "../domain/poll.ts";

/** Polls whose durations are remembered. */
const WINDOW = 512;

export function createPollCounter() {
  const durations: number[] = [];
  let position = 0;
  /** Since the start; `partial` = usable, but the text was cut. */
  const polls = { ok: 0, partial: 0, failed: 0 };
  /** Lines that no rule knew. */
  let parseProblems = 0;

  return {
    add({ error, reading, durationMs }: PollOutcome): void {
      durations[position] = durationMs;
      position = (position + 1) % WINDOW;
      polls[error !== null ? "failed" : reading?.cut ? "partial" : "ok"]++;
      parseProblems += reading?.unparsedLines ?? 0;
    },
    stats() {
      const sorted = durations.toSorted((a, b) => a - b);
      /** Null before the first poll. */
      const durationMs = { p50: percentile(sorted, 50), p95: percentile(sorted, 95) };
      return { polls: { ...polls }, durationMs, parseProblems };
    },
  };
}

/** Nearest rank: the smallest value that at least `percent` of all values do not exceed. */
export function percentile(sorted: readonly number[], percent: number): number | null {
  return sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)] ?? null;
}

/** Characters of the tool's words in the log; the raw output has them all. */
const MAX_DETAILS = 500;

/** Messages tell a server that does not answer from a poll that never got as far as to ask it. */
const OUTAGES: Readonly<Record<PollErrorCode, string>> = {
  LICENSE_SERVER_UNREACHABLE: "server does not answer",
  TIMEOUT: "server does not answer in time",
  LICENSE_QUERY_FAILED: "server cannot be queried",
  LICENSE_PARSE_ERROR: "server's answer is not understood",
};

/**
 * Writes one line when a server stops answering and one when it is back; everything else is for debugging.
 * `failingSince`: when the polls before this one began to fail, epoch ms; null = they did not.
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

/** Keeps an output in memory, compressed off the event loop: lists of checkouts shrink to a tenth. */
export function kept({ stdout, stderr, ...rest }: PollRaw): () => Promise<PollRaw> {
  const [out, err] = [packed(stdout), packed(stderr)];
  return async () => ({ ...rest, stdout: await out(), stderr: await err() });
}

/** Below this size a frame costs more than it saves. */
const MIN_COMPRESSED = 512;

function packed(bytes: Uint8Array): () => Promise<Uint8Array> {
  if (bytes.length < MIN_COMPRESSED) return async () => bytes;
  const frame = Bun.zstdCompress(bytes);
  // The bytes are not held; a failure (out of memory) reaches the reader.
  frame.catch(() => {});
  return async () => Bun.zstdDecompress(await frame);
}
