import type { FeatureId, Series } from "../../domain/history.ts";
import type { Bucket, Rollup } from "../../domain/rollup.ts";

/** Which features; what is left out is any. Several names are alternatives. */
export interface FeatureFilter {
  readonly servers?: readonly string[];
  readonly daemons?: readonly string[];
  readonly features?: readonly string[];
}

/** A feature with the small id under which its history is stored. */
export interface KnownFeature extends FeatureId {
  readonly id: number;
}

/** From where on which data reach back, epoch ms; null when there are none. */
export interface Reach {
  /** Before this there are whole hours alone. */
  readonly samplesFrom: number | null;
  readonly rollupsFrom: number | null;
}

/**
 * History as a query sees it: synchronous, read-only, one consistent state of the database. Lives in the worker.
 * Instants are epoch ms; ranges are [start, end). `now` bounds what can have been seen.
 */
export interface HistoryRead {
  /** By server, daemon, name. */
  features(filter?: FeatureFilter): readonly KnownFeature[];
  reach(): Reach;
  /** When it is asked: what lies behind has not been seen. */
  readonly now: number;
  /** Sessions that ended before this are no longer kept, or there were none; 0 = all are. */
  sessionsFrom(): number;
  /** Exact steps, as far as the samples reach. */
  series(feature: KnownFeature, start: number, end: number): Series;
  /** Whole UTC hours that begin in [start, end), ascending; those of which nothing is known are left out. */
  hours(feature: KnownFeature, start: number, end: number, withUsers?: boolean): readonly Bucket[];
  /** Whole UTC days that begin in [start, end), ascending; those without coverage are left out. */
  days(feature: KnownFeature, start: number, end: number, withUsers?: boolean): readonly Bucket[];
  /**
   * All of [start, end) in one rollup: whole days and hours where they are stored, steps at the edges.
   * Where only rollups reach, the range is widened to whole hours. `users` only when asked for: those who had a session
   * in a UTC hour of the range, cut to it, in which somebody looked; of ranges of more than a day the hours at both ends
   * count in full.
   */
  over(feature: KnownFeature, start: number, end: number, withUsers?: boolean): Rollup;
  /** The same for many features, some days of many at a time: the way for whole sites. In the order of the features. */
  overMany(
    features: readonly KnownFeature[],
    start: number,
    end: number,
    withUsers?: boolean,
  ): readonly Rollup[];
  /** Small ids of the users with a session in [start, end), ascending: those of the rollups. */
  users(feature: KnownFeature, start: number, end: number): readonly number[];
  /** Denials in [start, end) as they are stored; null where nobody could see them. Rollups know them for longer. */
  denials(feature: FeatureId, start: number, end: number): number | null;
  /** Rows of any SELECT; parameters are bound. For what has no method of its own, e.g. sessions. */
  all<Row>(sql: string, ...parameters: (string | number | null)[]): Row[];
  /** Throws when the asker has gone or the time is up: call it between pieces of work. */
  checkpoint(): void;
}
