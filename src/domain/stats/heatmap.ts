import type { Step } from "../history.ts";
import { type LocalSpan, localSpans } from "./local-spans.ts";
import { fourDecimals, percentOf, shareOf } from "./rounding.ts";
import { addSums, addTime, emptySums, type UsageSums } from "./usage-sums.ts";

const HOUR_MS = 3_600_000;
const DAYS = 7;
const HOURS = 24;
/** 1970-01-01 was a Thursday; Monday is 0 here. */
const EPOCH_WEEKDAY = 3;

/** One hour of the week in the zone. */
export interface HeatCell {
  /** 1–7, Monday = 1. */
  readonly weekday: number;
  /** 0–23; where clocks are set back an hour counts twice, where they are set forward one is missing. */
  readonly hour: number;
  readonly averageUsed: number | null;
  readonly peakUsed: number | null;
  /** Percent; null too while the total is unknown or unlimited. */
  readonly averageUtilization: number | null;
  /** Share of these hours of the range that is covered, 0–1; 0 where the range has none of them. */
  readonly coverage: number;
}

/** Sums by hour of the week, fed with steps or with rollups of an hour. */
export interface Heatmap {
  addSpan(step: Step, from: number, to: number): void;
  /**
   * Sums of a whole hour within the range, or of a part of it (`ms`): it goes to the cell of its beginning, as covered
   * time and as time at all.
   */
  addSums(from: number, sums: Readonly<UsageSums>, ms?: number): void;
  cells(): HeatCell[];
}

/** A heat map of [start, end). Spans and sums lie within it; ascending ones are fastest. */
export function createHeatmap(zone: string, start: number, end: number): Heatmap {
  const spans = localSpans(zone, start, end);
  const sums = Array.from({ length: DAYS * HOURS }, emptySums);
  const wholeMs = new Float64Array(DAYS * HOURS);
  for (const span of spans)
    eachHour(span, span.from, span.to, (cell, from, to) => {
      wholeMs[cell] = (wholeMs[cell] ?? 0) + to - from;
    });
  let current = 0;

  function seek(at: number): void {
    if (at < (spans[current]?.from ?? 0)) current = 0;
    while (current < spans.length - 1 && at >= (spans[current]?.to ?? Infinity)) current++;
  }

  function eachCell(start: number, until: number, visit: (cell: number, from: number, to: number) => void) {
    seek(start);
    for (let at = start; at < until; ) {
      const span = spans[current];
      if (span === undefined) return;
      const to = Math.min(until, span.to);
      eachHour(span, at, to, visit);
      at = to;
      if (at < until) current++;
    }
  }

  return {
    addSpan(step, from, to) {
      if (step.used === null) return;
      eachCell(from, to, (cell, hourFrom, hourTo) => {
        const cellSums = sums[cell];
        if (cellSums !== undefined) addTime(cellSums, step, hourFrom, hourTo);
      });
    },
    addSums(from, more, ms = HOUR_MS) {
      seek(from);
      const span = spans[current];
      if (span === undefined) return;
      const first = cellOf(from + span.offset);
      const cellSums = sums[first];
      if (cellSums !== undefined) addSums(cellSums, more);
      // An hour that the zone's clock cuts: else its cell had more covered time than time, and the next one less.
      if (from + ms > span.to || modulo(from + span.offset, HOUR_MS) + ms > HOUR_MS) {
        eachCell(from, from + ms, (cell, partFrom, partTo) => {
          wholeMs[cell] = (wholeMs[cell] ?? 0) - (partTo - partFrom);
          wholeMs[first] = (wholeMs[first] ?? 0) + partTo - partFrom;
        });
      }
    },
    cells: () => sums.map((cellSums, index) => cellFrom(index, cellSums, wholeMs[index] ?? 0)),
  };
}

/** Cuts [from, to) of one span at the full hours of its wall clock. */
function eachHour(
  { offset }: LocalSpan,
  from: number,
  to: number,
  visit: (cell: number, from: number, to: number) => void,
): void {
  for (let at = from; at < to; ) {
    const next = (Math.floor((at + offset) / HOUR_MS) + 1) * HOUR_MS - offset;
    const until = Math.min(next, to);
    visit(cellOf(at + offset), at, until);
    at = until;
  }
}

function cellOf(localMs: number): number {
  const hours = Math.floor(localMs / HOUR_MS);
  const weekday = modulo(Math.floor(hours / HOURS) + EPOCH_WEEKDAY, DAYS);
  return weekday * HOURS + modulo(hours, HOURS);
}

function cellFrom(index: number, sums: Readonly<UsageSums>, wholeMs: number): HeatCell {
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

function modulo(value: number, by: number): number {
  return ((value % by) + by) % by;
}
