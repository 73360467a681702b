import type { Series } from "../domain/history.ts";
import { eachSpan, together } from "../domain/stats/spans.ts";
import { addTime, emptySums, type UsageSums } from "../domain/stats/usage-sums.ts";
import type { HistorySource } from "./source.ts";
import { DAY_MS } from "./spans.ts";

/** Zones keep offsets of whole quarters, so that every hour of every zone is made of these. */
export const QUARTER_MS = 900_000;
const QUARTERS = DAY_MS / QUARTER_MS;
const NUMBERS = 5;

/** What the heat map of all features adds up, by quarters of an hour of a day (days since 1970-01-01 UTC). */
export async function makeSiteDay(
  source: Pick<HistorySource, "features" | "series" | "checkpoint">,
  day: number,
): Promise<Uint8Array> {
  const start = day * DAY_MS;
  const end = start + DAY_MS;
  const series: Series[] = [];
  for (const feature of await source.features()) {
    source.checkpoint();
    series.push(await source.series(feature, start, end));
  }
  const quarters = Array.from({ length: QUARTERS }, emptySums);
  eachSpan(together(series, start, end), (step, from, to) => {
    for (let at = from; at < to; ) {
      const quarter = Math.floor((at - start) / QUARTER_MS);
      const until = Math.min(to, start + (quarter + 1) * QUARTER_MS);
      const sums = quarters[quarter];
      if (sums !== undefined) addTime(sums, step, at, until);
      at = until;
    }
  });
  const numbers = new Float64Array(QUARTERS * NUMBERS);
  quarters.forEach(({ coveredMs, usedMs, peakUsed, ratedMs, utilizationMs }, quarter) => {
    numbers.set([coveredMs, usedMs, peakUsed ?? 0, ratedMs, utilizationMs], quarter * NUMBERS);
  });
  return new Uint8Array(numbers.buffer);
}

/** The sums of each quarter of which something is known. */
export function eachQuarter(
  day: number,
  data: Uint8Array,
  visit: (at: number, sums: Readonly<UsageSums>) => void,
): void {
  if (data.length !== QUARTERS * NUMBERS * 8) throw new RangeError("the sums of a day have another size");
  const view = new DataView(data.buffer, data.byteOffset, data.length);
  for (let quarter = 0; quarter < QUARTERS; quarter++) {
    const number = (at: number) => view.getFloat64((quarter * NUMBERS + at) * 8, true);
    const coveredMs = number(0);
    if (coveredMs === 0) continue;
    const [usedMs, peakUsed, ratedMs, utilizationMs] = [number(1), number(2), number(3), number(4)];
    visit(day * DAY_MS + quarter * QUARTER_MS, {
      ...emptySums(),
      coveredMs,
      usedMs,
      peakUsed,
      ratedMs,
      utilizationMs,
    });
  }
}
