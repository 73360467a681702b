import type { Series, Step } from "../history.ts";
import { eachSpan, firstWhere } from "./spans.ts";

/**
 * What is added up of a feature's counts over a stretch of time. Sums of neighbouring stretches add up to that of
 * both, so steps and rollups feed the same sums. Times in ms.
 */
export interface UsageSums {
  /** Time in which `used` was known. */
  coveredMs: number;
  /** Seats in use × ms. */
  usedMs: number;
  /** Null while nothing is covered. */
  peakUsed: number | null;
  /** Covered time with a known total above 0: what utilization is measured over. */
  ratedMs: number;
  /** (used / total of that moment) × ms. */
  utilizationMs: number;
  /** Seats issued in the last covered moment; null when unlimited or unknown. */
  total: number | null;
  /** End of the last covered moment (epoch ms); null while nothing is covered. */
  coveredUntil: number | null;
}

export function emptySums(): UsageSums {
  return {
    coveredMs: 0,
    usedMs: 0,
    peakUsed: null,
    ratedMs: 0,
    utilizationMs: 0,
    total: null,
    coveredUntil: null,
  };
}

/** Adds the time [from, to) in which a step held. A gap adds nothing. */
export function addTime(sums: UsageSums, step: Step, from: number, to: number): void {
  const { used, total, unlimited } = step;
  const ms = to - from;
  if (used === null || ms <= 0) return;
  sums.coveredMs += ms;
  sums.usedMs += used * ms;
  if (sums.peakUsed === null || used > sums.peakUsed) sums.peakUsed = used;
  if (!unlimited && total !== null && total > 0) {
    sums.ratedMs += ms;
    sums.utilizationMs += (used / total) * ms;
  }
  noteTotal(sums, unlimited ? null : total, to);
}

/** Adds the sums of another stretch of time, e.g. of a rollup. */
export function addSums(sums: UsageSums, more: Readonly<UsageSums>): void {
  sums.coveredMs += more.coveredMs;
  sums.usedMs += more.usedMs;
  if (more.peakUsed !== null) sums.peakUsed = Math.max(sums.peakUsed ?? 0, more.peakUsed);
  sums.ratedMs += more.ratedMs;
  sums.utilizationMs += more.utilizationMs;
  if (more.coveredUntil !== null) noteTotal(sums, more.total, more.coveredUntil);
}

function noteTotal(sums: UsageSums, total: number | null, until: number): void {
  if (sums.coveredUntil !== null && until < sums.coveredUntil) return;
  sums.total = total;
  sums.coveredUntil = until;
}

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
  /** Null: they are not counted. */
  readonly denials: number | null;
}

/** The covered time in which `total` seats were issued. */
interface RollupGroup {
  readonly total: number | null;
  readonly unlimited: boolean;
  /** `[used, ms]`: for how long so many seats were in use; ascending by `used`, each `ms` above 0. */
  readonly levels: readonly Level[];
}

type Level = readonly [used: number, ms: number];

/** A rollup of the bucket that begins at `at` (epoch ms). */
export interface Bucket {
  readonly at: number;
  readonly rollup: Rollup;
}

export const NO_ROLLUP: Rollup = { groups: [], total: null, coveredUntil: null, users: [], denials: null };

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
    for (const [used, ms] of levels) {
      groupMs += ms;
      usedMs += used * ms;
    }
    sums.coveredMs += groupMs;
    sums.usedMs += usedMs;
    sums.peakUsed = Math.max(sums.peakUsed ?? 0, levels.at(-1)?.[0] ?? 0);
    if (unlimited || total === null || total === 0) continue;
    sums.ratedMs += groupMs;
    sums.utilizationMs += usedMs / total;
  }
  sums.total = rollup.total;
  sums.coveredUntil = rollup.coveredUntil;
  return sums;
}

/** Takes rollups, or steps, piece by piece, in any order. */
export interface RollupSink {
  /** So many ms in which `used` of `total` seats were in use. */
  level(total: number | null, unlimited: boolean, used: number, ms: number): void;
  /** Covered time ended at `until` (epoch ms), with so many seats issued. */
  covered(until: number, total: number | null): void;
  user(id: number): void;
  denials(count: number): void;
}

/** One can be used again and again. */
export interface RollupSum extends RollupSink {
  /** The rollup of all that came since the last call. */
  take(): Rollup;
}

interface SumGroup {
  readonly total: number | null;
  readonly unlimited: boolean;
  readonly levels: Map<number, number>;
}

export function createRollupSum(): RollupSum {
  let groups: SumGroup[] = [];
  let users = new Set<number>();
  let total: number | null = null;
  let coveredUntil: number | null = null;
  let denied: number | null = null;
  /** Totals hardly ever change: mostly it is the group at hand. */
  let current: SumGroup | undefined;

  return {
    level(issued, unlimited, used, ms) {
      if (current === undefined || current.total !== issued || current.unlimited !== unlimited) {
        current = groups.find((group) => group.total === issued && group.unlimited === unlimited);
        if (current === undefined) {
          current = { total: issued, unlimited, levels: new Map() };
          groups.push(current);
        }
      }
      current.levels.set(used, (current.levels.get(used) ?? 0) + ms);
    },
    covered(until, issued) {
      if (coveredUntil !== null && until <= coveredUntil) return;
      coveredUntil = until;
      total = issued;
    },
    user: (id) => void users.add(id),
    denials(count) {
      denied = (denied ?? 0) + count;
    },
    take() {
      const sum: Rollup = {
        groups: groups
          .map(({ total, unlimited, levels }) => ({
            total,
            unlimited,
            levels: [...levels].sort((a, b) => a[0] - b[0]),
          }))
          .sort((a, b) => (a.total ?? -1) - (b.total ?? -1) || Number(a.unlimited) - Number(b.unlimited)),
        total,
        coveredUntil,
        users: [...users].sort((a, b) => a - b),
        denials: denied,
      };
      groups = [];
      current = undefined;
      users = new Set();
      total = null;
      coveredUntil = null;
      denied = null;
      return sum;
    },
  };
}

export function addRollup(sink: RollupSink, rollup: Rollup): void {
  for (const { total, unlimited, levels } of rollup.groups)
    for (const [used, ms] of levels) sink.level(total, unlimited, used, ms);
  for (const user of rollup.users) sink.user(user);
  if (rollup.coveredUntil !== null) sink.covered(rollup.coveredUntil, rollup.total);
  if (rollup.denials !== null) sink.denials(rollup.denials);
}

/** Adds up rollups of different times. */
export function mergeRollups(list: readonly Rollup[]): Rollup {
  const sum = createRollupSum();
  for (const one of list) addRollup(sum, one);
  return sum.take();
}

/** Rolls up the part of a series that lies in [start, end). */
export function rollupOf(
  { steps, end: last }: Pick<Series, "steps" | "end">,
  start: number,
  end: number,
  { users, denials }: Pick<Rollup, "users" | "denials"> = NO_ROLLUP,
): Rollup {
  const sum = createRollupSum();
  const first = firstWhere(steps.length, (place) => (steps[place]?.at ?? 0) > start) - 1;
  const held = first > 0 ? steps.slice(first) : steps;
  eachSpan({ steps: held, start, end: Math.min(end, last) }, (step, from, to) => {
    if (step.used === null) return;
    const total = step.unlimited ? null : step.total;
    sum.level(total, step.unlimited, step.used, to - from);
    sum.covered(to, total);
  });
  return { ...sum.take(), users, denials };
}
