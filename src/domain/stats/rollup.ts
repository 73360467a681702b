import type { Series, Step } from "../history.ts";
import { eachSpan, firstWhere } from "./spans.ts";

/**
 * Sums of a feature's counts over a span. Sums of adjacent spans add up, so steps and rollups feed the same
 * sums. Times in ms.
 */
export interface UsageSums {
  coveredMs: number;
  usedMs: number;
  peakUsed: number | null;
  /** Covered time with a known total above 0, the base of utilization. */
  ratedMs: number;
  /** Sum of used / total × ms, with the counts of each moment. */
  utilizationMs: number;
  /** Number of seats issued in the last covered moment; null if unlimited or unknown. */
  total: number | null;
  /** End of the last covered time, epoch ms; null without coverage. */
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

/** Adds the time [from, to) in which a step holds. A gap adds nothing. */
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
 * A feature's counts over a time bucket, in a form that can be added: the time at each level. Peaks,
 * percentiles, utilization and the busy time of the k-th seat are computed from the sum, because they
 * cannot be derived from those of smaller buckets. All numbers are integers, so the order of adding does
 * not matter.
 */
export interface Rollup {
  /** One group per total in force, ascending by total; the group without a total comes first. */
  readonly groups: readonly RollupGroup[];
  readonly total: number | null;
  readonly coveredUntil: number | null;
  /** Small ids of the users who had a session in the bucket, ascending. */
  readonly users: readonly number[];
  readonly denials: number | null;
}

/** Covered time in which `total` seats were issued. */
interface RollupGroup {
  readonly total: number | null;
  readonly unlimited: boolean;
  /** `[used, ms]`: how long each number of seats was in use; ascending by `used`, each `ms` above 0. */
  readonly levels: readonly Level[];
}

type Level = readonly [used: number, ms: number];

export interface Bucket {
  readonly at: number;
  readonly rollup: Rollup;
}

export const NO_ROLLUP: Rollup = { groups: [], total: null, coveredUntil: null, users: [], denials: null };

export function coveredMs({ groups }: Pick<Rollup, "groups">): number {
  let sum = 0;
  for (const { levels } of groups) for (const [, ms] of levels) sum += ms;
  return sum;
}

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

export interface RollupSink {
  level(total: number | null, unlimited: boolean, used: number, ms: number): void;
  /** Notes that covered time ended at `until` (epoch ms) with this total. */
  covered(until: number, total: number | null): void;
  user(id: number): void;
  denials(count: number): void;
}

export interface RollupSum extends RollupSink {
  take(): Rollup;
}

interface SumGroup {
  readonly total: number | null;
  readonly unlimited: boolean;
  readonly levels: Map<number, number>;
}

export function createRollupSum(): RollupSum {
  const fresh = () => ({
    groups: [] as SumGroup[],
    users: new Set<number>(),
    total: null as number | null,
    coveredUntil: null as number | null,
    denials: null as number | null,
  });
  let sum = fresh();
  /** Totals rarely change, so this is mostly the right group. */
  let current: SumGroup | undefined;

  return {
    level(issued, unlimited, used, ms) {
      if (current === undefined || current.total !== issued || current.unlimited !== unlimited) {
        current = sum.groups.find((group) => group.total === issued && group.unlimited === unlimited);
        if (current === undefined) {
          current = { total: issued, unlimited, levels: new Map() };
          sum.groups.push(current);
        }
      }
      current.levels.set(used, (current.levels.get(used) ?? 0) + ms);
    },
    covered(until, issued) {
      if (sum.coveredUntil !== null && until <= sum.coveredUntil) return;
      sum.coveredUntil = until;
      sum.total = issued;
    },
    user: (id) => void sum.users.add(id),
    denials(count) {
      sum.denials = (sum.denials ?? 0) + count;
    },
    take() {
      const { groups, users, ...last } = sum;
      sum = fresh();
      current = undefined;
      return {
        ...last,
        groups: groups
          .map(({ total, unlimited, levels }) => ({
            total,
            unlimited,
            levels: [...levels].sort((a, b) => a[0] - b[0]),
          }))
          .sort((a, b) => (a.total ?? -1) - (b.total ?? -1) || Number(a.unlimited) - Number(b.unlimited)),
        users: [...users].sort((a, b) => a - b),
      };
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

export function mergeRollups(list: readonly Rollup[]): Rollup {
  const sum = createRollupSum();
  for (const one of list) addRollup(sum, one);
  return sum.take();
}

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
