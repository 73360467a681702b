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
  featureOfKey,
  hourEnd,
  hourStart,
  type KnownFeature,
  type PackedKind,
  packedKey,
  packedKeys,
} from "./buckets.ts";
import { readDayRollup, readHours } from "./codec.ts";
import { createDenialReader } from "./feature-counts.ts";
import { createSampleReader, createUnsettled } from "./sample-reader.ts";
import { createSessionReader } from "./session-reader.ts";

export interface Range {
  readonly start: number;
  readonly end: number;
}

export interface ResolvedRange extends Range {
  /** Resolution of the history: per reading (`exact`), or by whole hours where samples are deleted. */
  readonly resolution: "exact" | "1h";
}

interface Reach {
  readonly samplesFrom: number | null;
  readonly rollupsFrom: number | null;
}

/** Widens a range that begins before the samples to whole hours, if hours are stored. */
export function resolveRange({ start, end }: Range, { samplesFrom, rollupsFrom }: Reach): ResolvedRange {
  const hoursAlone = samplesFrom !== null && rollupsFrom !== null && rollupsFrom < samplesFrom;
  if (!hoursAlone || start >= samplesFrom || end <= rollupsFrom) return { start, end, resolution: "exact" };
  return { start: hourStart(start), end: end <= samplesFrom ? hourEnd(end) : end, resolution: "1h" };
}

export type Reader = ReturnType<typeof createReader>;

type Later<Method> = Method extends (...asked: infer Asked) => infer Answer
  ? (...asked: Asked) => Answer | Promise<Answer>
  : never;
type OfSqlite = "all" | "now" | "checkpoint" | "coverage" | "samples" | "holders" | "usersAmong";

/** Everything that statistics read, as an asynchronous interface for other stores than SQLite. */
export type HistorySource = Pick<Reader, "checkpoint"> & {
  readonly [Name in Exclude<keyof Reader, OfSqlite>]: Later<Reader[Name]>;
};

/**
 * Which users to add for a part of an hour: none, those of the part, or those of the whole hour (for old
 * times, at no cost).
 */
type Users = "none" | "exact" | "hours";
type SinkOf = (at: number) => RollupSink | null;

const SLICE_DAYS = 15_000;

/**
 * Creates a reader for one transaction, because its caches are valid for one state of the database. Times
 * after `now` are unknown. `checkpoint` throws if the client has gone or the time is up.
 */
export function createReader(
  sqlite: Database,
  { now, checkpoint = () => {} }: { readonly now: number; readonly checkpoint?: () => void },
) {
  /** Prepared statements, by SQL. The database's own `query` caches only twenty. */
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

  function firstDay(kind: PackedKind): number | null {
    const sql = "SELECT day FROM packed_days WHERE key >= ? AND key < ? ORDER BY key LIMIT 1";
    const [first] = all<{ day: number }>(sql, ...packedKeys(kind, 0));
    return first === undefined ? null : first.day * DAY_MS;
  }

  function reach(): Reach {
    if (reached !== null) return reached;
    const [loose] = all<{ at: number }>("SELECT min(at) AS at FROM samples HAVING at IS NOT NULL");
    const sampled = [firstDay("samples"), loose?.at ?? null].filter((at) => at !== null);
    const samplesFrom = sampled.length === 0 ? null : Math.min(...sampled);
    reached = { samplesFrom, rollupsFrom: firstDay("hours") ?? samplesFrom };
    return reached;
  }

  /**
   * Returns the time from which sessions are kept. Sessions that ended earlier are deleted; 0 means that
   * none are deleted.
   */
  const sessionsFrom = () =>
    all<{ value: number }>("SELECT value FROM event_marks WHERE name = 'deleted_sessions'")[0]?.value ?? 0;

  /** Computes rollups of parts of a range from samples, reading the range once. */
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

  function addHours(feature: KnownFeature, from: number, until: number, sinkOf: SinkOf): void {
    const unsettled = open.hours(from, until);
    for (let day = dayOf(from); day * DAY_MS < until; day++) {
      const dayAt = day * DAY_MS;
      const key = packedKey("hours", day, feature.id);
      const [packed] = all<{ data: Uint8Array }>("SELECT data FROM packed_days WHERE key = ?", key);
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

  const rollupsOfDay = (day: number, lowest: number, highest: number) =>
    all<{ key: number; data: Uint8Array }>(
      "SELECT key, data FROM packed_days WHERE key >= ? AND key <= ?",
      packedKey("rollups", day, lowest),
      packedKey("rollups", day, highest),
    );

  /**
   * Adds the part of [from, until) outside of whole days: stored whole hours, and the rest from samples. No
   * piece crosses an hour, so that the users counted do not depend on how the range is split. For a part of
   * an old hour, `users` should be `hours`, because finding the users of the part would search all later
   * sessions.
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
    /** Returns the whole UTC hours with known counts that begin in the range, without users. */
    hours(feature: KnownFeature, start: number, end: number): Bucket[] {
      const buckets: Bucket[] = [];
      let last: number | null = null;
      const take = () => {
        if (last === null) return;
        const rollup = sum.take();
        if (rollup.groups.length > 0 || rollup.denials !== null) buckets.push({ at: last, rollup });
      };
      addHours(feature, hourEnd(start), hourEnd(end), (at) => {
        take();
        last = at;
        return counts;
      });
      take();
      return buckets.sort((a, b) => a.at - b.at);
    },
    /** Returns the covered whole UTC days that begin in the range, without users. */
    days(feature: KnownFeature, start: number, end: number): Bucket[] {
      const [first, behind] = [Math.ceil(start / DAY_MS), Math.ceil(end / DAY_MS)];
      const unsettled = open.days(first * DAY_MS, behind * DAY_MS);
      const buckets: Bucket[] = [];
      for (let day = first; day < behind; day++) {
        const at = day * DAY_MS;
        if (unsettled.has(at)) addHours(feature, at, at + DAY_MS, () => counts);
        else
          for (const { data } of rollupsOfDay(day, feature.id, feature.id)) readDayRollup(at, data, counts);
        const rollup = sum.take();
        if (rollup.groups.length > 0) buckets.push({ at, rollup });
      }
      return buckets;
    },
    /**
     * Returns one rollup of the range per feature, in the order of the features: stored days and hours, and
     * steps at the edges. If only rollups are kept, the range is widened to whole hours. `withUsers` adds
     * the users with a session in a UTC hour of the range (clipped to the range) in which the server was
     * read. For ranges of more than a day, the hours at both ends count in full.
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
          for (const { key, data } of rollupsOfDay(day, slice[0]?.id ?? 0, slice.at(-1)?.id ?? 0))
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
    readMs: (server: string, start: number, end: number) =>
      samples
        .coverage(server, start, end)
        .reduce((sum, { from, until }) => sum + Math.min(until, end) - Math.max(from, start), 0),
    siteDays(first: number, behind: number) {
      const made = all<{ day: number; data: Uint8Array }>(
        `SELECT day, data FROM packed_days WHERE key >= ? AND key < ?
           AND day * ${DAY_MS} NOT IN (SELECT at FROM dirty WHERE kind = 'site')`,
        ...packedKeys("site", first, behind),
      );
      return new Map(made.map(({ day, data }) => [day, data]));
    },
  };
}
