import type { Series, Step } from "../domain/history.ts";
import type { Gaps, Holding } from "../domain/stats/held-seats.ts";
import { DAY_MS } from "../domain/time/clock.ts";
import type { Rows } from "../store/conditions.ts";
import { type DirtyKind, dayOf, type KnownFeature, packedKey } from "./buckets.ts";
import { samplesOfDay } from "./codec.ts";
import { oncePerRange } from "./feature-counts.ts";

export interface Interval {
  readonly from: number;
  readonly until: number;
}

/**
 * Combines samples and coverage of [start, end) into steps. The first step is at `start`, gaps are steps,
 * too, and no two neighbors are equal. A sample holds only within the coverage in which it was taken; each
 * coverage begins with one sample per feature read. Both inputs are ascending, and intervals do not
 * overlap.
 */
export function stepsOf(
  samples: readonly Step[],
  coverage: readonly Interval[],
  start: number,
  end: number,
): Step[] {
  const steps: Step[] = [];
  const push = (step: Step) => {
    const last = steps.at(-1);
    if (last !== undefined && last.at === step.at) steps.pop();
    const before = steps.at(-1);
    if (before === undefined || !sameCounts(before, step)) steps.push(step);
  };
  if (start >= end) return steps;
  push(gapAt(start));
  let index = 0;
  for (const { from, until } of coverage) {
    const low = Math.max(from, start);
    const high = Math.min(until, end);
    if (low >= high) continue;
    let held: Step | null = null;
    for (; ; index++) {
      const sample = samples[index];
      if (sample === undefined || sample.at > low) break;
      if (sample.at >= from) held = sample;
    }
    push(held === null || held.used === null ? gapAt(low) : { ...held, at: low });
    for (; ; index++) {
      const sample = samples[index];
      if (sample === undefined || sample.at >= high) break;
      push(sample.used === null ? gapAt(sample.at) : sample);
    }
    if (until < end) push(gapAt(until));
  }
  return steps;
}

export function gapAt(at: number): Step {
  return { at, total: null, used: null, reserved: null, queued: null, unlimited: false };
}

export function sameCounts(a: Step, b: Step): boolean {
  return (
    a.used === b.used &&
    a.total === b.total &&
    a.reserved === b.reserved &&
    a.queued === b.queued &&
    a.unlimited === b.unlimited
  );
}

type Unsettled = ReturnType<typeof createUnsettled>;

/** Finds hours and days whose stored rollups are not final. */
export function createUnsettled({ all }: Rows) {
  const of = (kind: DirtyKind) =>
    oncePerRange((start, end): ReadonlySet<number> => {
      const sql = "SELECT at FROM dirty WHERE kind = ? AND at >= ? AND at < ? ORDER BY at";
      return new Set(all<{ at: number }>(sql, kind, start, end).map(({ at }) => at));
    });
  return { hours: of("hours"), days: of("rollups") };
}

interface SampleRow extends Omit<Step, "unlimited"> {
  readonly unlimited: number;
}

export function createSampleReader({ all }: Rows, open: Unsettled, now: number) {
  const coverages = new Map<string, Interval[]>();

  const coverage = (serverId: string, start: number, end: number): Interval[] =>
    coverages.getOrInsertComputed(`${start} ${end} ${serverId}`, () =>
      // Intervals do not overlap, so the search can begin at the last one that begins before the start.
      all<Interval>(
        `SELECT from_at AS "from", min(until_at, ?4) AS until FROM coverage WHERE server_id = ?1 AND from_at < ?3
           AND from_at >= ifnull((SELECT max(from_at) FROM coverage WHERE server_id = ?1 AND from_at <= ?2), ?2)
           AND until_at > ?2 ORDER BY from_at`,
        serverId,
        start,
        end,
        now,
      ),
    );

  let known: Gaps | null = null;
  /**
   * Returns gaps in the reading of servers. The time between another monitor's counts and licmond's first
   * reading is not a gap: only logs show who held seats then.
   */
  function gaps(): Gaps {
    known ??= gapsOf(
      all(
        `SELECT server, "from", "to" FROM (
           SELECT server_id AS server, until_at AS "from", ifnull(lead(from_at) OVER own, 9e15) AS "to",
             max(looks IS NULL OR looks > 0) OVER own AS isOwn
           FROM coverage WINDOW own AS (PARTITION BY server_id ORDER BY from_at))
         WHERE isOwn AND "to" > "from" ORDER BY server, "from"`,
      ),
    );
    return known;
  }

  function unpacked(feature: KnownFeature, day: number): Step[] {
    const key = packedKey("samples", day, feature.id);
    const rows = all<{ data: Uint8Array }>("SELECT data FROM packed_days WHERE key = ?", key);
    return rows.flatMap(({ data }) => samplesOfDay(day * DAY_MS, data));
  }

  /** Includes the last sample before the range. */
  function samples(
    feature: KnownFeature,
    start: number,
    end: number,
    intervals: readonly Interval[],
  ): readonly Step[] {
    const first = intervals.find(({ until }) => until > start);
    if (first === undefined) return [];
    // A packed day begins with the state at its start. If the first hour of the day is not packed yet, that
    // state is in the day before.
    const isOpen = (day: number) => open.hours(day * DAY_MS, day * DAY_MS + 1).size > 0;
    let day = dayOf(start);
    while (isOpen(day) && day > dayOf(first.from)) day--;
    const packed: Step[][] = [];
    for (; day * DAY_MS < end; day++) packed.push(unpacked(feature, day));
    const loose = all<SampleRow>(
      "SELECT at, total, used, reserved, queued, unlimited FROM samples WHERE feature_id = ? AND at < ? ORDER BY at",
      feature.id,
      end,
    ).map(({ unlimited, ...counts }): Step => ({ ...counts, unlimited: unlimited === 1 }));
    return inOrder(packed.flat(), loose);
  }

  return {
    coverage,
    gaps,
    samples,
    series(feature: KnownFeature, start: number, end: number): Series {
      const intervals = coverage(feature.server, start, end);
      const steps = stepsOf(samples(feature, start, end, intervals), intervals, start, end);
      return { feature, start, end, steps };
    },
  };
}

export function gapsOf(rows: readonly (Holding & { readonly server: string })[]): Gaps {
  return Map.groupBy(rows, ({ server }) => server);
}

/** For equal times, the second list wins. */
function inOrder(a: readonly Step[], b: readonly Step[]): readonly Step[] {
  if (b.length === 0) return a;
  const byTime = new Map([...a, ...b].map((one) => [one.at, one]));
  return [...byTime.values()].sort((one, other) => one.at - other.at);
}
