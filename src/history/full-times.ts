import type { FullTime } from "../domain/stats/waits.ts";
import { DAY_MS } from "../domain/time/clock.ts";
import { ByteReader, putNumber } from "./codec.ts";

/**
 * When the features were full on one UTC day, packed: for each feature the difference of its id from the one before, how
 * many stretches, and of each the time since the one before, twice its length and 1 where it was cut, and how much of it had
 * no readings. Numbers are LEB128. What goes on at the end of the day is cut there.
 */
export function packFullTimes(day: number, series: readonly { id: number; times: readonly FullTime[] }[]) {
  const bytes: number[] = [];
  let before = 0;
  for (const { id, times } of series.toSorted((a, b) => a.id - b.id)) {
    if (times.length === 0) continue;
    putNumber(bytes, id - before);
    putNumber(bytes, times.length);
    before = id;
    let at = day * DAY_MS;
    for (const { from, until, unseenMs, cut } of times) {
      putNumber(bytes, from - at);
      putNumber(bytes, (until - from) * 2 + (cut ? 1 : 0));
      putNumber(bytes, unseenMs);
      at = until;
    }
  }
  return Uint8Array.from(bytes);
}

/** Calls back for each stretch of a packed day, by feature and time. */
export function eachFullTime(
  day: number,
  data: Uint8Array,
  visit: (id: number, from: number, until: number, unseenMs: number, cut: boolean) => void,
): void {
  const reader = new ByteReader(data);
  let id = 0;
  while (reader.at < data.length) {
    id += reader.number();
    let at = day * DAY_MS;
    for (let left = reader.number(); left > 0; left--) {
      const from = at + reader.number();
      const length = reader.number();
      at = from + Math.floor(length / 2);
      visit(id, from, at, reader.number(), length % 2 === 1);
    }
  }
}
