import type { FeatureId } from "../domain/history.ts";
import { coveredMs, NO_ROLLUP, type Rollup } from "../domain/stats/rollup.ts";
import type { HistorySource, KnownFeature, Named, Reach } from "./source.ts";
import { hourEnd, hourStart } from "./spans.ts";

/** How rows are sorted where they are made: a field of theirs. */
export interface SortBy<Field extends string> {
  readonly field: Field;
  readonly descending: boolean;
}

/** A sorted copy, by the first field in which two rows differ: nulls last whichever way it goes, equal ones as they came. */
export function sortedBy<Field extends string, Row extends Readonly<Record<Field, string | number | null>>>(
  rows: readonly Row[],
  ...fields: readonly SortBy<Field>[]
): Row[] {
  return rows.toSorted((one, other) => {
    for (const { field, descending } of fields) {
      const a: string | number | null = one[field];
      const b: string | number | null = other[field];
      if (a === b) continue;
      if (a === null) return 1;
      if (b === null) return -1;
      return a < b === descending ? 1 : -1;
    }
    return 0;
  });
}

/** [start, end), epoch ms. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

export interface ResolvedRange extends Range {
  /** How fine its history is: to the reading (`exact`), or by whole hours where samples are gone. */
  readonly resolution: "exact" | "1h";
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

/**
 * The features that a filter lets through, with `uncounted` ones behind them. Features of which nothing is known in the
 * range are there when features are named. `known` is null where no count of a feature was ever read.
 */
export async function featuresOver(
  source: Pick<HistorySource, "features" | "rollups" | "reach">,
  filter: Named,
  range: Range,
  withUsers: boolean,
  uncounted: readonly FeatureId[] = [],
): Promise<{ feature: FeatureId; known: KnownFeature | null; rollup: Rollup }[]> {
  const counted = await source.features(filter);
  const begin = await historyBegins(source, range);
  const rollups = begin >= range.end ? [] : await source.rollups(counted, begin, range.end, withUsers);
  const keyOf = ({ server, daemon, feature }: FeatureId) => JSON.stringify([server, daemon, feature]);
  const keys = new Set(counted.map(keyOf));
  return [...counted, ...uncounted.filter((feature) => !keys.has(keyOf(feature)))]
    .map((feature, index) => ({
      feature,
      known: counted[index] ?? null,
      rollup: rollups[index] ?? NO_ROLLUP,
    }))
    .filter(({ rollup }) => filter.features !== null || coveredMs(rollup) > 0);
}
