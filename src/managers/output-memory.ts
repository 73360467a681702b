import { isDeepStrictEqual } from "node:util";
import type { Reading } from "../domain/reading.ts";
import { DAY_MS } from "../domain/time/clock.ts";
import type { ReadingParser } from "./manager.ts";
import { readOutput, readOutputSync } from "./read-output.ts";

/** The report's time stands in one of the first lines. */
const HEAD_LINES = 4;
const MAX_HEAD = 4096;
const LF = 0x0a;

interface Output {
  readonly head: Uint8Array;
  /** Digest and length of what stands behind the head. */
  readonly digest: string;
  readonly reading: Reading;
  /** When it was read. */
  readonly time: number;
}

/**
 * Reads the outputs of one server. Most of them say below another time what the last one said: they are not parsed
 * again, which is a third of the work of a poll of 50 KB, and their features are the very same objects.
 */
export function createOutputMemory() {
  let last: Output | null = null;

  /** Reads an output of `now`; `parser` makes a fresh one. `truncated`: it goes on unseen, or may be cut. */
  return async function read(
    bytes: Uint8Array,
    parser: () => ReadingParser,
    now: number,
    truncated: boolean,
  ): Promise<Reading> {
    const end = endOfHead(bytes);
    const digest = `${bytes.length - end} ${Bun.hash(bytes.subarray(end))}`;
    const head = bytes.slice(0, end);
    if (last !== null && last.digest === digest && !truncated) {
      const reading = sameBelow(last, head, parser, now);
      if (reading !== null) return reading;
    }
    const reading = await readOutput(bytes, parser(), truncated);
    last = truncated || end > MAX_HEAD ? null : { head, digest, reading, time: reading.reportTime ?? now };
    return reading;
  };
}

/** The last reading under the time of a new head; null when the heads differ in more, or the time is far from the last. */
function sameBelow(last: Output, head: Uint8Array, parser: () => ReadingParser, now: number): Reading | null {
  const [before, after] = [last.head, head].map((bytes) => readOutputSync(bytes, parser()));
  const { reportTime = null } = after ?? {};
  // Of several reports in one output, the time may be that of a later one.
  if (before?.reportTime !== last.reading.reportTime) return null;
  // A date without a year is of the year around the report.
  if (Math.abs((reportTime ?? now) - last.time) > DAY_MS) return null;
  return isDeepStrictEqual({ ...before, reportTime }, after) ? { ...last.reading, reportTime } : null;
}

function endOfHead(bytes: Uint8Array): number {
  let end = 0;
  for (let lines = 0; lines < HEAD_LINES; lines++) end = bytes.indexOf(LF, end) + 1 || bytes.length;
  return end;
}
