import type { Database } from "bun:sqlite";
import {
  type Bucket,
  createRollupSum,
  NO_ROLLUP,
  type Rollup,
  type RollupSum,
  rollupOf,
} from "../domain/stats/rollup.ts";
import { type RollupSink, readDayRollup, readHours } from "./codec.ts";
import type { CountDenials } from "./denial-counts.ts";
import type { Holders } from "./holders.ts";
import type { OpenHours, SampleReader } from "./sample-reader.ts";
import type { KnownFeature } from "./source.ts";
import { DAY_MS, dayOf, featureOfKey, HOUR_MS, hourEnd, hourStart, packedKey } from "./spans.ts";

/** Whole hours and days as they are stored, made from the samples where they are not (yet). */
export interface RollupReader {
  hours(feature: KnownFeature, start: number, end: number): Bucket[];
  days(feature: KnownFeature, start: number, end: number): Bucket[];
  /** The range in one rollup, from the samples alone. */
  fromSamples(feature: KnownFeature, start: number, end: number, withUsers?: boolean): Rollup;
  /** [start, end) of each feature in one rollup, in the order of the features. */
  over(features: readonly KnownFeature[], start: number, end: number, withUsers: boolean): Rollup[];
}

/** Whose users of a part of an hour count: nobody's, those of the part, or (long ago, known at once) those of the hour. */
type Users = "none" | "exact" | "hours";
type SinkOf = (at: number) => RollupSink | null;

/** Days of features in memory at once, packed. */
const SLICE_DAYS = 15_000;

export function createRollupReader(
  sqlite: Database,
  samples: SampleReader,
  holders: Holders,
  open: OpenHours,
  countDenials: CountDenials,
  sessionsFrom: () => number,
  checkpoint: () => void,
): RollupReader {
  const hoursOfDay = sqlite.query<{ data: Uint8Array }, [number]>(
    "SELECT data FROM rollup_hours WHERE key = ?",
  );
  const rollupsOfDay = sqlite.query<{ key: number; data: Uint8Array }, [number, number]>(
    "SELECT key, data FROM rollup_days WHERE key >= ? AND key <= ?",
  );
  const sum = createRollupSum();
  const counts: RollupSink = { ...sum, user() {} };
  const usersAlone: RollupSink = { level() {}, covered() {}, denials() {}, user: sum.user };

  function fromSamples(feature: KnownFeature, start: number, end: number, withUsers = true): Rollup {
    const rollup = rollupOf(samples.series(feature, start, end), start, end);
    return {
      ...rollup,
      users: rollup.groups.length === 0 || !withUsers ? [] : holders.users(feature, start, end),
      denials: countDenials(feature, start, end),
    };
  }

  /** Adds the hours that begin in [from, until) to the sink that each has. */
  function addHours(feature: KnownFeature, from: number, until: number, sinkOf: SinkOf): void {
    for (let day = dayOf(from); day * DAY_MS < until; day++) {
      const dayAt = day * DAY_MS;
      const unsettled = open.in(HOUR_MS, dayAt, dayAt + DAY_MS);
      const sink: SinkOf = (at) => (at >= from && at < until ? sinkOf(at) : null);
      const data = hoursOfDay.get(packedKey(day, feature.id))?.data;
      if (data !== undefined) readHours(dayAt, data, (at) => (unsettled.has(at) ? null : sink(at)));
      for (const at of unsettled) {
        const to = sink(at);
        if (to !== null) pour(fromSamples(feature, at, at + HOUR_MS, to !== counts), to);
      }
    }
  }

  function hours(feature: KnownFeature, start: number, end: number): Bucket[] {
    const sums = new Map<number, RollupSum>();
    addHours(feature, hourEnd(start), hourEnd(end), (at) => {
      const ofHour = sums.get(at) ?? createRollupSum();
      sums.set(at, ofHour);
      return ofHour;
    });
    return [...sums]
      .map(([at, ofHour]) => ({ at, rollup: ofHour.take() }))
      .filter(({ rollup }) => rollup.groups.length > 0 || rollup.denials !== null)
      .sort((a, b) => a.at - b.at);
  }

  function days(feature: KnownFeature, start: number, end: number): Bucket[] {
    const [first, behind] = [Math.ceil(start / DAY_MS), Math.ceil(end / DAY_MS)];
    const unsettled = open.in(DAY_MS, first * DAY_MS, behind * DAY_MS);
    const buckets: Bucket[] = [];
    for (let day = first; day < behind; day++) {
      const at = day * DAY_MS;
      const key = packedKey(day, feature.id);
      if (unsettled.has(at)) addHours(feature, at, at + DAY_MS, () => sum);
      else for (const { data } of rollupsOfDay.all(key, key)) readDayRollup(at, data, sum);
      const rollup = sum.take();
      if (rollup.groups.length > 0) buckets.push({ at, rollup });
    }
    return buckets;
  }

  /**
   * Adds what of [from, until) is not whole days: whole hours as they are stored, the rest from the samples, never over
   * the edge of an hour, so that who counts as a user does not depend on how the range lies. A part of an hour long ago
   * would be a search for its users through all that came after.
   */
  function addEdge(feature: KnownFeature, from: number, until: number, users: Users): void {
    if (from >= until) return;
    const [low, high] = [hourEnd(from), hourStart(until)];
    const parts = low > high ? [[from, until] as const] : [[from, low] as const, [high, until] as const];
    for (const [a, b] of parts) if (a < b) sum.add(fromSamples(feature, a, b, users === "exact"));
    addHours(feature, hourStart(from), hourEnd(until), (at) => {
      if (at >= low && at < high) return users === "none" ? counts : sum;
      return users === "hours" ? usersAlone : null;
    });
  }

  /** The days in [first, behind) that are settled, packed, by the id of their feature. */
  function settledDays(
    features: readonly KnownFeature[],
    first: number,
    behind: number,
    unsettled: ReadonlySet<number>,
  ): ReadonlyMap<number, { readonly at: number; readonly data: Uint8Array }[]> {
    const packed = new Map(features.map(({ id }) => [id, [] as { at: number; data: Uint8Array }[]]));
    const [lowest, highest] = [features[0]?.id ?? 0, features.at(-1)?.id ?? 0];
    for (let day = first; day < behind; day++) {
      const at = day * DAY_MS;
      if (unsettled.has(at)) continue;
      for (const { key, data } of rollupsOfDay.all(packedKey(day, lowest), packedKey(day, highest)))
        packed.get(featureOfKey(key))?.push({ at, data });
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
      const byId = features.toSorted((a, b) => a.id - b.id);
      const rollups = new Map<number, Rollup>();
      const users = !withUsers ? "none" : end - start > DAY_MS || start < sessionsFrom() ? "hours" : "exact";
      const sink = withUsers ? sum : counts;
      for (let from = 0; from < byId.length; from += wide) {
        checkpoint();
        const slice = byId.slice(from, from + wide);
        const packed = settledDays(slice, first, behind, unsettled);
        for (const feature of slice) {
          checkpoint();
          for (const { at, data } of packed.get(feature.id) ?? []) readDayRollup(at, data, sink);
          for (const at of unsettled) addHours(feature, at, at + DAY_MS, () => sink);
          if (first < behind) {
            addEdge(feature, start, first * DAY_MS, users);
            addEdge(feature, behind * DAY_MS, end, users);
          } else addEdge(feature, start, end, users);
          rollups.set(feature.id, sum.take());
        }
      }
      return features.map(({ id }) => rollups.get(id) ?? NO_ROLLUP);
    },
  };
}

function pour(rollup: Rollup, sink: RollupSink): void {
  for (const { total, unlimited, levels } of rollup.groups)
    for (const [used, ms] of levels) sink.level(total, unlimited, used, ms);
  for (const user of rollup.users) sink.user(user);
  if (rollup.coveredUntil !== null) sink.covered(rollup.coveredUntil, rollup.total);
  if (rollup.denials !== null) sink.denials(rollup.denials);
}
