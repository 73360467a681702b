import type { Step } from "../history.ts";
import type { HeatCellRecord } from "../history-records.ts";
import { HOUR_MS } from "../time/clock.ts";
import { localSpans } from "./calendar.ts";
import { fourDecimals, percentOf, shareOf } from "./figures.ts";
import { addSums, addTime, emptySums, type UsageSums } from "./rollup.ts";
import { createCutter } from "./spans.ts";

const DAYS = 7;
const HOURS = 24;

export type Heatmap = ReturnType<typeof createHeatmap>;

/**
 * Sums steps or hourly rollups by hour of the week over [start, end). All spans and sums must lie within
 * this range; ascending ones are fastest.
 */
export function createHeatmap(zone: string, start: number, end: number) {
  const edges: number[] = [];
  const cells: number[] = [];
  for (const { from, to, offset } of localSpans(zone, start, end)) {
    for (let at = from; at < to; at = (Math.floor((at + offset) / HOUR_MS) + 1) * HOUR_MS - offset) {
      edges.push(at);
      cells.push(cellOf(at + offset));
    }
  }
  edges.push(end);
  const sums = Array.from({ length: DAYS * HOURS }, emptySums);
  const wholeMs = new Float64Array(DAYS * HOURS);
  const { placeOf, cut } = createCutter(edges);
  const addWhole = (cell: number, ms: number) => {
    wholeMs[cell] = (wholeMs[cell] ?? 0) + ms;
  };
  cut(start, end, (place, from, to) => addWhole(cells[place] ?? 0, to - from));

  return {
    addSpan(step: Step, from: number, to: number): void {
      if (step.used === null) return;
      cut(from, to, (place, at, until) => {
        const cellSums = sums[cells[place] ?? 0];
        if (cellSums !== undefined) addTime(cellSums, step, at, until);
      });
    },
    /**
     * Adds the sums of an hour within the range, or of a part of it (`ms`), to the cell in which the hour
     * begins, both as covered and as total time.
     */
    addSums(from: number, more: Readonly<UsageSums>, ms = HOUR_MS): void {
      const first = cells[placeOf(from)] ?? 0;
      const cellSums = sums[first];
      if (cellSums !== undefined) addSums(cellSums, more);
      // Move the total time of the hour to the same cell. After a clock change, an hour may span two cells,
      // and the first would have more covered than total time.
      cut(from, from + ms, (place, at, until) => {
        addWhole(cells[place] ?? 0, at - until);
        addWhole(first, until - at);
      });
    },
    cells: (): HeatCellRecord[] =>
      sums.map((cellSums, index) => cellFrom(index, cellSums, wholeMs[index] ?? 0)),
  };
}

function cellOf(localMs: number): number {
  const clock = new Date(localMs);
  // `getUTCDay` begins with Sunday, the cells begin with Monday.
  return ((clock.getUTCDay() + 6) % DAYS) * HOURS + clock.getUTCHours();
}

function cellFrom(index: number, sums: Readonly<UsageSums>, wholeMs: number): HeatCellRecord {
  const { coveredMs, ratedMs } = sums;
  return {
    weekday: Math.floor(index / HOURS) + 1,
    hour: index % HOURS,
    averageUsed: coveredMs > 0 ? fourDecimals(sums.usedMs / coveredMs) : null,
    peakUsed: sums.peakUsed,
    averageUtilization: ratedMs > 0 ? percentOf(sums.utilizationMs / ratedMs) : null,
    coverage: shareOf(coveredMs, wholeMs),
  };
}
