import type { FeatureId, Series } from "../domain/history.ts";
import type { UnmetRequest } from "../domain/stats/demand.ts";
import type { HeldSeats, HeldSum } from "../domain/stats/held-seats.ts";
import type { HeldSession } from "../domain/stats/holding.ts";
import type { Bucket, Rollup } from "../domain/stats/rollup.ts";

/** Which sessions; null = any. Several names are alternatives. Hosts are the same in any case. */
export interface SessionFilter {
  readonly servers: readonly string[] | null;
  readonly daemons: readonly string[] | null;
  readonly features: readonly string[] | null;
  readonly users: readonly string[] | null;
  readonly hosts: readonly string[] | null;
}

/** Which features; null = any. */
export type Named = Pick<SessionFilter, "servers" | "daemons" | "features">;

/** A feature with the small id under which its history is stored. */
export interface KnownFeature extends FeatureId {
  readonly id: number;
}

/** From where on data reach back, epoch ms; null when there are none. */
export interface Reach {
  /** Before this there are whole hours alone. */
  readonly samplesFrom: number | null;
  readonly rollupsFrom: number | null;
}

/** What tells when a session of a known feature held its seats. */
export type FeatureSession = Pick<
  HeldSession,
  "server" | "count" | "firstSeenAt" | "lastSeenAt" | "endedAt" | "endReason"
>;

export type Awaitable<T> = T | Promise<T>;

/**
 * What statistics read, and all that they know of the store. Instants are epoch ms, days are counted from 1970-01-01 UTC;
 * ranges are [start, end). `createReader` answers at once from a connection to SQLite; another store may answer later.
 */
export interface HistorySource {
  /** Throws when the client has gone or the time is up: call it between pieces of work. */
  checkpoint(): void;

  /** By server, daemon, name. */
  features(filter?: Partial<Named>): Awaitable<readonly KnownFeature[]>;
  reach(): Awaitable<Reach>;
  /** Exact steps, as far as the samples reach. */
  series(feature: KnownFeature, start: number, end: number): Awaitable<Series>;
  /** Whole UTC hours that begin in the range, ascending, without users; those of which nothing is known are left out. */
  hours(feature: KnownFeature, start: number, end: number): Awaitable<readonly Bucket[]>;
  /** Whole UTC days that begin in the range, ascending, without users; those without coverage are left out. */
  days(feature: KnownFeature, start: number, end: number): Awaitable<readonly Bucket[]>;
  /**
   * All of the range in one rollup a feature, in the order of the features: whole days and hours where they are
   * stored, steps at the edges. Where only rollups reach, the range is widened to whole hours. `users` only when asked
   * for: those who had a session in a UTC hour of the range, cut to it, in which the server was read; of ranges of more
   * than a day the hours at both ends count in full.
   */
  rollups(
    features: readonly KnownFeature[],
    start: number,
    end: number,
    withUsers?: boolean,
  ): Awaitable<readonly Rollup[]>;
  /** The sums of all features by quarters of an hour, of those days that are made: see `site-days.ts`. */
  siteDays(first: number, behind: number): Awaitable<ReadonlyMap<number, Uint8Array>>;

  /** Sessions that ended before this are no longer kept, or there were none; 0 = all are. */
  sessionsFrom(): Awaitable<number>;
  /** When each server was read last. */
  lastReadings(): Awaitable<ReadonlyMap<string, number>>;
  /** Sessions that may have held seats in a range, in any order. */
  sessions(start: number, end: number, filter: SessionFilter | null): Awaitable<readonly HeldSession[]>;
  /** The same of one feature. */
  featureSessions(feature: FeatureId, start: number, end: number): Awaitable<readonly FeatureSession[]>;
  /** How many sessions of a feature overlap a range, as the list of sessions counts them. */
  sessionCount(feature: FeatureId, start: number, end: number): Awaitable<number>;
  /** The seats held on a UTC day by those that a filter lets through; null where the day is not packed. */
  heldDay(day: number, filter: SessionFilter): Awaitable<HeldSeats | null>;
  daysPacked(first: number, behind: number): Awaitable<ReadonlySet<number>>;
  /** What was held on such days, of one feature or of each. */
  heldSums(first: number, behind: number, of?: FeatureId): Awaitable<readonly HeldSum[]>;

  /** Denials as they are stored; null where they could not be seen. Rollups know them for longer. */
  denials(feature: FeatureId, start: number, end: number): Awaitable<number | null>;
  /** How many requests of a feature got a place in the queue, by the log. */
  queuedRequests(feature: FeatureId, start: number, end: number): Awaitable<number>;
  /** Requests that found no seat, in the order of time. */
  unmetRequests(feature: FeatureId, start: number, end: number): Awaitable<readonly UnmetRequest[]>;
  /** For how long of a range a server's log was read, ms. */
  loggedMs(server: string, start: number, end: number): Awaitable<number>;
}
