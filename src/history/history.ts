import type { Step } from "../domain/history.ts";
import type { Log } from "../domain/log.ts";
import { mergeRollups, rollupOf } from "../domain/stats/rollup.ts";
import { type Clock, DAY_MS, HOUR_MS, type Timers } from "../domain/time/clock.ts";
import type { Store } from "../store/open/open.ts";
import {
  createOpenBuckets,
  dayOf,
  type KnownFeature,
  type OpenBucket,
  type OpenBuckets,
  packedKey,
} from "./buckets.ts";
import { packDayRollup, unpackHours, withHour, withHourRollup } from "./codec.ts";
import { createLoop } from "./loop.ts";
import { createReader, type Reader } from "./reader.ts";
import { createRecorder } from "./recorder.ts";
import { type Interval, stepsOf } from "./sample-reader.ts";

/** An hour is packed this long after its end, when its readings are stored. Later changes open it again. */
const GRACE_MS = 60_000;

/**
 * Packs the samples of past hours, and rolls up hours and days. Each call does one slice of the pending work
 * in a transaction of about the given ms, and reports whether there is more. Throws StoreError if the store
 * fails; the slice is repeated then.
 */
function createPacker(
  { sqlite, transaction }: Store,
  open: OpenBuckets,
  clock: Clock,
): (sliceMs?: number) => boolean {
  const tableOf = (name: string) => {
    const get = sqlite.query<{ data: Uint8Array }, [number]>(`SELECT data FROM ${name} WHERE key = ?`);
    const put = sqlite.query<null, [number, Uint8Array]>(
      `INSERT INTO ${name} (key, data) VALUES (?, ?) ON CONFLICT DO UPDATE SET data = excluded.data`,
    );
    const remove = sqlite.query<null, [number]>(`DELETE FROM ${name} WHERE key = ?`);
    return {
      get: (key: number) => get.get(key)?.data ?? null,
      put: (key: number, data: Uint8Array) => (data.length > 0 ? put.run(key, data) : remove.run(key)),
    };
  };
  const sampleDays = tableOf("sample_days");
  const rollupHours = tableOf("rollup_hours");
  const rollupDays = tableOf("rollup_days");
  const dropLoose = sqlite.query<null, [number, number, number]>(
    "DELETE FROM samples WHERE feature_id = ? AND at >= ? AND at < ?",
  );
  const addUser = sqlite.query<null, [string]>("INSERT OR IGNORE INTO history_users (name) VALUES (?)");

  function packHour(reader: Reader, feature: KnownFeature, at: number): void {
    const end = at + HOUR_MS;
    const dayAt = dayOf(at) * DAY_MS;
    const key = packedKey(dayOf(at), feature.id);
    const coverage = reader.coverage(feature.server, at, end);
    const all = reader.samples(feature, at, end, coverage);

    const samples = all.filter((sample) => sample.at >= at && sample.at < end);
    if (at === dayAt && samples[0]?.at !== at) samples.unshift(...carried(coverage, all, at));
    if (samples.length > 0) {
      const hour = (at - dayAt) / HOUR_MS;
      sampleDays.put(key, withHour(dayAt, sampleDays.get(key), { hour, samples }));
    }
    dropLoose.run(feature.id, at, end);

    const counted = rollupOf({ steps: stepsOf(all, coverage, at, end), end }, at, end);
    const hours = rollupHours.get(key);
    // Old sessions and denials may have been deleted: keep the users that the hour already has.
    const before =
      hours !== null && at < reader.sessionsFrom()
        ? unpackHours(dayAt, hours).find((one) => one.at === at)?.rollup
        : undefined;
    const known = [reader.denials(feature, at, end), before?.denials ?? null].filter((n) => n !== null);
    const denials = known.length === 0 ? null : Math.max(...known);
    let users: readonly number[] = [];
    if (counted.groups.length > 0) {
      const holders = reader.holders(feature, at, end);
      for (const name of new Set(holders.map(({ user }) => user))) addUser.run(name);
      const held = [...reader.usersAmong(holders, at, end), ...(before?.users ?? [])];
      users = [...new Set(held)].sort((a, b) => a - b);
    }
    const rolled = withHourRollup(dayAt, hours, { at, rollup: { ...counted, users, denials } });
    if (hours !== null || rolled.length > 0) rollupHours.put(key, rolled);
  }

  function rollUpDay(feature: KnownFeature, at: number): void {
    const key = packedKey(dayOf(at), feature.id);
    const hours = rollupHours.get(key);
    const rollups = hours === null ? [] : unpackHours(at, hours).map((one) => one.rollup);
    rollupDays.put(key, hours === null ? new Uint8Array() : packDayRollup(at, mergeRollups(rollups)));
  }

  /** Handles one feature per step. */
  function* work(bucket: OpenBucket): Generator<void> {
    const { samplesFrom } = reader().reach();
    // Samples are gone, so their rollups cannot be made again.
    const isGone = samplesFrom === null || bucket.at + bucket.span <= samplesFrom;
    for (const feature of isGone ? [] : reader().features()) {
      // Other writes may have happened between two slices.
      if (bucket.span === HOUR_MS) packHour(reader(), feature, bucket.at);
      else rollUpDay(feature, bucket.at);
      yield;
    }
    open.close(bucket);
  }

  let ofSlice: Reader | null = null;
  /** The reader of this slice; it caches names and coverage. */
  const reader = () => {
    ofSlice ??= createReader(sqlite, { now: clock.now() });
    return ofSlice;
  };

  let running: Generator<void> | null = null;
  return (sliceMs = 5) => {
    const begun = performance.now();
    try {
      return transaction(() => {
        ofSlice = null;
        do {
          if (running === null) {
            const bucket = open.next(clock.now() - GRACE_MS);
            if (bucket === null) return false;
            running = work(bucket);
          }
          if (running.next().done === true) running = null;
        } while (performance.now() - begun < sliceMs);
        return true;
      });
    } catch (error) {
      running = null;
      throw error;
    }
  };
}

/** Returns the state at the start of a day as a sample, so that the day's row can be read alone. */
function carried(coverage: readonly Interval[], samples: readonly Step[], at: number): Step[] {
  const through = coverage.find(({ from, until }) => from < at && until > at);
  if (through === undefined) return [];
  const held = samples.findLast((sample) => sample.at <= at);
  if (held === undefined || held.at < through.from || held.used === null) return [];
  return [{ ...held, at }];
}

export interface HistoryDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
}

/** How often the packer checks whether an hour has ended. */
const IDLE_MS = 30_000;

/** The writing side of history, one per process: records polls and packs them in the background. */
export function createHistory({ store, clock, timers, log }: HistoryDeps) {
  const open = createOpenBuckets(store);
  const pack = createPacker(store, open, clock);
  return {
    /** `start` begins to pack hours when they end. */
    ...createLoop(pack, IDLE_MS, "Cannot pack history", timers, log),
    /** For `createLive`. */
    recorder: createRecorder(store, open),
    /** Packs everything that is due now, for back-fills and tests. `between` is called between slices. */
    packAll(between?: () => void): void {
      while (pack(20)) between?.();
    },
    /** Returns the day on which the oldest stored counts begin; null without counts. */
    oldestSampleAt: () =>
      store.read(() => createReader(store.sqlite, { now: clock.now() }).reach().samplesFrom),
    /** Rolls up the hours and days in [from, until) again, e.g. when sessions are imported later. */
    reopen: (from: number, until: number): void =>
      store.transaction(() => open.touch(from, Math.max(from, until - 1))),
  };
}
