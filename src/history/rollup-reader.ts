import {
  addRollup,
  type Bucket,
  createRollupSum,
  NO_ROLLUP,
  type Rollup,
  type RollupSink,
  rollupOf,
} from "../domain/stats/rollup.ts";
import type { Rows } from "../store/denial-queries.ts";
import { readDayRollup, readHours } from "./codec.ts";
import type { createDenialCounts } from "./feature-counts.ts";
import type { SampleReader, Unsettled } from "./sample-reader.ts";
import type { createSessionReader } from "./session-reader.ts";
import type { KnownFeature } from "./source.ts";
import { DAY_MS, dayOf, featureOfKey, HOUR_MS, hourEnd, hourStart, packedKey } from "./spans.ts";

/** Whose users of a part of an hour count: nobody's, those of the part, or (long ago, known at once) those of the hour. */
type Users = "none" | "exact" | "hours";
type SinkOf = (at: number) => RollupSink | null;

/** Days of features in memory at once, packed. */
const SLICE_DAYS = 15_000;

/** Whole hours and days as they are stored, made from the samples where they are not (yet). */
export function createRollupReader(
  { all }: Rows,
  series: SampleReader["series"],
  usersOf: ReturnType<typeof createSessionReader>["users"],
  denials: ReturnType<typeof createDenialCounts>,
  open: Unsettled,
  sessionsFrom: () => number,
  checkpoint: () => void,
) {
  const sum = createRollupSum();
  const counts: RollupSink = { ...sum, user() {} };
  const usersAlone: RollupSink = { level() {}, covered() {}, denials() {}, user: sum.user };

  /** The range in one rollup, from the samples alone. */
  function fromSamples(feature: KnownFeature, start: number, end: number, withUsers: boolean): Rollup {
    const rollup = rollupOf(series(feature, start, end), start, end);
    return {
      ...rollup,
      users: rollup.groups.length === 0 || !withUsers ? [] : usersOf(feature, start, end),
      denials: denials(feature, start, end),
    };
  }

  /** Adds the hours that begin in [from, until) to the sink that each has. */
  function addHours(feature: KnownFeature, from: number, until: number, sinkOf: SinkOf): void {
    const unsettled = open.hours(from, until);
    for (let day = dayOf(from); day * DAY_MS < until; day++) {
      const dayAt = day * DAY_MS;
      const sink: SinkOf = (at) => (at >= from && at < until ? sinkOf(at) : null);
      const [packed] = all<{ data: Uint8Array }>(
        "SELECT data FROM rollup_hours WHERE key = ?",
        packedKey(day, feature.id),
      );
      if (packed !== undefined) readHours(dayAt, packed.data, (at) => (unsettled.has(at) ? null : sink(at)));
    }
    for (const at of unsettled) {
      const to = sinkOf(at);
      if (to !== null) addRollup(to, fromSamples(feature, at, at + HOUR_MS, to !== counts));
    }
  }

  /** The packed days of features with ids from `lowest` to `highest`. */
  function packedDays(day: number, lowest: number, highest: number) {
    return all<{ key: number; data: Uint8Array }>(
      "SELECT key, data FROM rollup_days WHERE key >= ? AND key <= ?",
      packedKey(day, lowest),
      packedKey(day, highest),
    );
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
    for (const [a, b] of parts) if (a < b) addRollup(sum, fromSamples(feature, a, b, users === "exact"));
    addHours(feature, hourStart(from), hourEnd(until), (at) => {
      if (at >= low && at < high) return users === "none" ? counts : sum;
      return users === "hours" ? usersAlone : null;
    });
  }

  return {
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
    /** [start, end) of each feature in one rollup, in the order of the features. */
    over(features: readonly KnownFeature[], start: number, end: number, withUsers: boolean): Rollup[] {
      const first = Math.ceil(start / DAY_MS);
      const behind = Math.max(first, Math.floor(end / DAY_MS));
      const unsettled = open.days(first * DAY_MS, behind * DAY_MS);
      const wide = Math.max(1, Math.floor(SLICE_DAYS / Math.max(1, behind - first)));
      const byId = features.toSorted((a, b) => a.id - b.id);
      const rollups = new Map<number, Rollup>();
      const users = !withUsers ? "none" : end - start > DAY_MS || start < sessionsFrom() ? "hours" : "exact";
      const sink = withUsers ? sum : counts;
      for (let from = 0; from < byId.length; from += wide) {
        checkpoint();
        const slice = byId.slice(from, from + wide);
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
