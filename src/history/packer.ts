import type { Step } from "../domain/history.ts";
import { mergeRollups, rollupOf } from "../domain/stats/rollup.ts";
import type { Clock } from "../domain/time/clock.ts";
import type { Store } from "../store/open/open.ts";
import { packDayRollup, unpackHours, withHour, withHourRollup } from "./codec.ts";
import { type CountDenials, createDenialCounts } from "./denial-counts.ts";
import { CLOSED_HOLDERS, OPEN_HOLDERS } from "./holders.ts";
import type { OpenBucket, OpenBuckets } from "./open-buckets.ts";
import { createReader, type Reader } from "./reader.ts";
import type { KnownFeature } from "./source.ts";
import { DAY_MS, dayOf, HOUR_MS, packedKey } from "./spans.ts";
import { stepsOf } from "./steps.ts";

/** An hour is packed this long after its end, when what was read in it has been stored. Later news opens it again. */
const GRACE_MS = 60_000;

/** Packs the samples of hours that are over, and rolls hours and days up. */
export interface Packer {
  /**
   * One slice of the work that is due, in a transaction of about so many ms. Answers whether there is more.
   * Throws a StoreError when the store fails: what was begun is begun again then.
   */
  step(sliceMs?: number): boolean;
}

export interface PackerDeps {
  readonly store: Store;
  readonly open: OpenBuckets;
  readonly clock: Clock;
}

export function createPacker({ store, open, clock }: PackerDeps): Packer {
  const { sqlite } = store;
  const get = (table: string) =>
    sqlite.query<{ data: Uint8Array }, [number]>(`SELECT data FROM ${table} WHERE key = ?`);
  const put = (table: string) =>
    sqlite.query<null, [number, Uint8Array]>(
      `INSERT INTO ${table} (key, data) VALUES (?, ?) ON CONFLICT DO UPDATE SET data = excluded.data`,
    );
  const remove = (table: string) => sqlite.query<null, [number]>(`DELETE FROM ${table} WHERE key = ?`);
  const tableOf = (name: string) => ({ get: get(name), put: put(name), remove: remove(name) });
  const sampleDays = tableOf("sample_days");
  const rollupHours = tableOf("rollup_hours");
  const rollupDays = tableOf("rollup_days");
  const dropLoose = sqlite.query<null, [number, number, number]>(
    "DELETE FROM samples WHERE feature_id = ? AND at >= ? AND at < ?",
  );
  const storeUsers = (holders: string) =>
    `INSERT OR IGNORE INTO history_users (name) SELECT DISTINCT user FROM (${holders})
     WHERE NOT EXISTS (SELECT 1 FROM history_users WHERE name = user)`;
  const unstoredUsers = sqlite.query<null, [string, string, string, number, number]>(
    storeUsers(CLOSED_HOLDERS),
  );
  const unstoredOpenUsers = sqlite.query<null, [string, string, string, number]>(storeUsers(OPEN_HOLDERS));

  function write(table: ReturnType<typeof tableOf>, key: number, data: Uint8Array): void {
    if (data.length > 0) table.put.run(key, data);
    else table.remove.run(key);
  }

  function packHour(reader: Reader, feature: KnownFeature, at: number): void {
    const { server, daemon, feature: name } = feature;
    const end = at + HOUR_MS;
    const dayAt = dayOf(at) * DAY_MS;
    const key = packedKey(dayOf(at), feature.id);
    const coverage = reader.coverage(server, at, end);
    const all = reader.samples(feature, at, end, coverage);
    const steps = stepsOf(all, coverage, at, end);

    const packed = sampleDays.get.get(key)?.data ?? null;
    const samples = all.filter((sample) => sample.at >= at && sample.at < end);
    if (at === dayAt && samples[0]?.at !== at) samples.unshift(...carried(coverage, all, at));
    if (samples.length > 0) {
      write(sampleDays, key, withHour(dayAt, packed, { hour: (at - dayAt) / HOUR_MS, samples }));
    }
    dropLoose.run(feature.id, at, end);

    const counted = rollupOf({ steps, end }, at, end);
    const hours = rollupHours.get.get(key)?.data ?? null;
    // Sessions and denials of then may be gone: whom the hour knows already it does not forget.
    const before =
      hours !== null && at < reader.sessionsFrom()
        ? unpackHours(dayAt, hours).find((one) => one.at === at)?.rollup
        : undefined;
    const denials = most(countDenials(feature, at, end), before?.denials ?? null);
    let users: readonly number[] = [];
    if (counted.groups.length > 0) {
      unstoredUsers.run(server, daemon, name, at, end);
      unstoredOpenUsers.run(server, daemon, name, end);
      const held = reader.users(feature, at, end);
      users = before === undefined ? held : [...new Set([...held, ...before.users])].sort((a, b) => a - b);
    }
    const rolled = withHourRollup(dayAt, hours, { at, rollup: { ...counted, users, denials } });
    if (hours !== null || rolled.length > 0) write(rollupHours, key, rolled);
  }

  function rollUpDay(feature: KnownFeature, at: number): void {
    const key = packedKey(dayOf(at), feature.id);
    const data = rollupHours.get.get(key)?.data;
    if (data === undefined) rollupDays.remove.run(key);
    else
      rollupDays.put.run(
        key,
        packDayRollup(at, mergeRollups(unpackHours(at, data).map((one) => one.rollup))),
      );
  }

  /** Each step is one feature's. */
  function* work(bucket: OpenBucket): Generator<void> {
    const { samplesFrom } = current().reach();
    // What was rolled up from samples that are gone cannot be made again.
    const isGone = samplesFrom === null || bucket.at + bucket.span <= samplesFrom;
    for (const feature of isGone ? [] : current().features()) {
      // Between two slices anything may have been written.
      if (bucket.span === HOUR_MS) packHour(current(), feature, bucket.at);
      else rollUpDay(feature, bucket.at);
      yield;
    }
    open.close(bucket);
  }

  let reader: Reader | null = null;
  let countDenials: CountDenials = () => null;
  /** The reader of this slice: it remembers names and coverage. */
  const current = () => {
    reader ??= createReader(sqlite, { now: clock.now() });
    return reader;
  };

  let running: Generator<void> | null = null;
  return {
    step(sliceMs = 5) {
      const begun = performance.now();
      const isFree = () => performance.now() - begun < sliceMs;
      try {
        return store.transaction(() => {
          reader = null;
          countDenials = createDenialCounts(current(), clock.now());
          do {
            if (running === null) {
              const bucket = open.next(clock.now() - GRACE_MS);
              if (bucket === null) return false;
              running = work(bucket);
            }
            if (running.next().done === true) running = null;
          } while (isFree());
          return true;
        });
      } catch (error) {
        running = null;
        throw error;
      }
    },
  };
}

/** What holds at the begin of a day, as a sample: the day's row stands alone then. */
function carried(
  coverage: readonly { readonly from: number; readonly until: number }[],
  samples: readonly Step[],
  at: number,
): Step[] {
  const through = coverage.find(({ from, until }) => from < at && until > at);
  if (through === undefined) return [];
  const held = samples.findLast((sample) => sample.at <= at);
  if (held === undefined || held.at < through.from || held.used === null) return [];
  return [{ ...held, at }];
}

function most(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.max(a, b);
}
