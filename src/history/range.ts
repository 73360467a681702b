import { NO_ROLLUP, type Rollup } from "../domain/stats/rollup.ts";
import type { HistorySource, KnownFeature, Reach } from "./source.ts";
import { hourEnd, hourStart } from "./spans.ts";

/** How rows are sorted where they are made: a field of theirs. */
export interface SortBy<Field extends string> {
  readonly field: Field;
  readonly descending: boolean;
}

/** A sorted copy: nulls last whichever way it goes, equal ones as they came. */
export function sortedBy<Field extends string, Row extends Readonly<Record<Field, string | number | null>>>(
  rows: readonly Row[],
  { field, descending }: SortBy<Field>,
): Row[] {
  const sign = descending ? -1 : 1;
  return rows.toSorted((one, other) => {
    const a: string | number | null = one[field];
    const b: string | number | null = other[field];
    if (a === b) return 0;
    if (a === null) return 1;
    if (b === null) return -1;
    return a < b ? -sign : sign;
  });
}

/** How fine the history of a range is: to the reading (`exact`), or by whole hours where samples are gone (`1h`). */
const RESOLUTIONS = ["exact", "1h"] as const;
type Resolution = (typeof RESOLUTIONS)[number];

/** [start, end), epoch ms. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

export interface ResolvedRange extends Range {
  readonly resolution: Resolution;
}

/**
 * A range as far as history reaches: one that reaches past the samples, to times of which hours are left, is widened to
 * whole hours. Of times before all history nothing is left to widen to.
 */
export function resolveRange({ start, end }: Range, { samplesFrom, rollupsFrom }: Reach): ResolvedRange {
  const hoursAlone = samplesFrom !== null && rollupsFrom !== null && rollupsFrom < samplesFrom;
  if (!hoursAlone || start >= samplesFrom || end <= rollupsFrom) return { start, end, resolution: "exact" };
  return { start: hourStart(start), end: end <= samplesFrom ? hourEnd(end) : end, resolution: "1h" };
}

/** Where in a range the history of counts begins; its end where there is none. */
export async function historyBegins(
  source: Pick<HistorySource, "reach">,
  { start, end }: Range,
): Promise<number> {
  const { samplesFrom, rollupsFrom } = await source.reach();
  return Math.min(end, Math.max(start, Math.min(samplesFrom ?? end, rollupsFrom ?? end)));
}

/** Each feature's range in one rollup, in the order of the features. */
export async function rollupsOver(
  source: Pick<HistorySource, "rollups" | "reach">,
  features: readonly KnownFeature[],
  { start, end }: Range,
  withUsers: boolean,
): Promise<readonly Rollup[]> {
  const begin = await historyBegins(source, { start, end });
  return begin >= end ? features.map(() => NO_ROLLUP) : source.rollups(features, begin, end, withUsers);
}
