import type { Database } from "bun:sqlite";
import type { Series } from "../domain/history.ts";
import {
  addRollup,
  type Bucket,
  createRollupSum,
  NO_ROLLUP,
  type Rollup,
  type RollupSink,
  rollupOf,
} from "../domain/stats/rollup.ts";
import { DAY_MS, HOUR_MS } from "../domain/time/clock.ts";
import { allOf, type Named, oneOf } from "../store/conditions.ts";
import {
  dayOf,
  dayOfKey,
  featureOfKey,
  hourEnd,
  hourStart,
  type KnownFeature,
  packedKey,
} from "./buckets.ts";
import { readDayRollup, readHours } from "./codec.ts";
import { createDenialReader } from "./feature-counts.ts";
import { createSampleReader, createUnsettled } from "./sample-reader.ts";
import { createSessionReader } from "./session-reader.ts";

/** [start, end), epoch ms. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

export interface ResolvedRange extends Range {
  /** How fine its history is: to the reading (`exact`), or by whole hours where samples are gone. */
  readonly resolution: "exact" | "1h";
}

/** From where on data reach back, epoch ms; null when there are none. */
interface Reach {
  /** Before this there are whole hours alone. */
  readonly samplesFrom: number | null;
  readonly rollupsFrom: number | null;
}

/**
 * A range as far as history reaches: one that reaches past the samples, to times that only hours are left of, is widened to
 * whole hours. Of times before all history nothing is left to widen to.
 */
export function resolveRange({ start, end }: Range, { samplesFrom, rollupsFrom }: Reach): ResolvedRange {
  const hoursAlone = samplesFrom !== null && rollupsFrom !== null && rollupsFrom < samplesFrom;
  if (!hoursAlone || start >= samplesFrom || end <= rollupsFrom) return { start, end, resolution: "exact" };
  return { start: hourStart(start), end: end <= samplesFrom ? hourEnd(end) : end, resolution: "1h" };
}

/** History in one connection: a source that answers at once, and rows of any SELECT for lists. */
export type Reader = ReturnType<typeof createReader>;

type Later<Method> = Method extends (...asked: infer Asked) => infer Answer
  ? (...asked: Asked) => Answer | Promise<Answer>
  : never;
type OfSqlite = "all" | "now" | "checkpoint" | "coverage" | "samples" | "holders" | "usersAmong";

/** What statistics read, and all that they know of the store: another one than SQLite may answer later. */
export type HistorySource = Pick<Reader, "checkpoint"> & {
  readonly [Name in Exclude<keyof Reader, OfSqlite>]: Later<Reader[Name]>;
};

/** The users of parts of hours: none, those of the part, or (long ago, known at once) those of the whole hour. */
type Users = "none" | "exact" | "hours";
type SinkOf = (at: number) => RollupSink | null;

/** Days of features in memory at once, packed. */
const SLICE_DAYS = 15_000;

/**
 * The read side over a connection. What it remembers (names, what is open) holds for the state of the database that
 * it was made in: one reader a transaction. What lies behind `now` (epoch ms) has not been seen. Days are counted from
 * 1970-01-01 UTC, ranges are [start, end). `checkpoint` throws when the client has gone or the time is up.
 */
export function createReader(
  sqlite: Database,
  { now, checkpoint = () => {} }: { readonly now: number; readonly checkpoint?: () => void },
) {
  /** Each statement is prepared once: `query` of the database itself remembers twenty. */
  const statements = new Map<string, ReturnType<Database["query"]>>();
  const all = <Row>(sql: string, ...parameters: (string | number | null)[]) =>
    statements.getOrInsertComputed(sql, () => sqlite.query(sql)).all(...parameters) as Row[];
  const rows = { all };
  const open = createUnsettled(rows);
  const samples = createSampleReader(rows, open, now);
  const sessions = createSessionReader(rows, now, checkpoint);
  const denials = createDenialReader(rows, now);
  const sum = createRollupSum();
  const counts: RollupSink = { ...sum, user() {} };
  const usersAlone: RollupSink = { level() {}, covered() {}, denials() {}, user: sum.user };
  let reached: Reach | null = null;

  function reach(): Reach {
    if (reached !== null) return reached;
    const [first] = all<{ loose: number | null; samples: number | null; hours: number | null }>(
      `SELECT (SELECT min(at) FROM samples) AS loose, (SELECT min(key) FROM sample_days) AS samples,
         (SELECT min(key) FROM rollup_hours) AS hours`,
    );
    const begin = (key: number | null | undefined) => (key == null ? null : dayOfKey(key) * DAY_MS);
    const sampled = [begin(first?.samples), first?.loose ?? null].filter((at) => at !== null);
    const samplesFrom = sampled.length === 0 ? null : Math.min(...sampled);
    reached = { samplesFrom, rollupsFrom: begin(first?.hours) ?? samplesFrom };
    return reached;
  }

  /** Sessions that ended before this are no longer kept, or there were none; 0 = all are. */
  const sessionsFrom = () =>
    all<{ value: number }>("SELECT value FROM event_marks WHERE name = 'deleted_sessions'")[0]?.value ?? 0;

  /**
   * Rollups of parts of a range, from the samples alone: the range is read once. `withUsers` says of a part whether it has its
   * users.
   */
  function fromSamples(feature: KnownFeature, start: number, end: number) {
    let series: Series | null = null;
    let holders: ReturnType<typeof sessions.holders> | null = null;
    return (from: number, to: number, withUsers: boolean): Rollup => {
      series ??= samples.series(feature, start, end);
      const rollup = rollupOf(series, from, to);
      let { users } = rollup;
      if (withUsers && rollup.groups.length > 0) {
        holders ??= sessions.holders(feature, start, end);
        users = sessions.usersAmong(holders, from, to);
      }
      return { ...rollup, users, denials: denials.denials(feature, from, to) };
    };
  }

  /** Adds the hours that begin in [from, until) to the sink that each has. */
  function addHours(feature: KnownFeature, from: number, until: number, sinkOf: SinkOf): void {
    const unsettled = open.hours(from, until);
    for (let day = dayOf(from); day * DAY_MS < until; day++) {
      const dayAt = day * DAY_MS;
      const key = packedKey(day, feature.id);
      const [packed] = all<{ data: Uint8Array }>("SELECT data FROM rollup_hours WHERE key = ?", key);
      const isWanted = (at: number) => at >= from && at < until && !unsettled.has(at);
      if (packed !== undefined) readHours(dayAt, packed.data, (at) => (isWanted(at) ? sinkOf(at) : null));
    }
    const hours = [...unsettled];
    const rolled = fromSamples(feature, hours[0] ?? from, (hours.at(-1) ?? from) + HOUR_MS);
    for (const at of hours) {
      const to = sinkOf(at);
      if (to !== null) addRollup(to, rolled(at, at + HOUR_MS, to !== counts));
    }
  }

  /** The packed days of features with ids from `lowest` to `highest`. */
  const packedDays = (day: number, lowest: number, highest: number) =>
    all<{ key: number; data: Uint8Array }>(
      "SELECT key, data FROM rollup_days WHERE key >= ? AND key <= ?",
      packedKey(day, lowest),
      packedKey(day, highest),
    );

  /**
   * Adds what of [from, until) is not whole days: whole hours as they are stored, the rest from the samples, never over
   * the edge of an hour, so that who counts as a user does not depend on how the range lies. A part of an hour long ago
   * would be a search for its users through all that came after.
   */
  function addEdge(feature: KnownFeature, from: number, until: number, users: Users): void {
    if (from >= until) return;
    const [low, high] = [hourEnd(from), hourStart(until)];
    const parts = low > high ? [[from, until] as const] : [[from, low] as const, [high, until] as const];
    for (const [a, b] of parts)
      if (a < b) addRollup(sum, fromSamples(feature, a, b)(a, b, users === "exact"));
    addHours(feature, hourStart(from), hourEnd(until), (at) => {
      if (at >= low && at < high) return users === "none" ? counts : sum;
      return users === "hours" ? usersAlone : null;
    });
  }

  return {
    ...samples,
    ...sessions,
    ...denials,
    now,
    checkpoint,
    all,
    reach,
    sessionsFrom,
    /** By server, daemon, name. */
    features({ servers, daemons, features }: Partial<Named> = {}) {
      const { sql, values } = allOf([
        oneOf("server_id", servers),
        oneOf("daemon", daemons),
        oneOf("name", features),
      ]);
      return all<KnownFeature>(
        `SELECT id, server_id AS server, daemon, name AS feature, unit, seat_group AS seatGroup
         FROM history_features WHERE ${sql}
         ORDER BY server_id, daemon, name`,
        ...values,
      );
    },
    /** Whole UTC hours that begin in the range, ascending, without users; those without known counts are left out. */
    hours(feature: KnownFeature, start: number, end: number): Bucket[] {
      const buckets: Bucket[] = [];
      let last: number | null = null;
      const take = () => {
        if (last === null) return;
        const rollup = sum.take();
        if (rollup.groups.length > 0 || rollup.denials !== null) buckets.push({ at: last, rollup });
      };
      // Each hour comes as a whole, before the next one.
      addHours(feature, hourEnd(start), hourEnd(end), (at) => {
        take();
        last = at;
        return counts;
      });
      take();
      return buckets.sort((a, b) => a.at - b.at);
    },
    /** Whole UTC days that begin in the range, ascending, without users; those without coverage are left out. */
    days(feature: KnownFeature, start: number, end: number): Bucket[] {
      const [first, behind] = [Math.ceil(start / DAY_MS), Math.ceil(end / DAY_MS)];
      const unsettled = open.days(first * DAY_MS, behind * DAY_MS);
      const buckets: Bucket[] = [];
      for (let day = first; day < behind; day++) {
        const at = day * DAY_MS;
        if (unsettled.has(at)) addHours(feature, at, at + DAY_MS, () => counts);
        else for (const { data } of packedDays(day, feature.id, feature.id)) readDayRollup(at, data, counts);
        const rollup = sum.take();
        if (rollup.groups.length > 0) buckets.push({ at, rollup });
      }
      return buckets;
    },
    /**
     * All of the range in one rollup a feature, in the order of the features: whole days and hours where they are
     * stored, steps at the edges. Where only rollups reach, the range is widened to whole hours. `users` only when asked
     * for: those who had a session in a UTC hour of the range, cut to it, in which the server was read; of ranges of
     * more than a day the hours at both ends count in full.
     */
    rollups(features: readonly KnownFeature[], from: number, to: number, withUsers = false): Rollup[] {
      const { start, end } = resolveRange({ start: from, end: to }, reach());
      const first = Math.ceil(start / DAY_MS);
      const behind = Math.max(first, Math.floor(end / DAY_MS));
      const unsettled = open.days(first * DAY_MS, behind * DAY_MS);
      const wide = Math.max(1, Math.floor(SLICE_DAYS / Math.max(1, behind - first)));
      const byId = features.toSorted((a, b) => a.id - b.id);
      const rollups = new Map<number, Rollup>();
      const users = !withUsers ? "none" : end - start > DAY_MS || start < sessionsFrom() ? "hours" : "exact";
      const sink = withUsers ? sum : counts;
      for (let done = 0; done < byId.length; done += wide) {
        checkpoint();
        const slice = byId.slice(done, done + wide);
        const packed = new Map(slice.map(({ id }) => [id, [] as { at: number; data: Uint8Array }[]]));
        for (let day = first; day < behind; day++) {
          const at = day * DAY_MS;
          if (unsettled.has(at)) continue;
          for (const { key, data } of packedDays(day, slice[0]?.id ?? 0, slice.at(-1)?.id ?? 0))
            packed.get(featureOfKey(key))?.push({ at, data });
        }
        for (const feature of slice) {
          checkpoint();
          for (const { at, data } of packed.get(feature.id) ?? []) readDayRollup(at, data, sink);
          for (const at of unsettled) addHours(feature, at, at + DAY_MS, () => sink);
          addEdge(feature, start, Math.min(end, first * DAY_MS), users);
          addEdge(feature, Math.max(start, behind * DAY_MS), end, users);
          rollups.set(feature.id, sum.take());
        }
      }
      return features.map(({ id }) => rollups.get(id) ?? NO_ROLLUP);
    },
    /** For how long of a range a server was read, ms. */
    readMs: (server: string, start: number, end: number) =>
      samples
        .coverage(server, start, end)
        .reduce((sum, { from, until }) => sum + Math.min(until, end) - Math.max(from, start), 0),
    /** What is made of all features, of those days that are: see `site-days.ts`. */
    siteDays(first: number, behind: number) {
      const sql = "SELECT day, data FROM site_days WHERE day >= ? AND day < ? AND data IS NOT NULL";
      const made = all<{ day: number; data: Uint8Array }>(sql, first, behind);
      return new Map(made.map(({ day, data }) => [day, data]));
    },
  };
}
