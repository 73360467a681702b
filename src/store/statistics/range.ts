import { NO_ROLLUP, type Rollup } from "../../domain/rollup.ts";
import { reachedRange } from "../history/reach.ts";
import type { HistoryRead, KnownFeature, Reach } from "../history/read.ts";

/** How fine the history of a range is: to the reading (`exact`), or by whole hours where samples are gone (`1h`). */
export const RESOLUTIONS = ["exact", "1h"] as const;
export type Resolution = (typeof RESOLUTIONS)[number];

/** [start, end), epoch ms. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

export interface ResolvedRange extends Range {
  readonly resolution: Resolution;
}

/** A range as far as history reaches: see `reachedRange`. */
export function resolveRange(range: Range, reach: Reach): ResolvedRange {
  const { start, end, byHours } = reachedRange(range, reach);
  return { start, end, resolution: byHours ? "1h" : "exact" };
}

/** Where in a range the history of counts begins; its end where there is none. */
export function historyBegins(read: Pick<HistoryRead, "reach">, { start, end }: Range): number {
  const { samplesFrom, rollupsFrom } = read.reach();
  return Math.min(end, Math.max(start, Math.min(samplesFrom ?? end, rollupsFrom ?? end)));
}

/** Each feature's range in one rollup, in the order of the features. */
export function rollupsOver(
  read: Pick<HistoryRead, "overMany" | "reach">,
  features: readonly KnownFeature[],
  { start, end }: Range,
  withUsers: boolean,
): readonly Rollup[] {
  const begin = historyBegins(read, { start, end });
  if (begin >= end) return features.map(() => NO_ROLLUP);
  return read.overMany(features, begin, end, withUsers);
}
