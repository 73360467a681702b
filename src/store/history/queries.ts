import type { Series } from "../../domain/history.ts";
import type { Bucket } from "../../domain/rollup.ts";
import type { FeatureFilter, HistoryRead, KnownFeature, Reach } from "./read.ts";

/**
 * Named queries of history, run in the worker: each takes the read side and plain parameters, and answers plain data
 * (both cross a thread: structured clone; a `body` of bytes is handed over). Whoever starts the worker says which there
 * are.
 */
export type QueryTable = Readonly<Record<string, (read: HistoryRead, params: never) => unknown>>;
export type QueryName<Queries extends QueryTable> = keyof Queries & string;
export type QueryParams<Queries extends QueryTable, Name extends QueryName<Queries>> = Parameters<
  Queries[Name]
>[1];
export type QueryResult<Queries extends QueryTable, Name extends QueryName<Queries>> = ReturnType<
  Queries[Name]
>;

/** What is stored, as it is. */
export const QUERIES = {
  features: (read: HistoryRead, filter: FeatureFilter): readonly KnownFeature[] => read.features(filter),
  reach: (read: HistoryRead, _: null): Reach => read.reach(),
  series: (read: HistoryRead, { filter, start, end }: RangeQuery): readonly Series[] =>
    read.features(filter).map((feature) => {
      read.checkpoint();
      return read.series(feature, start, end);
    }),
  hours: (read: HistoryRead, { filter, start, end }: RangeQuery): readonly FeatureBuckets[] =>
    read.features(filter).map((feature) => {
      read.checkpoint();
      return { feature, buckets: read.hours(feature, start, end) };
    }),
};

export interface RangeQuery {
  readonly filter: FeatureFilter;
  readonly start: number;
  readonly end: number;
}

export interface FeatureBuckets {
  readonly feature: KnownFeature;
  readonly buckets: readonly Bucket[];
}
