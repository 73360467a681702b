import type { Step } from "../domain/history.ts";
import type { Log } from "../domain/log.ts";
import { mergeRollups, rollupOf } from "../domain/stats/rollup.ts";
import { type Clock, DAY_MS, HOUR_MS, type Timers } from "../domain/time/clock.ts";
import type { Store } from "../store/open/open.ts";
import { createDirty, createPackedDays, type Dirty, dayOf, type KnownFeature, packedKey } from "./buckets.ts";
import { packDayRollup, unpackHours, withHour, withHourRollup } from "./codec.ts";
import { createDayPacker, type DayPackerDeps } from "./day-packer.ts";
import { createLoop } from "./loop.ts";
import { createReader, type Reader } from "./reader.ts";
import { createRecorder } from "./recorder.ts";
import { type Interval, stepsOf } from "./sample-reader.ts";

/** Delay after the end of an hour until it is packed, so that its last readings are stored. */
const GRACE_MS = 60_000;

/**
 * Packs the samples of past hours, and rolls up hours and days. Each call does one slice of work in a
 * transaction of about the given ms, and reports whether there is more to do. A failed slice is repeated.
 */
function createPacker(
  { sqlite, transaction }: Store,
  dirty: Dirty,
  clock: Clock,
): (sliceMs?: number) => boolean {
  const packed = createPackedDays({ sqlite });
  const earliest = sqlite.query<{ at: number }, [string, number]>(
    "SELECT at FROM dirty WHERE kind = ? AND at <= ? ORDER BY at LIMIT 1",
  );
  const dropLoose = sqlite.query<null, [number, number, number]>(
    "DELETE FROM samples WHERE feature_id = ? AND at >= ? AND at < ?",
  );
  const addUser = sqlite.query<null, [string]>("INSERT OR IGNORE INTO history_users (name) VALUES (?)");

  function packHour(reader: Reader, feature: KnownFeature, at: number): void {
    const end = at + HOUR_MS;
    const dayAt = dayOf(at) * DAY_MS;
    const coverage = reader.coverage(feature.server, at, end);
    const all = reader.samples(feature, at, end, coverage);

    const samples = all.filter((sample) => sample.at >= at && sample.at < end);
    if (at === dayAt && samples[0]?.at !== at) samples.unshift(...carried(coverage, all, at));
    if (samples.length > 0) {
      const hour = (at - dayAt) / HOUR_MS;
      const key = packedKey("samples", dayOf(at), feature.id);
      packed.put(key, withHour(dayAt, packed.get(key), { hour, samples }));
    }
    dropLoose.run(feature.id, at, end);

    const counted = rollupOf({ steps: stepsOf(all, coverage, at, end), end }, at, end);
    const key = packedKey("hours", dayOf(at), feature.id);
    const hours = packed.get(key);
    // Old sessions and denials may have been deleted, so keep the users and denials that the hour already
    // has.
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
    packed.put(key, rolled);
  }

  function rollUpDay(feature: KnownFeature, at: number): void {
    const hours = packed.get(packedKey("hours", dayOf(at), feature.id));
    const rollups = hours === null ? [] : unpackHours(at, hours).map((one) => one.rollup);
    packed.put(
      packedKey("rollups", dayOf(at), feature.id),
      hours === null ? new Uint8Array() : packDayRollup(at, mergeRollups(rollups)),
    );
  }

  /** Returns the next hour or day to pack; hours come before their days. */
  function nextDue(overBefore: number) {
    const hour = earliest.get("hours", overBefore - HOUR_MS);
    const day = earliest.get("rollups", overBefore - DAY_MS);
    if (day !== null && (hour === null || hour.at >= day.at + DAY_MS))
      return { kind: "rollups", at: day.at, end: day.at + DAY_MS } as const;
    return hour && ({ kind: "hours", at: hour.at, end: hour.at + HOUR_MS } as const);
  }

  function* work({ kind, at, end }: NonNullable<ReturnType<typeof nextDue>>): Generator<void> {
    const { samplesFrom } = reader().reach();
    dirty.begin(kind, at);
    // Rollups of deleted samples cannot be made again, so keep the stored ones.
    const isGone = samplesFrom === null || end <= samplesFrom;
    for (const feature of isGone ? [] : reader().features()) {
      // Use a new reader, because other writes may have happened between two slices.
      if (kind === "hours") packHour(reader(), feature, at);
      else rollUpDay(feature, at);
      yield;
    }
    dirty.end(kind, at);
  }

  let ofSlice: Reader | null = null;
  /** Returns the reader of the current slice, which caches names and coverage. */
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
            const due = nextDue(clock.now() - GRACE_MS);
            if (due === null) return false;
            running = work(due);
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

const IDLE_MS = 30_000;

/**
 * Records polls and packs them in the background. Without `days`, rows that combine all features are not
 * packed.
 */
export function createHistory({
  store,
  clock,
  timers,
  log,
  days,
}: HistoryDeps & { readonly days?: Pick<DayPackerDeps, "query" | "intervals"> }) {
  const dirty = createDirty(store);
  const pack = createPacker(store, dirty, clock);
  const packDay = days === undefined ? () => false : createDayPacker({ store, clock, ...days });
  return {
    ...createLoop(() => pack() || packDay(), IDLE_MS, "Cannot pack history", timers, log),
    recorder: createRecorder(store, dirty),
    /** Packs everything that is due. `between` is called between slices. */
    packAll(between?: () => void): void {
      while (pack(20)) between?.();
    },
    oldestSampleAt: () =>
      store.read(() => createReader(store.sqlite, { now: clock.now() }).reach().samplesFrom),
    reopen: (from: number, until: number): void =>
      store.transaction(() => dirty.touch(from, Math.max(from, until - 1))),
  };
}
