import type { Rollup } from "../../domain/rollup.ts";
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

/** A range that reaches past the samples is widened to the whole hours that are left of it. */
export function resolveRange({ start, end }: Range, { samplesFrom }: Reach): ResolvedRange {
  if (samplesFrom === null || start >= samplesFrom) return { start, end, resolution: "exact" };
  return {
    start: Math.floor(start / HOUR_MS) * HOUR_MS,
    end: end <= samplesFrom ? Math.ceil(end / HOUR_MS) * HOUR_MS : end,
    resolution: "1h",
  };
}

/** Each feature's range in one rollup, in the order of the features. */
export function rollupsOver(
  read: Pick<HistoryRead, "over" | "overMany" | "checkpoint">,
  features: readonly KnownFeature[],
  { start, end }: Range,
): readonly Rollup[] {
  if (features.length > FEW_FEATURES) return read.overMany(features, start, end);
  return features.map((feature) => {
    read.checkpoint();
    return read.over(feature, start, end);
  });
}
