import type { FeatureId, Series, Step } from "../history.ts";
import type { WaitsRecord } from "../history-records.ts";
import { HOUR_MS } from "../time/clock.ts";
import { percentOf } from "./figures.ts";
import { eachSpan } from "./spans.ts";

/** A span in which no reading showed a free seat: [from, until), epoch ms. */
export interface FullTime {
  readonly from: number;
  readonly until: number;
  /** Readings stopped before one showed a free seat. */
  readonly cut: boolean;
}

/**
 * Maximum gap in the readings that does not end a full time, because a server that does not answer gives
 * out no seats either.
 */
export const BRIDGED_MS = HOUR_MS;

function isFull({ used, total, unlimited }: Step): boolean {
  return used !== null && !unlimited && total !== null && total > 0 && used >= total;
}

export function fullTimes(series: Pick<Series, "steps" | "start" | "end">): FullTime[] {
  const times: FullTime[] = [];
  let from: number | null = null;
  let gapAt: number | null = null;
  const end = (until: number, cut: boolean) => {
    if (from !== null) times.push({ from, until, cut });
    from = null;
  };
  eachSpan(series, (step, at) => {
    if (step.used === null) {
      gapAt ??= at;
      return;
    }
    if (gapAt !== null && at - gapAt > BRIDGED_MS) end(gapAt, true);
    gapAt = null;
    if (isFull(step)) from ??= at;
    else end(at, false);
  });
  end(gapAt ?? series.end, true);
  return times;
}

/** Minimum number of periods in which a feature was full; percentiles of fewer are mostly noise. */
export const LEAST_STRETCHES = 30;

export type Waits = Omit<WaitsRecord, keyof FeatureId | "coverage">;

/**
 * Computes the waits of a feature. `lengths` are its full times in time order, ms. A cut full time counts
 * up to its last reading.
 */
export function waitsOf(lengths: readonly number[]): Waits {
  const told = { count: lengths.length, fullSeconds: seconds(sumOf(lengths)) };
  if (lengths.length < LEAST_STRETCHES)
    return { ...told, p50Seconds: null, p80Seconds: null, longestSeconds: null, p80Confirmed: null };
  const learnt = Math.floor((lengths.length * 2) / 3);
  const all = new Float64Array(lengths);
  const rising = all.slice().sort();
  const expected = p80(all.slice(0, learnt).sort());
  const later = all.subarray(learnt);
  return {
    ...told,
    p50Seconds: seconds(waitWithin(rising, 0.5)),
    p80Seconds: seconds(p80(rising)),
    longestSeconds: seconds(rising.at(-1) ?? 0),
    p80Confirmed: percentOf(sumOf(later.map((ms) => Math.min(ms, expected))) / sumOf(later)),
  };
}

/**
 * Returns a wait that was enough for 8 of 10 requests, plus two standard errors. The moments of one full
 * time are not independent samples, so the sample size is Kish's effective sample size (Survey Sampling,
 * 1965).
 */
function p80(rising: Float64Array): number {
  const stretches = sumOf(rising) ** 2 / sumOf(rising.map((ms) => ms ** 2));
  return waitWithin(rising, Math.min(1, 0.8 + 2 * Math.sqrt((0.8 * 0.2) / stretches)));
}

/**
 * Returns the wait within which this share of requests at random moments got a seat, ms. In a full time of
 * length L, the moments with a wait of at most w are the last min(L, w).
 */
function waitWithin(rising: Float64Array, share: number): number {
  let wanted = share * sumOf(rising);
  let from = 0;
  for (let index = 0; index < rising.length; index++) {
    const longer = rising.length - index;
    const ms = rising[index] ?? 0;
    if (longer * (ms - from) >= wanted) return from + wanted / longer;
    wanted -= longer * (ms - from);
    from = ms;
  }
  return from;
}

/**
 * Adds up numbers by index: a large site has a million a year, and the iterators of typed arrays would take
 * twice the time of everything else.
 */
function sumOf(list: ArrayLike<number>): number {
  let sum = 0;
  for (let index = 0; index < list.length; index++) sum += list[index] ?? 0;
  return sum;
}

function seconds(ms: number): number {
  return Math.round(ms / 1000);
}
