import type { Step } from "../../domain/history.ts";
import { type Bucket, mergeRollups, NO_ROLLUP, rollupOf } from "../../domain/stats/rollup.ts";
import { DAY_MS, HOUR_MS } from "../../domain/time/clock.ts";
import type { Store } from "../../store/open/open.ts";
import { createOpenBuckets, type KnownFeature, packedKey } from "../buckets.ts";
import { packDayRollup, packHours, unpackHours, withHour } from "../codec.ts";
import { createReader } from "../reader.ts";
import { gapAt, type Interval, sameCounts } from "../sample-reader.ts";

/** Counts of a feature that hold in [from, until), all within one UTC day. */
export interface Stretch extends Interval {
  readonly used: number;
  readonly total: number | null;
  /** A reading began it; else it goes on from the day before. */
  readonly isReading: boolean;
}

/** A day of one feature, its stretches ascending. */
export interface FeatureDay {
  readonly feature: KnownFeature;
  readonly day: number;
  readonly stretches: readonly Stretch[];
}

/**
 * Writes counts that another monitor read, packed, a day of a feature at once. What is known of a time already stays:
 * the same counts are added once, and what licmond read itself stands. All of it runs in the caller's transaction.
 */
export function createCountWriter({ sqlite }: Store, now: number) {
  const open = createOpenBuckets({ sqlite });
  const putFeature = sqlite.query<{ id: number }, [string, string, string]>(
    `INSERT INTO history_features (server_id, daemon, name) VALUES (?, ?, ?)
     ON CONFLICT (server_id, daemon, name) DO UPDATE SET name = excluded.name RETURNING id`,
  );
  const hoursOf = sqlite.query<{ data: Uint8Array }, [number]>("SELECT data FROM rollup_hours WHERE key = ?");
  const put = (table: string) =>
    sqlite.query<null, [number, Uint8Array]>(
      `INSERT INTO ${table} (key, data) VALUES (?, ?) ON CONFLICT DO UPDATE SET data = excluded.data`,
    );
  const [putSamples, putHours, putDay] = [put("sample_days"), put("rollup_hours"), put("rollup_days")];
  const dropSite = sqlite.query<null, [number]>("DELETE FROM site_days WHERE day = ?");
  const covered = sqlite.query<Interval, [string, number, number]>(
    `SELECT from_at AS "from", until_at AS until FROM coverage
     WHERE server_id = ? AND from_at < ? AND until_at > ? ORDER BY from_at`,
  );
  const cover = sqlite.query<null, [string, number, number]>(
    "INSERT OR IGNORE INTO coverage (server_id, from_at, read_at, until_at, running) VALUES (?1, ?2, ?3, ?3, 0)",
  );

  function writeDay(reader: ReturnType<typeof createReader>, { feature, day, stretches }: FeatureDay) {
    const [start, end] = [day * DAY_MS, (day + 1) * DAY_MS];
    const { steps: before } = reader.series(feature, start, end);
    const edges = reader.coverage(feature.server, start, end).flatMap(({ from, until }) => [from, until]);
    const { steps, added, known, changed } = laidUnder(before, stretches, new Set(edges), end);
    if (added === 0) return { added, known };
    const key = packedKey(day, feature.id);
    putSamples.run(key, withHour(start, null, { hour: -1, samples: steps }));
    const old = hoursOf.get(key)?.data;
    const stored = new Map(old === undefined ? [] : unpackHours(start, old).map((one) => [one.at, one]));
    for (const at of changed) {
      const { users, denials } = stored.get(at)?.rollup ?? NO_ROLLUP;
      const rollup = rollupOf({ steps, end }, at, at + HOUR_MS, { users, denials });
      stored.set(at, { at, rollup } satisfies Bucket);
    }
    const hours = [...stored.values()];
    putHours.run(key, packHours(start, hours));
    putDay.run(key, packDayRollup(start, mergeRollups(hours.map(({ rollup }) => rollup))));
    dropSite.run(day);
    // Whom a debug log knows of then, the packer adds.
    const isNamed =
      reader.holders(feature, start, end).length > 0 || reader.denials(feature, start, end) !== null;
    if (isNamed) open.touch(Math.min(...changed), Math.max(...changed));
    return { added, known };
  }

  return {
    /** The feature, with the small id that it has or gets. */
    feature(server: string, daemon: string, feature: string): KnownFeature {
      const id = putFeature.get(server, daemon, feature)?.id;
      if (id === undefined) throw new Error("The store gave no id to a feature");
      return { id, server, daemon, feature };
    },
    /** Answers how many readings were added, and of how many times the counts were known. */
    days(days: readonly FeatureDay[]): { readonly added: number; readonly known: number } {
      const reader = createReader(sqlite, { now });
      const written = days.map((one) => writeDay(reader, one));
      const sum = (name: "added" | "known") => written.reduce((all, one) => all + one[name], 0);
      return { added: sum("added"), known: sum("known") };
    },
    /**
     * The server was read in these times, which do not overlap. To be written last: what is not covered is not known,
     * so that an import that broke off is made again as a whole.
     */
    coverage(server: string, intervals: readonly Interval[]): void {
      for (const { from, until } of intervals) {
        let at = from;
        for (const other of covered.all(server, until, from)) {
          if (other.from > at) cover.run(server, at, other.from);
          at = Math.max(at, other.until);
        }
        if (at < until) cover.run(server, at, until);
      }
    },
  };
}

/**
 * Steps of a day with stretches where they know nothing. At the edges of coverage a step begins anew, because samples
 * hold within one coverage alone. `changed`: begins of the hours that have something new.
 */
export function laidUnder(
  before: readonly Step[],
  stretches: readonly Stretch[],
  edges: ReadonlySet<number>,
  end: number,
) {
  const start = before[0]?.at ?? end;
  const all = [
    ...before.map(({ at }) => at),
    ...stretches.flatMap(({ from, until }) => [from, until]),
    ...edges,
  ];
  const times = [...new Set(all.filter((at) => at >= start && at < end))].sort((a, b) => a - b);
  const steps: Step[] = [];
  const changed = new Set<number>();
  let [added, known, old, own] = [0, 0, 0, 0];
  for (const [index, at] of times.entries()) {
    while ((before[old + 1]?.at ?? end) <= at) old++;
    while ((stretches[own]?.until ?? end) <= at && own < stretches.length) own++;
    const held = before[old] ?? gapAt(at);
    const stretch = stretches[own];
    const isWithin = stretch !== undefined && stretch.from <= at;
    const isNew = isWithin && held.used === null;
    if (isWithin && stretch.isReading && stretch.from === at) isNew ? added++ : known++;
    const step = isNew ? { ...gapAt(at), used: stretch.used, total: stretch.total } : { ...held, at };
    const until = times[index + 1] ?? end;
    if (isNew) for (let hour = at - (at % HOUR_MS); hour < until; hour += HOUR_MS) changed.add(hour);
    const last = steps.at(-1);
    if (last === undefined || edges.has(at) || !sameCounts(last, step)) steps.push(step);
  }
  return { steps, added, known, changed: [...changed] };
}

/** Times that lie together, as ever fewer and longer intervals. */
export function createUnion() {
  const intervals: { from: number; until: number }[] = [];
  return {
    add(from: number, until: number): void {
      // The first that does not end before it.
      let [low, high] = [0, intervals.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if ((intervals[middle]?.until ?? 0) < from) low = middle + 1;
        else high = middle;
      }
      let behind = low;
      const joined = { from, until };
      for (let one = intervals[behind]; one !== undefined && one.from <= until; one = intervals[++behind]) {
        joined.from = Math.min(joined.from, one.from);
        joined.until = Math.max(joined.until, one.until);
      }
      if (behind - low === 1) Object.assign(intervals[low] ?? {}, joined);
      else intervals.splice(low, behind - low, joined);
    },
    intervals: intervals as readonly Interval[],
  };
}
