import type { PollErrorCode } from "../domain/errors.ts";
import type { Log } from "../domain/log.ts";
import type { PollOutcome } from "../domain/poll.ts";
import { MAX_UNPARSED_KEPT, type UnparsedLine } from "../domain/reading.ts";
import { decodeOutput } from "../managers/read-output.ts";

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

interface PollCounter {
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

/** Characters of the tool's words in the log; the raw output has them all. */
const MAX_DETAILS = 500;

/** A server that nobody can get a seat from is an error; what kept the poll from it is said apart from its silence. */
const OUTAGES: Readonly<Record<PollErrorCode, string>> = {
  LICENSE_SERVER_UNREACHABLE: "server does not answer",
  TIMEOUT: "server does not answer in time",
  LICENSE_QUERY_FAILED: "server cannot be queried",
  LICENSE_PARSE_ERROR: "server's answer is not understood",
};

interface OutageLog {
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

/** The raw output of a server's last poll, for its administrator. */
export interface RawOutput {
  /** End of the poll, epoch ms. */
  readonly at: number;
  readonly argv: readonly string[];
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** As they came, up to the collector's cap. */
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  readonly truncated: boolean;
  /** Non-blank lines that no rule knew: how many, and the first 200. */
  readonly unparsedLines: number;
  readonly unparsed: readonly UnparsedLine[];
}

export interface RawOutputs {
  /** Keeps the output of this poll in place of the server's last one. */
  keep(outcome: PollOutcome): void;
  /** Null before the first poll. */
  get(serverId: string): Promise<RawOutput | null>;
  forget(serverId: string): void;
}

/** Below this size a frame costs more than it saves. */
const MIN_COMPRESSED = 512;
const MAX_LINE = 500;

/** Keeps outputs in memory, compressed off the event loop: lists of checkouts shrink to a tenth. */
export function createRawOutputs(): RawOutputs {
  const kept = new Map<string, () => Promise<RawOutput>>();
  return {
    keep({ serverId, finishedAt: at, reading, raw }) {
      const { argv, exitCode, signal, truncated } = raw;
      // The reading itself is not needed here and can be large.
      const known = reading && { unparsedLines: reading.unparsedLines, unparsed: reading.unparsed };
      const [out, err] = [pack(raw.stdout), pack(raw.stderr)];
      kept.set(serverId, async () => {
        const [stdout, stderr] = await Promise.all([out(), err()]);
        // Without a reading no line was known at all.
        return { at, argv, exitCode, signal, truncated, stdout, stderr, ...(known ?? allLines(stdout)) };
      });
    },
    get: async (serverId) => (await kept.get(serverId)?.()) ?? null,
    forget: (serverId) => void kept.delete(serverId),
  };
}

/** Until the compression is done the bytes themselves are at hand; should it fail they are kept, which only takes more room. */
function pack(bytes: Uint8Array): () => Promise<Uint8Array> {
  let unpack = async () => bytes;
  if (bytes.length < MIN_COMPRESSED) return unpack;
  Bun.zstdCompress(bytes).then(
    (frame) => {
      unpack = () => Bun.zstdDecompress(frame);
    },
    () => {},
  );
  return () => unpack();
}

function allLines(bytes: Uint8Array): { unparsed: UnparsedLine[]; unparsedLines: number } {
  const unparsed: UnparsedLine[] = [];
  let unparsedLines = 0;
  for (const [index, text] of decodeOutput(bytes)
    .split(/\r\n|\r|\n/)
    .entries()) {
    if (text.trim() === "") continue;
    unparsedLines++;
    if (unparsed.length < MAX_UNPARSED_KEPT)
      unparsed.push({ line: index + 1, text: text.slice(0, MAX_LINE) });
  }
  return { unparsed, unparsedLines };
}
