import type { Database } from "bun:sqlite";
import { type Bucket, NO_ROLLUP, type Rollup } from "../../domain/rollup.ts";
import { createRollupSum, mergeRollups, rollupOf } from "../../domain/rollup-sum.ts";
import type { CountDenials } from "./denial-counts.ts";
import type { Holders } from "./holders.ts";
import type { OpenHours } from "./open-hours.ts";
import type { HistoryRead, KnownFeature } from "./read.ts";
import { type RollupSink, readRollup, SKIP } from "./read-rollup.ts";
import { readHours, unpackDayRollup, unpackHours } from "./rollup-bytes.ts";
import type { SampleReader } from "./sample-reader.ts";
import { DAY_MS, dayOf, featureOfKey, HOUR_MS, hourEnd, hourStart, packedKey } from "./spans.ts";

/** Whole hours and days as they are stored, made from the samples where they are not (yet). */
export interface RollupReader extends Pick<HistoryRead, "hours" | "days"> {
  /** The range in one rollup, from the samples alone. */
  fromSamples(feature: KnownFeature, start: number, end: number, withUsers?: boolean): Rollup;
  /** [start, end) of each feature in one rollup, in the order of the features. */
  over(features: readonly KnownFeature[], start: number, end: number, withUsers: boolean): Rollup[];
}

export interface RollupReaderDeps {
  readonly samples: SampleReader;
  readonly holders: Holders;
  readonly open: OpenHours;
  readonly countDenials: CountDenials;
  readonly checkpoint: () => void;
  /** As of `HistoryRead`. */
  readonly sessionsFrom: () => number;
}

/** Days of features in memory at once, packed. */
const SLICE_DAYS = 15_000;

export function createRollupReader(
  sqlite: Database,
  { samples, holders, open, countDenials, checkpoint, sessionsFrom }: RollupReaderDeps,
): RollupReader {
  const hoursOfDay = sqlite.query<{ data: Uint8Array }, [number]>(
    "SELECT data FROM rollup_hours WHERE key = ?",
  );
  const rollupOfDay = sqlite.query<{ data: Uint8Array }, [number]>(
    "SELECT data FROM rollup_days WHERE key = ?",
  );
  const rollupsOfDay = sqlite.query<{ key: number; data: Uint8Array }, [number, number]>(
    "SELECT key, data FROM rollup_days WHERE key >= ? AND key <= ?",
  );
  const sum = createRollupSum();
  const usersAlone: RollupSink = { ...SKIP, user: sum.user };

  function fromSamples(feature: KnownFeature, start: number, end: number, withUsers = true): Rollup {
    const rollup = rollupOf(samples.series(feature, start, end), start, end);
    return {
      ...rollup,
      users: rollup.groups.length === 0 || !withUsers ? [] : holders.users(feature, start, end),
      denials: countDenials(feature, start, end),
    };
  }

  function hours(feature: KnownFeature, start: number, end: number, withUsers = true): Bucket[] {
    const from = hourEnd(start);
    const until = hourEnd(end);
    const buckets: Bucket[] = [];
    for (let day = dayOf(from); day * DAY_MS < until; day++) {
      const dayAt = day * DAY_MS;
      const unsettled = open.in(HOUR_MS, dayAt, dayAt + DAY_MS);
      const data = hoursOfDay.get(packedKey(day, feature.id))?.data;
      const stored = data === undefined ? [] : unpackHours(dayAt, data, withUsers);
      const list = unsettled.size === 0 ? stored : stored.filter(({ at }) => !unsettled.has(at));
      for (const at of unsettled) {
        const rollup = fromSamples(feature, at, at + HOUR_MS, withUsers);
        if (isKnown(rollup)) list.push({ at, rollup });
      }
      if (unsettled.size > 0) list.sort((a, b) => a.at - b.at);
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
    const unsettled = open.in(DAY_MS, first * DAY_MS, behind * DAY_MS);
    const buckets: Bucket[] = [];
    for (let day = first; day < behind; day++) {
      const at = day * DAY_MS;
      const data = unsettled.has(at) ? undefined : rollupOfDay.get(packedKey(day, feature.id))?.data;
      const rollup = unsettled.has(at)
        ? wholeDay(feature, at, withUsers)
        : data === undefined
          ? NO_ROLLUP
          : unpackDayRollup(at, data, withUsers);
      if (rollup.groups.length > 0) buckets.push({ at, rollup });
    }
    return buckets;
  }

  /**
   * Adds what of [from, until) is not whole days: whole hours as they are stored, the rest from the samples, never over
   * the edge of an hour, so that who counts as a user does not depend on how the range lies. `users`: those of the part
   * of an hour, or of all of it (long ago, that is known at once; a part of it is a search through all that came after).
   */
  function addEdge(
    feature: KnownFeature,
    from: number,
    until: number,
    users: "none" | "exact" | "hours",
  ): void {
    if (from >= until) return;
    const low = hourEnd(from);
    const high = hourStart(until);
    const part = (a: number, b: number) => {
      if (a < b) sum.add(fromSamples(feature, a, b, users === "exact"));
    };
    if (low > high) part(from, until);
    else {
      part(from, low);
      part(high, until);
    }
    const sinkOf = (at: number) => {
      if (at >= low && at < high) return sum;
      return users === "hours" && at + HOUR_MS > from && at < until ? usersAlone : null;
    };
    addHours(feature, hourStart(from), hourEnd(until), users !== "none", sinkOf);
  }

  /** Adds the hours that begin in [from, until) to the sink that each has. */
  function addHours(
    feature: KnownFeature,
    from: number,
    until: number,
    withUsers: boolean,
    sinkOf: (at: number) => RollupSink | null,
  ): void {
    for (let day = dayOf(from); day * DAY_MS < until; day++) {
      const dayAt = day * DAY_MS;
      const unsettled = open.in(HOUR_MS, dayAt, dayAt + DAY_MS);
      const data = hoursOfDay.get(packedKey(day, feature.id))?.data;
      if (data !== undefined)
        readHours(dayAt, data, (at) => (unsettled.has(at) ? null : sinkOf(at)), withUsers);
      for (const at of unsettled) {
        const sink = sinkOf(at);
        if (sink === null) continue;
        const rollup = fromSamples(feature, at, at + HOUR_MS, withUsers);
        if (!isKnown(rollup)) continue;
        if (sink === sum) sum.add(rollup);
        else for (const user of rollup.users) sum.user(user);
      }
    }
  }

  /** The days in [first, behind) that are settled, packed, by the place of their feature. */
  function settledDays(
    features: readonly KnownFeature[],
    first: number,
    behind: number,
    unsettled: ReadonlySet<number>,
  ): { readonly at: number; readonly data: Uint8Array }[][] {
    const places = new Map(features.map(({ id }, place) => [id, place]));
    const packed: { at: number; data: Uint8Array }[][] = features.map(() => []);
    const ids = features.map(({ id }) => id);
    const [lowest, highest] = [Math.min(...ids), Math.max(...ids)];
    for (let day = first; day < behind; day++) {
      const at = day * DAY_MS;
      if (unsettled.has(at)) continue;
      for (const { key, data } of rollupsOfDay.all(packedKey(day, lowest), packedKey(day, highest))) {
        const place = places.get(featureOfKey(key));
        if (place !== undefined) packed[place]?.push({ at, data });
      }
    }
    return packed;
  }

  return {
    fromSamples,
    hours,
    days,
    over(features, start, end, withUsers) {
      const first = Math.ceil(start / DAY_MS);
      const behind = Math.max(first, Math.floor(end / DAY_MS));
      const unsettled = open.in(DAY_MS, first * DAY_MS, behind * DAY_MS);
      const wide = Math.max(1, Math.floor(SLICE_DAYS / Math.max(1, behind - first)));
      const byId = features
        .map((feature, place) => ({ feature, place }))
        .sort((a, b) => a.feature.id - b.feature.id);
      const rollups = features.map(() => NO_ROLLUP);
      const users = !withUsers ? "none" : end - start > DAY_MS || start < sessionsFrom() ? "hours" : "exact";
      for (let from = 0; from < byId.length; from += wide) {
        const slice = byId.slice(from, from + wide);
        checkpoint();
        const packed = settledDays(
          slice.map(({ feature }) => feature),
          first,
          behind,
          unsettled,
        );
        for (const [index, { feature, place }] of slice.entries()) {
          checkpoint();
          for (const { at, data } of packed[index] ?? []) readRollup(data, 0, at, DAY_MS, sum, withUsers);
          for (const at of unsettled) sum.add(wholeDay(feature, at, withUsers));
          if (first < behind) {
            addEdge(feature, start, first * DAY_MS, users);
            addEdge(feature, behind * DAY_MS, end, users);
          } else addEdge(feature, start, end, users);
          rollups[place] = sum.take();
        }
      }
      return rollups;
    },
  };
}

/** Denials are known of hours, too, in which nobody asked the server: logs tell of them later. */
function isKnown({ groups, denials }: Rollup): boolean {
  return groups.length > 0 || denials !== null;
}
