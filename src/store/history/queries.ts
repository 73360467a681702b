import type { Series } from "../../domain/history.ts";
import type { Bucket } from "../../domain/rollup.ts";
import { efficiencyQuery } from "../statistics/efficiency.ts";
import { heatmapQuery } from "../statistics/heatmap.ts";
import { namesOf } from "../statistics/people.ts";
import { sessionsQuery } from "../statistics/session-list.ts";
import { statsQuery } from "../statistics/stats.ts";
import { usageQuery } from "../statistics/usage.ts";
import type { FeatureFilter, HistoryRead, KnownFeature, Reach } from "./read.ts";

/**
 * The named queries of history, run in the worker: each takes the read side and plain parameters, and answers plain
 * data (both cross a thread: structured clone). To add one is to write a function and to name it here.
 */
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
  stats: statsQuery,
  heatmap: heatmapQuery,
  efficiency: efficiencyQuery,
  usage: usageQuery,
  sessions: sessionsQuery,
  names: (read: HistoryRead, _: null) => namesOf(read),
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

export type Queries = typeof QUERIES;
export type QueryName = keyof Queries;
export type QueryParams<Name extends QueryName> = Parameters<Queries[Name]>[1];
export type QueryResult<Name extends QueryName> = ReturnType<Queries[Name]>;
