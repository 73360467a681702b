import { isDeepStrictEqual } from "node:util";
import type { Reading } from "../domain/reading.ts";
import { DAY_MS } from "../domain/time/clock.ts";
import type { ReadingParser, TextParser } from "./manager.ts";
import { readOutput, readOutputSync } from "./read-output.ts";

/** The report's time is in one of the first lines. */
const HEAD_LINES = 4;
const MAX_HEAD = 4096;
const LF = 0x0a;

interface Output {
  readonly head: Reading;
  readonly digest: string;
  readonly reading: Reading;
  /** Report time, or else the time of reading. */
  readonly time: number;
}

/**
 * Reads the outputs of one server. Most outputs differ from the previous one only in their report time. These are not
 * parsed again, which saves a third of the work of a 50 KB poll, and keep the same feature objects.
 */
export function createOutputMemory() {
  let last: Output | null = null;

  /** `truncated`: the output may be cut. */
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

/** Reports whether only the report time differs from the previous head, by a day at most. */
function isSameHead(last: Output, head: Reading, now: number): boolean {
  const { reportTime } = head;
  return (
    // If an output contains several reports, the time may be that of a later one.
    last.head.reportTime === last.reading.reportTime &&
    // The year of a date without a year depends on the report time.
    Math.abs((reportTime ?? now) - last.time) <= DAY_MS &&
    isDeepStrictEqual({ ...last.head, reportTime }, head)
  );
}

function endOfHead(bytes: Uint8Array): number {
  let end = 0;
  for (let lines = 0; lines < HEAD_LINES; lines++) end = bytes.indexOf(LF, end) + 1 || bytes.length;
  return end;
}
