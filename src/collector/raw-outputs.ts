import type { PollOutcome } from "../domain/poll.ts";
import { MAX_UNPARSED_KEPT, type UnparsedLine } from "../domain/reading.ts";
import { decodeOutput } from "../managers/read-output.ts";

/** The words of a server's last poll, for its administrator. */
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
  /** Keeps the words of this poll in place of the server's last ones. */
  keep(outcome: PollOutcome): void;
  /** Null before the first poll. */
  get(serverId: string): Promise<RawOutput | null>;
  forget(serverId: string): void;
}

/** Below this size a frame costs more than it saves. */
const MIN_COMPRESSED = 512;
const MAX_LINE = 500;

type Packed = () => Promise<Uint8Array>;

/** Keeps outputs in memory, compressed: lists of checkouts shrink to a tenth. */
export function createRawOutputs(): RawOutputs {
  const kept = new Map<
    string,
    { outcome: Omit<PollOutcome, "raw">; stdout: Packed; stderr: Packed } & Facts
  >();
  return {
    keep({ raw, ...outcome }) {
      const { stdout, stderr, ...facts } = raw;
      // The reading itself is not needed here and can be large.
      const { unparsed = null, unparsedLines = 0 } = outcome.reading ?? {};
      kept.set(outcome.serverId, {
        outcome: { ...outcome, reading: null },
        ...facts,
        unparsed,
        unparsedLines,
        stdout: pack(stdout),
        stderr: pack(stderr),
      });
    },
    async get(serverId) {
      const found = kept.get(serverId);
      if (found === undefined) return null;
      const [stdout, stderr] = await Promise.all([found.stdout(), found.stderr()]);
      const { argv, exitCode, signal, truncated } = found;
      // Without a reading no line was known at all.
      const unknown = found.unparsed === null ? allLines(stdout) : found;
      return {
        at: found.outcome.finishedAt,
        argv,
        exitCode,
        signal,
        stdout,
        stderr,
        truncated,
        unparsedLines: unknown.unparsedLines,
        unparsed: unknown.unparsed ?? [],
      };
    },
    forget: (serverId) => void kept.delete(serverId),
  };
}

interface Facts {
  readonly argv: readonly string[];
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly truncated: boolean;
  readonly unparsed: readonly UnparsedLine[] | null;
  readonly unparsedLines: number;
}

/** Compresses off the event loop; until that is done the bytes themselves are at hand. */
function pack(bytes: Uint8Array): Packed {
  if (bytes.length < MIN_COMPRESSED) return async () => bytes;
  let packed: Packed = async () => bytes;
  Bun.zstdCompress(bytes).then(
    (frame) => {
      packed = async () => Bun.zstdDecompress(frame);
    },
    // Not compressed is kept as well, it only takes more room.
    () => {},
  );
  return () => packed();
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
