import { NO_ROLLUP, type Rollup } from "../../domain/rollup.ts";
import type { HistoryRead, KnownFeature, Reach } from "../history/read.ts";

const HOUR_MS = 3_600_000;
/** Features read one by one; of more, whole days of all features are read. */
const FEW_FEATURES = 50;

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

/**
 * A range that reaches past the samples, to times of which hours are left, is widened to whole hours. Of times before
 * all history nothing is left to widen to.
 */
export function resolveRange({ start, end }: Range, { samplesFrom, rollupsFrom }: Reach): ResolvedRange {
  const hoursAlone = samplesFrom !== null && rollupsFrom !== null && rollupsFrom < samplesFrom;
  if (!hoursAlone || start >= samplesFrom || end <= rollupsFrom) return { start, end, resolution: "exact" };
  return {
    start: Math.floor(start / HOUR_MS) * HOUR_MS,
    end: end <= samplesFrom ? Math.ceil(end / HOUR_MS) * HOUR_MS : end,
    resolution: "1h",
  };
}

/** Each feature's range in one rollup, in the order of the features. */
export function rollupsOver(
  read: Pick<HistoryRead, "over" | "overMany" | "checkpoint" | "reach">,
  features: readonly KnownFeature[],
  { start, end }: Range,
  withUsers: boolean,
): readonly Rollup[] {
  const { samplesFrom, rollupsFrom } = read.reach();
  const begin = Math.max(start, Math.min(samplesFrom ?? end, rollupsFrom ?? end));
  if (begin >= end) return features.map(() => NO_ROLLUP);
  if (features.length > FEW_FEATURES) return read.overMany(features, begin, end, withUsers);
  return features.map((feature) => {
    read.checkpoint();
    return read.over(feature, begin, end, withUsers);
  });
}
