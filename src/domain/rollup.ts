import type { Series } from "./history.ts";
import { eachSpan } from "./stats/spans.ts";
import { emptySums, type UsageSums } from "./stats/usage-sums.ts";

/**
 * A feature's counts over a bucket of time, in a form that adds up. Peaks, percentiles, utilization and the share of
 * time in which the k-th seat was busy do not follow from those of smaller buckets; the time at each level does.
 * Whole numbers alone, so that the order of adding changes nothing.
 */
export interface Rollup {
  /** One for each total that was in force; ascending by total, what has none first. */
  readonly groups: readonly RollupGroup[];
  /** Seats issued in the last covered moment; null when unlimited or unknown, or when nothing is covered. */
  readonly total: number | null;
  /** End of the last covered moment (epoch ms); null when nothing is covered. */
  readonly coveredUntil: number | null;
  /** Small ids of the users who had a session in the bucket, ascending. */
  readonly users: readonly number[];
  /** Null: nobody counts them. */
  readonly denials: number | null;
}

/** The covered time in which `total` seats were issued. */
export interface RollupGroup {
  readonly total: number | null;
  readonly unlimited: boolean;
  /** `[used, ms]`: for how long so many seats were in use; ascending by `used`, each `ms` above 0. */
  readonly levels: readonly Level[];
}

export type Level = readonly [used: number, ms: number];

/** A rollup of the bucket that begins at `at` (epoch ms). */
export interface Bucket {
  readonly at: number;
  readonly rollup: Rollup;
}

export const NO_ROLLUP: Rollup = { groups: [], total: null, coveredUntil: null, users: [], denials: null };

/** Rolls up the part of a series that lies in [start, end). */
export function rollupOf(
  { steps, end: last }: Pick<Series, "steps" | "end">,
  start: number,
  end: number,
  { users, denials }: Pick<Rollup, "users" | "denials"> = NO_ROLLUP,
): Rollup {
  const groups = createGroups();
  let total: number | null = null;
  let coveredUntil: number | null = null;
  eachSpan({ steps: stepsFrom(steps, start), start, end: Math.min(end, last) }, (step, from, to) => {
    if (step.used === null) return;
    groups.add(step.unlimited ? null : step.total, step.unlimited, step.used, to - from);
    total = step.unlimited ? null : step.total;
    coveredUntil = to;
  });
  return { groups: groups.list(), total, coveredUntil, users, denials };
}

/** Adds up rollups of different times. */
export function mergeRollups(list: readonly Rollup[]): Rollup {
  const [only] = list;
  if (list.length === 1 && only !== undefined) return only;
  const groups = createGroups();
  const users = new Set<number>();
  let total: number | null = null;
  let coveredUntil: number | null = null;
  let denials: number | null = null;
  for (const one of list) {
    for (const group of one.groups) {
      for (const [used, ms] of group.levels) groups.add(group.total, group.unlimited, used, ms);
    }
    for (const user of one.users) users.add(user);
    if (one.coveredUntil !== null && (coveredUntil === null || one.coveredUntil > coveredUntil)) {
      ({ total, coveredUntil } = one);
    }
    if (one.denials !== null) denials = (denials ?? 0) + one.denials;
  }
  return { groups: groups.list(), total, coveredUntil, users: [...users].sort(ascending), denials };
}

/** For how long `used` was known, in ms. */
export function coveredMs({ groups }: Pick<Rollup, "groups">): number {
  let sum = 0;
  for (const { levels } of groups) for (const [, ms] of levels) sum += ms;
  return sum;
}

/** The sums of a rollup, as steps give them. */
export function sumsOfRollup(rollup: Rollup): UsageSums {
  const sums = emptySums();
  for (const { total, unlimited, levels } of rollup.groups) {
    let groupMs = 0;
    let usedMs = 0;
    let peak = 0;
    for (const [used, ms] of levels) {
      groupMs += ms;
      usedMs += used * ms;
      peak = used;
      if (total !== null && total > 0 && used >= total) sums.saturatedMs += ms;
    }
    sums.coveredMs += groupMs;
    sums.usedMs += usedMs;
    sums.peakUsed = Math.max(sums.peakUsed ?? 0, peak);
    if (unlimited) sums.judgedMs += groupMs;
    if (unlimited || total === null || total === 0) continue;
    sums.ratedMs += groupMs;
    sums.judgedMs += groupMs;
    sums.utilizationMs += usedMs / total;
    sums.peakUtilization = Math.max(sums.peakUtilization ?? 0, peak / total);
  }
  sums.total = rollup.total;
  sums.coveredUntil = rollup.coveredUntil;
  return sums;
}

/** How long each number of seats was in use, whatever the total was. */
export function histogramOfRollup({ groups }: Pick<Rollup, "groups">): Map<number, number> {
  const histogram = new Map<number, number>();
  for (const { levels } of groups) {
    for (const [used, ms] of levels) histogram.set(used, (histogram.get(used) ?? 0) + ms);
  }
  return histogram;
}

interface Groups {
  add(total: number | null, unlimited: boolean, used: number, ms: number): void;
  list(): RollupGroup[];
}

function createGroups(): Groups {
  const groups: { total: number | null; unlimited: boolean; levels: Map<number, number> }[] = [];
  let current = groups[0];
  return {
    add(total, unlimited, used, ms) {
      if (current === undefined || current.total !== total || current.unlimited !== unlimited) {
        current = groups.find((group) => group.total === total && group.unlimited === unlimited);
        if (current === undefined) {
          current = { total, unlimited, levels: new Map() };
          groups.push(current);
        }
      }
      const { levels } = current;
      levels.set(used, (levels.get(used) ?? 0) + ms);
    },
    list: () =>
      groups
        .map(({ total, unlimited, levels }) => ({
          total,
          unlimited,
          levels: levels.size < 2 ? [...levels] : [...levels].sort((a, b) => a[0] - b[0]),
        }))
        .sort((a, b) => (a.total ?? -1) - (b.total ?? -1) || Number(a.unlimited) - Number(b.unlimited)),
  };
}

/** The steps from the one that holds at an instant on. */
function stepsFrom(steps: Series["steps"], at: number): Series["steps"] {
  let low = 0;
  let high = steps.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((steps[middle]?.at ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  return low <= 1 ? steps : steps.slice(low - 1);
}

function ascending(a: number, b: number): number {
  return a - b;
}
