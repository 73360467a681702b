import type { FeatureId, Series, Step } from "../history.ts";
import type { WaitsRecord } from "../history-records.ts";
import { percentOf } from "./figures.ts";
import { eachSpan } from "./spans.ts";

/** A stretch in which no seat was free: [from, until), epoch ms. */
export interface FullTime {
  readonly from: number;
  readonly until: number;
  /** Nobody saw how it ended: it reached a gap in the readings, or the end of the range. */
  readonly cut: boolean;
}

/** As `saturatedSeconds` counts: a total is known, and all of it is in use. */
function isFull({ used, total, unlimited }: Step): boolean {
  return used !== null && !unlimited && total !== null && total > 0 && used >= total;
}

export function fullTimes(series: Pick<Series, "steps" | "start" | "end">): FullTime[] {
  const times: FullTime[] = [];
  let from: number | null = null;
  const end = (until: number, cut: boolean) => {
    if (from !== null) times.push({ from, until, cut });
    from = null;
  };
  eachSpan(series, (step, at) => {
    if (isFull(step)) from ??= at;
    else end(at, step.used === null);
  });
  end(series.end, true);
  return times;
}

/** How long a stretch was, and whether its end was seen. */
export interface Wait {
  readonly ms: number;
  readonly cut: boolean;
}

/** With fewer stretches a percentile says more of chance than of the feature. */
export const LEAST_STRETCHES = 30;

export type Waits = Omit<WaitsRecord, keyof FeatureId | "coverage">;

/** Figures over the stretches of one feature, in the order of time. */
export function waitsOf(stretches: readonly Wait[]): Waits {
  const fullMs = stretches.reduce((sum, { ms }) => sum + ms, 0);
  const told = { count: stretches.length, fullSeconds: seconds(fullMs) };
  if (stretches.length < LEAST_STRETCHES)
    return { ...told, p50Seconds: null, p80Seconds: null, longestSeconds: null, p80Confirmed: null };
  const { withinShare } = waiting(stretches);
  const learnt = Math.floor((stretches.length * 2) / 3);
  const expected = waiting(stretches.slice(0, learnt)).withinShare(0.8);
  const later = waiting(stretches.slice(learnt));
  return {
    ...told,
    p50Seconds: seconds(withinShare(0.5)),
    p80Seconds: seconds(withinShare(0.8)),
    longestSeconds: seconds(stretches.reduce((most, { ms }) => Math.max(most, ms), 0)),
    p80Confirmed: expected === null ? null : percentOf(later.shareWithin(expected)),
  };
}

/**
 * How long requests at random moments of the stretches would have waited until a reading showed a free seat. Of a moment in
 * a stretch that was cut only the least wait is known, so the shares are the Kaplan–Meier estimate, over moments in place of
 * cases (https://doi.org/10.1080/01621459.1958.10501452). Where nothing is cut, they are plain shares of the full time.
 */
function waiting(stretches: readonly Wait[]) {
  const rising = stretches.filter(({ ms }) => ms > 0).toSorted((a, b) => a.ms - b.ms);
  // Between two lengths every longer stretch loses one moment each ms: `seen` of `left` of these moments end with a seat.
  const pieces: { from: number; to: number; moments: number; left: number; seen: number; over: number }[] =
    [];
  let moments = rising.reduce((sum, { ms }) => sum + ms, 0);
  let seen = rising.filter(({ cut }) => !cut).length;
  /** Share of the moments whose wait is longer than `from`. */
  let over = 1;
  let from = 0;
  for (const [index, { ms, cut }] of rising.entries()) {
    const left = rising.length - index;
    if (ms > from) {
      pieces.push({ from, to: ms, moments, left, seen, over });
      const rest = index === rising.length - 1 ? 0 : moments - left * (ms - from);
      over *= (rest / moments) ** (seen / left);
      moments = rest;
      from = ms;
    }
    if (!cut) seen--;
  }
  const ends = [...pieces.slice(1).map((piece) => piece.over), over];
  return {
    /** The wait within which this share of the moments had a seat, ms; null where too many were cut to say. */
    withinShare(share: number): number | null {
      const place = ends.findIndex((after) => after <= 1 - share + 1e-9);
      const piece = pieces[place];
      if (piece === undefined) return null;
      const rest = piece.moments * ((1 - share) / piece.over) ** (piece.left / piece.seen);
      return Math.min(piece.to, piece.from + (piece.moments - rest) / piece.left);
    },
    /** The share of the moments whose wait was no longer than this; what was cut before counts as longer. */
    shareWithin(ms: number): number {
      const piece = pieces.findLast((one) => one.from <= ms);
      if (piece === undefined || ms >= piece.to) return 1 - over;
      const rest = piece.moments - piece.left * (ms - piece.from);
      return 1 - piece.over * (rest / piece.moments) ** (piece.seen / piece.left);
    },
  };
}

function seconds(ms: number): number;
function seconds(ms: number | null): number | null;
function seconds(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms / 1000);
}
