import type { Step } from "../../domain/history.ts";
import { mergeRollups, rollupOf } from "../../domain/stats/rollup.ts";
import { DAY_MS, HOUR_MS } from "../../domain/time/clock.ts";
import type { Store } from "../../store/open/open.ts";
import { createDirty, createPackedDays, type KnownFeature, packedKey } from "../buckets.ts";
import { packDayRollup, packHours, samplesOfDay, withHour } from "../codec.ts";
import { createReader } from "../reader.ts";
import { gapAt, type Interval } from "../sample-reader.ts";

/** New samples of a feature on a UTC day; the first one sets the state from then on. */
export interface FeatureDay {
  readonly feature: KnownFeature;
  readonly day: number;
  readonly samples: readonly Step[];
}

/** Writes another monitor's counts, packed by feature and day. Runs in the caller's transaction. */
export function createCountWriter({ sqlite }: Store, now: number) {
  const dirty = createDirty({ sqlite });
  const packed = createPackedDays({ sqlite });
  /**
   * Days that also contain other data. They are marked last, so that the packer rolls them up once their
   * time is covered.
   */
  const mixed = new Set<number>();
  const putFeature = sqlite.query<{ id: number }, [string, string, string]>(
    `INSERT INTO history_features (server_id, daemon, name) VALUES (?, ?, ?)
     ON CONFLICT (server_id, daemon, name) DO UPDATE SET name = excluded.name RETURNING id`,
  );
  const covered = sqlite.query<Interval, [string]>(
    `SELECT from_at AS "from", until_at AS until FROM coverage WHERE server_id = ? ORDER BY from_at`,
  );
  // `looks` is 0, because the imported counts do not name users.
  const cover = sqlite.query<null, [string, number, number]>(
    "INSERT OR IGNORE INTO coverage (server_id, from_at, read_at, until_at, running, looks) VALUES (?1, ?2, ?3, ?3, 0, 0)",
  );

  return {
    feature(server: string, daemon: string, feature: string): KnownFeature {
      const id = putFeature.get(server, daemon, feature)?.id;
      if (id === undefined) throw new Error("The store gave no id to a feature");
      return { id, server, daemon, feature };
    },
    days(days: readonly FeatureDay[]): void {
      const reader = createReader(sqlite, { now });
      for (const { feature, day, samples } of days) {
        const [start, end] = [day * DAY_MS, (day + 1) * DAY_MS];
        const key = packedKey("samples", day, feature.id);
        const old = packed.get(key);
        const before = old === null ? [] : samplesOfDay(start, old);
        const all = [...new Map([...before, ...samples].map((one) => [one.at, one])).values()];
        packed.put(key, withHour(start, null, { hour: -1, samples: all }));
        dirty.mark("site", start, start);
        const isNamed =
          reader.holders(feature, start, end).length > 0 || reader.denials(feature, start, end) !== null;
        if (old !== null || isNamed) {
          mixed.add(day);
          continue;
        }
        const steps = samples[0]?.at === start ? samples : [gapAt(start), ...samples];
        const hours = Array.from({ length: DAY_MS / HOUR_MS }, (_, hour) => {
          const at = start + hour * HOUR_MS;
          return { at, rollup: rollupOf({ steps, end }, at, at + HOUR_MS) };
        });
        packed.put(packedKey("hours", day, feature.id), packHours(start, hours));
        packed.put(
          packedKey("rollups", day, feature.id),
          packDayRollup(start, mergeRollups(hours.map(({ rollup }) => rollup))),
        );
      }
    },
    coverage: (server: string): readonly Interval[] => covered.all(server),
    /**
     * Adds covered times. Must be called last. Counts outside of covered times are ignored, so an import
     * that was interrupted earlier can be repeated from the start.
     */
    cover(server: string, intervals: Iterable<Interval>): void {
      for (const { from, until } of intervals) cover.run(server, from, until);
      for (const day of mixed) dirty.touch(day * DAY_MS, Math.min(now, (day + 1) * DAY_MS - 1));
    },
  };
}

/** Yields the parts of [from, until) without readings. `covered` and the calls must be ascending. */
export function createUnread(covered: readonly Interval[]) {
  let next = 0;
  return function* parts(from: number, until: number): Generator<Interval> {
    while ((covered[next]?.until ?? Number.POSITIVE_INFINITY) <= from) next++;
    let at = from;
    for (let index = next; at < until; index++) {
      const { from: begin, until: end } = covered[index] ?? { from: until, until };
      if (at < begin) yield { from: at, until: Math.min(begin, until) };
      at = Math.max(at, end);
    }
  };
}

/**
 * Maximum delay of the next reading, in addition to two intervals, for a count to hold until that reading.
 * The rule is the same as for licmond's own polls.
 */
const SLACK_MS = 30_000;

type Counts = Pick<Step, "used" | "total">;

/**
 * Splits the samples of one series into days, skipping times that were already read. A count holds until
 * the next one if the next one comes within two intervals, else for one interval. Readings come in time
 * order.
 */
export function createSeriesDays(covered: readonly Interval[], intervalMs: number) {
  const parts = createUnread(covered);
  const days = new Map<number, Step[]>();
  const read: { from: number; until: number }[] = [];
  let last: (Counts & { readonly at: number }) | null = null;
  let reached = { until: Number.NaN, used: null as number | null, total: null as number | null };

  function push(at: number, counts: Counts): void {
    days.getOrInsertComputed(Math.floor(at / DAY_MS), () => []).push({ ...gapAt(at), ...counts });
  }
  const isUnread = (at: number) => !parts(at, at + 1).next().done;
  function hold(until: number): void {
    if (last === null) return;
    const { at, used, total } = last;
    for (const part of parts(at, until)) {
      const goesOn = part.from === reached.until && used === reached.used && total === reached.total;
      if (!goesOn) push(part.from, { used, total });
      for (let day = Math.ceil(part.from / DAY_MS) * DAY_MS; day < part.until; day += DAY_MS)
        if (goesOn || day > part.from) push(day, { used, total });
      reached = { until: part.until, used, total };
    }
    const before = read.at(-1);
    if (before?.until === at) before.until = until;
    else read.push({ from: at, until });
  }

  return {
    days,
    read: read as readonly Interval[],
    take(at: number, counts: Counts): boolean {
      if (last !== null && at <= last.at) return false;
      if (last !== null && at - last.at <= 2 * intervalMs + SLACK_MS) hold(at);
      else if (last !== null) this.end(last.at + intervalMs);
      last = { at, ...counts };
      return isUnread(at);
    },
    /** Ends the series: the last reading holds until `until`, and nothing is known after it. */
    end(until: number): void {
      hold(until);
      if (reached.until === until && isUnread(until)) push(until, { used: null, total: null });
    },
  };
}
