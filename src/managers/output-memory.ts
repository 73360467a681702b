import { isDeepStrictEqual } from "node:util";
import type { Reading } from "../domain/reading.ts";
import { DAY_MS } from "../domain/time/clock.ts";
import type { ReadingParser, TextParser } from "./manager.ts";
import { readOutput, readOutputSync } from "./read-output.ts";

/** The report's time stands in one of the first lines. */
const HEAD_LINES = 4;
const MAX_HEAD = 4096;
const LF = 0x0a;

interface Output {
  /** The head, read alone. */
  readonly head: Reading;
  /** Digest and length of what follows the head. */
  readonly digest: string;
  readonly reading: Reading;
  /** The time of its report, else ours when it was read: epoch ms. */
  readonly time: number;
}

/**
 * Reads the outputs of one server. Most of them differ from the last one in their time alone: they are not parsed
 * again, which is a third of the work of a poll of 50 KB, and their features are the very same objects.
 */
export function createOutputMemory() {
  let last: Output | null = null;

  /** Reads an output of `now`, epoch ms; `parser` makes a fresh one. `truncated`: it goes on unseen, or may be cut. */
  return async function read(
    bytes: Uint8Array,
    parser: () => ReadingParser | TextParser,
    now: number,
    truncated: boolean,
  ): Promise<Reading> {
    const before = last;
    last = null;
    const end = endOfHead(bytes);
    const first = parser();
    // The head of a text that is read as a whole says nothing.
    if (truncated || end > MAX_HEAD || "text" in first) return readOutput(bytes, first, truncated);
    const head = readOutputSync(bytes.subarray(0, end), first);
    const digest = `${bytes.length - end} ${Bun.hash(bytes.subarray(end))}`;
    const { reportTime } = head;
    if (before?.digest === digest && isSameHead(before, head, now)) {
      last = before;
      return { ...before.reading, reportTime };
    }
    const reading = await readOutput(bytes, parser());
    last = { head, digest, reading, time: reading.reportTime ?? now };
    return reading;
  };
}

/** Whether a head differs from that of the last output in the report's time alone, and in that by a day at most. */
function isSameHead(last: Output, head: Reading, now: number): boolean {
  const { reportTime } = head;
  return (
    // Of several reports in one output, the time may be that of a later one.
    last.head.reportTime === last.reading.reportTime &&
    // A date without a year is of the year around the report.
    Math.abs((reportTime ?? now) - last.time) <= DAY_MS &&
    isDeepStrictEqual({ ...last.head, reportTime }, head)
  );
}

function endOfHead(bytes: Uint8Array): number {
  let end = 0;
  for (let lines = 0; lines < HEAD_LINES; lines++) end = bytes.indexOf(LF, end) + 1 || bytes.length;
  return end;
}
