import type { Database } from "bun:sqlite";
import type { Series, Step } from "../../domain/history.ts";
import { type Bucket, mergeRollups, NO_ROLLUP, type Rollup, rollupOf } from "../../domain/rollup.ts";
import { createDenialCounts } from "./denial-counts.ts";
import type { FeatureFilter, HistoryRead, KnownFeature, Reach } from "./read.ts";
import { unpackDayRollup, unpackHours } from "./rollup-bytes.ts";
import { samplesOfDay } from "./sample-day.ts";
import { DAY_MS, dayOf, dayOfKey, featureOfKey, HOUR_MS, hourEnd, hourStart, packedKey } from "./spans.ts";
import { type Interval, stepsOf } from "./steps.ts";

/** Ids that the reader gives to users who stand in no rollup yet: above all stored ones. */
const UNSTORED_USERS = 2 ** 40;

export interface ReaderOptions {
  /** What lies behind has not been seen. Epoch ms. */
  readonly now: number;
  readonly checkpoint?: () => void;
}

export interface Reader extends HistoryRead {
  /** When the server was read, within [start, end). */
  coverage(serverId: string, start: number, end: number): Interval[];
  /** The samples that say what held in [start, end): those in it, and the last one before. */
  samples(feature: KnownFeature, start: number, end: number, coverage: readonly Interval[]): Step[];
  /** The range in one rollup, from the samples alone. */
  fromSamples(feature: KnownFeature, start: number, end: number): Rollup;
}

interface SampleRow {
  readonly at: number;
  readonly total: number | null;
  readonly used: number | null;
  readonly reserved: number | null;
  readonly queued: number | null;
  readonly unlimited: number;
}

/**
 * The read side over a connection. What it remembers (names, what is open) holds for the state of the database that
 * it was made in: one reader a transaction.
 */
export function createReader(sqlite: Database, { now, checkpoint }: ReaderOptions): Reader {
  const coverageRows = sqlite.query<{ from: number; until: number }, [string, number]>(
    `SELECT from_at AS "from", until_at AS until FROM coverage WHERE server_id = ? AND from_at < ? ORDER BY from_at DESC`,
  );
  const looseSamples = sqlite.query<SampleRow, [number, number]>(
    "SELECT at, total, used, reserved, queued, unlimited FROM samples WHERE feature_id = ? AND at < ? ORDER BY at",
  );
  const sampleDay = sqlite.query<{ data: Uint8Array }, [number]>(
    "SELECT data FROM sample_days WHERE key = ?",
  );
  const hoursOfDay = sqlite.query<{ data: Uint8Array }, [number]>(
    "SELECT data FROM rollup_hours WHERE key = ?",
  );
  const rollupOfDay = sqlite.query<{ data: Uint8Array }, [number]>(
    "SELECT data FROM rollup_days WHERE key = ?",
  );
  const rollupsOfDay = sqlite.query<{ key: number; data: Uint8Array }, [number, number]>(
    "SELECT key, data FROM rollup_days WHERE key >= ? AND key < ?",
  );
  const closedUsers = sqlite.query<{ user: string }, [string, string, string, number, number]>(
    "SELECT DISTINCT user FROM sessions WHERE server_id = ? AND daemon = ? AND feature = ? AND ended_at > ? AND first_seen_at < ?",
  );
  const openUsers = sqlite.query<{ user: string }, [string, string, string, number]>(
    "SELECT DISTINCT user FROM sessions WHERE server_id = ? AND daemon = ? AND feature = ? AND ended_at IS NULL AND first_seen_at < ?",
  );
  const userId = sqlite.query<{ id: number }, [string]>("SELECT id FROM history_users WHERE name = ?");
  const openOf = sqlite.query<{ at: number }, [number, number, number]>(
    "SELECT at FROM history_open WHERE span = ? AND at >= ? AND at < ? ORDER BY at",
  );
  const firstKeys = sqlite.query<{ loose: number | null; samples: number | null; hours: number | null }, []>(
    `SELECT (SELECT min(at) FROM samples) AS loose, (SELECT min(key) FROM sample_days) AS samples,
       (SELECT min(key) FROM rollup_hours) AS hours`,
  );
  const all = <Row>(sql: string, ...parameters: (string | number | null)[]) =>
    sqlite.query<Row, (string | number | null)[]>(sql).all(...parameters);
  const countDenials = createDenialCounts({ all });
  const coverages = new Map<string, { start: number; end: number; list: Interval[] }>();
  const userIds = new Map<string, number>();
  let reached: Reach | null = null;

  function coverage(serverId: string, start: number, end: number): Interval[] {
    const known = coverages.get(serverId);
    if (known !== undefined && known.start <= start && known.end >= end) return known.list;
    const list: Interval[] = [];
    for (const { from, until } of coverageRows.iterate(serverId, end)) {
      if (until <= start) break;
      list.push({ from, until: Math.min(until, now) });
    }
    list.reverse();
    coverages.set(serverId, { start, end, list });
    return list;
  }

  function samples(
    feature: KnownFeature,
    start: number,
    end: number,
    intervals: readonly Interval[],
  ): Step[] {
    const first = intervals.find(({ until }) => until > start);
    if (first === undefined) return [];
    const packed: Step[][] = [];
    const unpacked = (day: number): Step[] => {
      const data = sampleDay.get(packedKey(day, feature.id))?.data;
      return data === undefined ? [] : samplesOfDay(day * DAY_MS, data);
    };
    for (let day = dayOf(start); day * DAY_MS < end; day++) packed.push(unpacked(day));
    const loose = looseSamples
      .all(feature.id, end)
      .map(({ unlimited, ...counts }): Step => ({ ...counts, unlimited: unlimited === 1 }));
    // A packed day begins with what held then; where its first hour is not packed yet that stands in the day before.
    for (let day = dayOf(start); isOpen(day) && day > dayOf(first.from); day--)
      packed.unshift(unpacked(day - 1));
    return inOrder(packed.flat(), loose);
  }

  function series(feature: KnownFeature, start: number, end: number): Series {
    const intervals = coverage(feature.server, start, end);
    const { server, daemon, feature: name } = feature;
    const steps = stepsOf(samples(feature, start, end, intervals), intervals, start, end);
    return { feature: { server, daemon, feature: name }, start, end, steps };
  }

  function idOfUser(name: string): number {
    const known = userIds.get(name);
    if (known !== undefined) return known;
    const id = userId.get(name)?.id ?? UNSTORED_USERS + userIds.size;
    userIds.set(name, id);
    return id;
  }

  function users(feature: KnownFeature, start: number, end: number): number[] {
    const { server, daemon, feature: name } = feature;
    const ids = new Set<number>();
    for (const { user } of closedUsers.iterate(server, daemon, name, start, end)) ids.add(idOfUser(user));
    for (const { user } of openUsers.iterate(server, daemon, name, end)) ids.add(idOfUser(user));
    return [...ids].sort((a, b) => a - b);
  }

  function fromSamples(feature: KnownFeature, start: number, end: number, withUsers = true): Rollup {
    const rollup = rollupOf(series(feature, start, end), start, end);
    return {
      ...rollup,
      users: rollup.groups.length === 0 || !withUsers ? [] : users(feature, start, end),
      denials: countDenials(feature, start, end),
    };
  }

  const openCache = new Map<string, ReadonlySet<number>>();
  /** Begins of the buckets in [start, end) whose rollup, if there is one, is not the last word. */
  function openIn(span: number, start: number, end: number): ReadonlySet<number> {
    const key = `${span} ${start} ${end}`;
    const known = openCache.get(key);
    if (known !== undefined) return known;
    const found = new Set(openOf.all(span, start, end).map(({ at }) => at));
    openCache.set(key, found);
    return found;
  }

  /** Whether the first hour of a day is not packed yet. */
  function isOpen(day: number): boolean {
    return openIn(HOUR_MS, day * DAY_MS, day * DAY_MS + 1).size > 0;
  }

  function hours(feature: KnownFeature, start: number, end: number, withUsers = true): Bucket[] {
    const from = hourEnd(start);
    const until = hourEnd(end);
    const buckets: Bucket[] = [];
    for (let day = dayOf(from); day * DAY_MS < until; day++) {
      const dayAt = day * DAY_MS;
      const open = openIn(HOUR_MS, dayAt, dayAt + DAY_MS);
      const data = hoursOfDay.get(packedKey(day, feature.id))?.data;
      const stored = data === undefined ? [] : unpackHours(dayAt, data, withUsers);
      const list = open.size === 0 ? stored : stored.filter(({ at }) => !open.has(at));
      for (const at of open) {
        const rollup = fromSamples(feature, at, at + HOUR_MS, withUsers);
        if (rollup.groups.length > 0) list.push({ at, rollup });
      }
      if (open.size > 0) list.sort((a, b) => a.at - b.at);
      for (const bucket of list) if (bucket.at >= from && bucket.at < until) buckets.push(bucket);
    }
    return buckets;
  }

  function wholeDay(feature: KnownFeature, at: number, withUsers = true): Rollup {
    return mergeRollups(hours(feature, at, at + DAY_MS, withUsers).map(({ rollup }) => rollup));
  }

  function days(feature: KnownFeature, start: number, end: number, withUsers = true): Bucket[] {
    const first = Math.ceil(start / DAY_MS);
    const behind = Math.ceil(end / DAY_MS);
    const open = openIn(DAY_MS, first * DAY_MS, behind * DAY_MS);
    const buckets: Bucket[] = [];
    for (let day = first; day < behind; day++) {
      const at = day * DAY_MS;
      const data = open.has(at) ? undefined : rollupOfDay.get(packedKey(day, feature.id))?.data;
      const rollup = open.has(at)
        ? wholeDay(feature, at, withUsers)
        : data === undefined
          ? NO_ROLLUP
          : unpackDayRollup(at, data, withUsers);
      if (rollup.groups.length > 0) buckets.push({ at, rollup });
    }
    return buckets;
  }

  function reach(): Reach {
    if (reached !== null) return reached;
    const { loose = null, samples: day = null, hours: hour = null } = firstKeys.get() ?? {};
    const packed = day === null ? null : dayOfKey(day) * DAY_MS;
    const samplesFrom = packed === null || loose === null ? (packed ?? loose) : Math.min(packed, loose);
    const rolled = hour === null ? null : dayOfKey(hour) * DAY_MS;
    reached = { samplesFrom, rollupsFrom: rolled ?? samplesFrom };
    return reached;
  }

  /** The range as far as samples reach; what lies before widened to whole hours. */
  function widened(start: number, end: number): { start: number; end: number } {
    const exact = reach().samplesFrom ?? Number.POSITIVE_INFINITY;
    return {
      start: start < exact ? hourStart(start) : start,
      end: end < exact ? hourEnd(end) : end,
    };
  }

  /** What of [start, end) lies outside of the whole days in it. */
  function edges(
    feature: KnownFeature,
    start: number,
    end: number,
    firstDay: number,
    lastDay: number,
    withUsers: boolean,
  ): Rollup[] {
    const stretches =
      firstDay < lastDay
        ? [
            [start, firstDay * DAY_MS],
            [lastDay * DAY_MS, end],
          ]
        : [[start, end]];
    const parts: Rollup[] = [];
    for (const [from = 0, until = 0] of stretches) {
      const low = hourEnd(from);
      const high = hourStart(until);
      if (low >= high) {
        if (from < until) parts.push(fromSamples(feature, from, until, withUsers));
        continue;
      }
      if (from < low) parts.push(fromSamples(feature, from, low, withUsers));
      for (const { rollup } of hours(feature, low, high, withUsers)) parts.push(rollup);
      if (high < until) parts.push(fromSamples(feature, high, until, withUsers));
    }
    return parts;
  }

  return {
    features: (filter = {}) => listFeatures(sqlite, filter),
    reach,
    coverage,
    samples,
    series,
    fromSamples,
    hours: (feature, start, end) => hours(feature, start, end),
    days: (feature, start, end) => days(feature, start, end),
    over(feature, start, end, withUsers = false) {
      const range = widened(start, end);
      const first = Math.ceil(range.start / DAY_MS);
      const last = Math.floor(range.end / DAY_MS);
      const parts = edges(feature, range.start, range.end, first, last, withUsers);
      if (first < last) {
        for (const { rollup } of days(feature, first * DAY_MS, last * DAY_MS, withUsers)) parts.push(rollup);
      }
      return mergeRollups(parts);
    },
    overMany(features, start, end, withUsers = false) {
      const range = widened(start, end);
      const first = Math.ceil(range.start / DAY_MS);
      const last = Math.floor(range.end / DAY_MS);
      const parts = features.map((feature) => {
        checkpoint?.();
        return edges(feature, range.start, range.end, first, last, withUsers);
      });
      const indexes = new Map(features.map(({ id }, index) => [id, index]));
      const open = openIn(DAY_MS, first * DAY_MS, Math.max(first, last) * DAY_MS);
      for (let day = first; day < last; day++) {
        checkpoint?.();
        const at = day * DAY_MS;
        if (open.has(at)) {
          features.forEach((feature, index) => {
            parts[index]?.push(wholeDay(feature, at, withUsers));
          });
          continue;
        }
        for (const { key, data } of rollupsOfDay.iterate(packedKey(day, 0), packedKey(day + 1, 0))) {
          const index = indexes.get(featureOfKey(key));
          if (index !== undefined) parts[index]?.push(unpackDayRollup(at, data, withUsers));
        }
      }
      return parts.map((list) => mergeRollups(list));
    },
    users,
    all,
    checkpoint: () => checkpoint?.(),
  };
}

function listFeatures(sqlite: Database, { servers, daemons, features }: FeatureFilter): KnownFeature[] {
  const lists = [
    ["server_id", servers],
    ["daemon", daemons],
    ["name", features],
  ] as const;
  const given = lists.flatMap(([column, values]) =>
    values === undefined ? [] : [{ where: `${column} IN (SELECT value FROM json_each(?))`, values }],
  );
  const where = given.length === 0 ? "" : `WHERE ${given.map((one) => one.where).join(" AND ")}`;
  return sqlite
    .query<KnownFeature, string[]>(
      `SELECT id, server_id AS server, daemon, name AS feature FROM history_features ${where} ORDER BY server_id, daemon, name`,
    )
    .all(...given.map(({ values }) => JSON.stringify(values)));
}

/** Two ascending lists as one; of two samples of the same instant the second list's holds. */
function inOrder(a: readonly Step[], b: readonly Step[]): Step[] {
  if (b.length === 0) return [...a];
  if (a.length === 0) return [...b];
  const merged: Step[] = [];
  let left = 0;
  let right = 0;
  for (;;) {
    const one = a[left];
    const other = b[right];
    if (one === undefined && other === undefined) return merged;
    if (other === undefined || (one !== undefined && one.at < other.at)) {
      if (one !== undefined) merged.push(one);
      left++;
    } else {
      if (one?.at === other.at) left++;
      merged.push(other);
      right++;
    }
  }
}
