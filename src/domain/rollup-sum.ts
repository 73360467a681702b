import type { Series } from "./history.ts";
import { type Level, NO_ROLLUP, type Rollup, type RollupGroup } from "./rollup.ts";
import { eachSpan } from "./stats/spans.ts";

/** What rollups, or steps, add up to: fed piece by piece, in any order. One can be used again and again. */
export interface RollupSum {
  /** So many ms in which `used` of `total` seats were in use. */
  level(total: number | null, unlimited: boolean, used: number, ms: number): void;
  /** Covered time ended at `until` (epoch ms), with so many seats issued. */
  covered(until: number, total: number | null): void;
  user(id: number): void;
  denials(count: number): void;
  add(rollup: Rollup): void;
  /** The rollup of all that came since the last call. */
  take(): Rollup;
}

/** Levels and users of smaller numbers stand in arrays; larger ones, which hardly any site has, in maps. */
const DENSE_LEVELS = 1 << 14;
const DENSE_USERS = 1 << 22;

export function createRollupSum(): RollupSum {
  const groups = createGroups();
  const users = createUsers();
  let total: number | null = null;
  let coveredUntil: number | null = null;
  let denied: number | null = null;

  function covered(until: number, issued: number | null): void {
    if (coveredUntil !== null && until <= coveredUntil) return;
    coveredUntil = until;
    total = issued;
  }
  function denials(count: number): void {
    denied = (denied ?? 0) + count;
  }

  return {
    level: groups.add,
    covered,
    user: users.add,
    denials,
    add(rollup) {
      for (const group of rollup.groups) {
        for (const [used, ms] of group.levels) groups.add(group.total, group.unlimited, used, ms);
      }
      for (const user of rollup.users) users.add(user);
      if (rollup.coveredUntil !== null) covered(rollup.coveredUntil, rollup.total);
      if (rollup.denials !== null) denials(rollup.denials);
    },
    take() {
      const sum = { groups: groups.take(), total, coveredUntil, users: users.take(), denials: denied };
      total = null;
      coveredUntil = null;
      denied = null;
      return sum;
    },
  };
}

/** Adds up rollups of different times. */
export function mergeRollups(list: readonly Rollup[]): Rollup {
  const [only] = list;
  if (list.length === 1 && only !== undefined) return only;
  const sum = createRollupSum();
  for (const one of list) sum.add(one);
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
  eachSpan({ steps: stepsFrom(steps, start), start, end: Math.min(end, last) }, (step, from, to) => {
    if (step.used === null) return;
    const total = step.unlimited ? null : step.total;
    sum.level(total, step.unlimited, step.used, to - from);
    sum.covered(to, total);
  });
  return { ...sum.take(), users, denials };
}

interface Group {
  readonly total: number | null;
  readonly unlimited: boolean;
  /** ms by level. */
  dense: Float64Array;
  /** Behind the highest level in `dense`. */
  top: number;
  readonly sparse: Map<number, number>;
}

function createGroups() {
  const groups: Group[] = [];
  let current: Group | undefined;

  /** Totals hardly ever change: mostly it is the group at hand. */
  function select(total: number | null, unlimited: boolean): Group {
    let found = groups.find((group) => group.total === total && group.unlimited === unlimited);
    if (found === undefined) {
      found = { total, unlimited, dense: new Float64Array(64), top: 0, sparse: new Map() };
      groups.push(found);
    }
    current = found;
    return found;
  }

  return {
    add(total: number | null, unlimited: boolean, used: number, ms: number): void {
      const group =
        current !== undefined && current.total === total && current.unlimited === unlimited
          ? current
          : select(total, unlimited);
      if (used >= DENSE_LEVELS) {
        group.sparse.set(used, (group.sparse.get(used) ?? 0) + ms);
        return;
      }
      if (used >= group.dense.length) {
        const wider = new Float64Array(Math.max(used + 1, 2 * group.dense.length));
        wider.set(group.dense);
        group.dense = wider;
      }
      group.dense[used] = (group.dense[used] ?? 0) + ms;
      if (used >= group.top) group.top = used + 1;
    },
    take(): RollupGroup[] {
      const list = groups.map(({ total, unlimited, dense, top, sparse }): RollupGroup => {
        const levels: Level[] = [];
        for (let used = 0; used < top; used++) {
          const ms = dense[used] ?? 0;
          if (ms > 0) levels.push([used, ms]);
        }
        if (sparse.size > 0) levels.push(...[...sparse].sort((a, b) => a[0] - b[0]));
        return { total, unlimited, levels };
      });
      groups.length = 0;
      current = undefined;
      if (list.length < 2) return list;
      return list.sort(
        (a, b) => (a.total ?? -1) - (b.total ?? -1) || Number(a.unlimited) - Number(b.unlimited),
      );
    },
  };
}

function createUsers() {
  /** A bit for each id. */
  let bits = new Uint32Array(32);
  let lowest = Number.POSITIVE_INFINITY;
  let highest = -1;
  const others = new Set<number>();

  function widen(words: number): void {
    const wider = new Uint32Array(Math.max(words, 2 * bits.length));
    wider.set(bits);
    bits = wider;
  }

  return {
    add(id: number): void {
      if (id >= DENSE_USERS) {
        others.add(id);
        return;
      }
      const word = id >>> 5;
      if (word >= bits.length) widen(word + 1);
      bits[word] = (bits[word] ?? 0) | (1 << (id & 31));
      if (word < lowest) lowest = word;
      if (word > highest) highest = word;
    },
    take(): number[] {
      const list: number[] = [];
      for (let word = lowest; word <= highest; word++) {
        let rest = bits[word] ?? 0;
        while (rest !== 0) {
          const bit = 31 - Math.clz32(rest & -rest);
          list.push(word * 32 + bit);
          rest &= rest - 1;
        }
        bits[word] = 0;
      }
      lowest = Number.POSITIVE_INFINITY;
      highest = -1;
      if (others.size > 0) {
        list.push(...[...others].sort((a, b) => a - b));
        others.clear();
      }
      return list;
    },
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
