import { wallClock } from "../time/zone.ts";
import { dayEdges } from "./calendar.ts";
import { clip, type HeldSession, type Holding } from "./holding.ts";
import { seatHours } from "./rounding.ts";
import { firstWhere } from "./spans.ts";

export const USAGE_KEYS = ["user", "host", "feature", "daemon", "server", "day"] as const;
export type UsageKey = (typeof USAGE_KEYS)[number];
type NameKey = Exclude<UsageKey, "day">;

/** Who used what: one group of sessions (record `usage` of the contract). */
export interface UsageGroup {
  /**
   * One value a key: names, or `YYYY-MM-DD` for a day; null = a host that no tool printed. A feature has the keys of its
   * server and its daemon too, for its name alone is none.
   */
  readonly keys: Readonly<Partial<Record<UsageKey, string | null>>>;
  readonly heldSeatHours: number;
  /** Sessions that held seats in the range (in the day, for days). */
  readonly sessions: number;
  /** Most seats held at one moment. Seats given back at a moment are free at it. */
  readonly peakHeld: number;
  readonly uniqueUsers: number;
  /** Epoch ms: when seats were last held, at the latest the end of the range. */
  readonly lastUsedAt: number;
}

/** The names of a session that groups are made of. */
export type UsageNames = Readonly<Pick<HeldSession, NameKey>>;

/** What was held in one group, as numbers that add up, and the names of the group. */
export interface UsageSum extends Partial<UsageNames> {
  readonly seatMs: number;
  readonly sessions: number;
  /** Those of the sessions that did not hold their seats before. */
  readonly begun: number;
  /** Does not add up. */
  readonly peak: number;
  /** When seats were last held, epoch ms. */
  readonly lastAt: number;
}

/** Who held seats of a group. */
export interface UsageUsers extends Partial<UsageNames> {
  readonly users: readonly string[];
}

interface Group {
  /** As the latest session has them: hosts that differ in case are one. */
  names: Partial<UsageNames>;
  readonly day: number;
  seatMs: number;
  sessions: number;
  begun: number;
  peak: number;
  lastAt: number;
  /** Null where the user is one of the names. */
  readonly users: Set<string> | null;
  held: number;
  readonly running: RunningSeats;
}

/** The names by which groups differ: a feature is server, daemon and name. */
export function groupNames(by: readonly UsageKey[]): NameKey[] {
  const names = by.includes("feature") ? ["server", "daemon", ...by] : by;
  return [...new Set(names)].filter((key): key is NameKey => key !== "day");
}

export type Usage = ReturnType<typeof createUsage>;

/**
 * Groups sessions of a range, which is taken in by parts: part by part in the order of time, without a gap. `zone` is
 * that of the days.
 */
export function createUsage(by: readonly UsageKey[], start: number, end: number, zone: string) {
  const columns = groupNames(by);
  const byDay = by.includes("day");
  const days = byDay ? daysOf(start, end, zone) : [{ name: null, from: start, to: end }];
  const groupsOf = days.map(() => new Map<string, Group>());
  let lastDay = 0;

  /** A single name is its own key: millions of sessions are not joined to texts. */
  function keyOf(names: Partial<UsageNames>): string {
    const part = (column: NameKey) => (column === "host" ? names.host?.toLowerCase() : names[column]) ?? "\0";
    const [only] = columns;
    return columns.length === 1 && only !== undefined ? part(only) : columns.map(part).join("\0");
  }

  function groupOf(names: Partial<UsageNames>, day: number): Group {
    const key = keyOf(names);
    const known = groupsOf[day]?.get(key);
    if (known !== undefined) return known;
    const users = columns.includes("user") ? null : new Set<string>();
    const sums = { seatMs: 0, sessions: 0, begun: 0, peak: 0, lastAt: 0 };
    const group: Group = { names, day, ...sums, users, held: 0, running: [] };
    groupsOf[day]?.set(key, group);
    return group;
  }

  function note(group: Group, names: Partial<UsageNames>, lastAt: number): void {
    if (lastAt < group.lastAt) return;
    group.lastAt = lastAt;
    group.names = names;
  }

  function namesOf({ names }: Group): Partial<UsageNames> {
    return Object.fromEntries(columns.map((key) => [key, names[key] ?? null]));
  }

  const groups = () => groupsOf.flatMap((ofDay) => [...ofDay.values()]);

  /** The place of the day in which an instant lies: mostly that of the one before. */
  function dayOf(at: number): number {
    while (lastDay > 0 && at < (days[lastDay]?.from ?? 0)) lastDay--;
    while (lastDay < days.length - 1 && at >= (days[lastDay]?.to ?? 0)) lastDay++;
    return lastDay;
  }

  return {
    /**
     * A session of the part [from, to). Sessions come in the order in which their holding begins, where that is before
     * `from` in any order: then it is known at each of these moments which seats are held, and nothing is ever sorted.
     */
    add(session: UsageNames & Pick<HeldSession, "count">, holding: Holding, from: number, to: number): void {
      const part = clip(holding, from, to);
      if (part === null) return;
      for (let day = dayOf(part.from); day < days.length; day++) {
        const { from: dayFrom = 0, to: dayTo = 0 } = days[day] ?? {};
        const heldFrom = Math.max(part.from, dayFrom);
        const heldTo = Math.min(part.to, dayTo);
        // A session that never lasted is of the day of its moment.
        if (heldFrom > heldTo || (heldFrom === heldTo && (part.from < part.to || heldFrom === dayTo))) return;
        const group = groupOf(session, day);
        // What held seats before this part was counted in the part before, but not on the day that begins with it.
        if (holding.from >= from || heldFrom === dayFrom) group.sessions++;
        if (holding.from >= heldFrom) group.begun++;
        group.seatMs += session.count * (heldTo - heldFrom);
        // It cannot be laid over others either.
        if (heldFrom === heldTo) group.peak = Math.max(group.peak, session.count);
        else {
          group.held += take(group.running, heldFrom, heldTo, session.count);
          if (group.held > group.peak) group.peak = group.held;
        }
        group.users?.add(session.user);
        note(group, session, heldTo);
      }
    },
    /** The sum of a whole day, which begins at `dayAt`, by the names of a group. */
    addDay(dayAt: number, sum: UsageSum): void {
      const day = dayOf(dayAt);
      const group = groupOf(sum, day);
      group.seatMs += sum.seatMs;
      group.sessions += dayAt === days[day]?.from ? sum.sessions : sum.begun;
      group.peak = Math.max(group.peak, sum.peak);
      note(group, sum, sum.lastAt);
    },
    /** The users of a group who held seats on such a day. */
    addUsers(dayAt: number, names: UsageUsers): void {
      const known = groupsOf[dayOf(dayAt)]?.get(keyOf(names))?.users;
      for (const user of names.users) known?.add(user);
    },
    sums: (): UsageSum[] =>
      groups().map((group) => {
        const { seatMs, sessions, begun, peak, lastAt } = group;
        return { ...namesOf(group), seatMs, sessions, begun, peak, lastAt };
      }),
    groups: (): UsageGroup[] =>
      groups().map((group) => ({
        keys: {
          ...namesOf(group),
          ...(byDay && { day: days[group.day]?.name ?? null }),
        },
        heldSeatHours: seatHours(group.seatMs),
        sessions: group.sessions,
        peakHeld: group.peak,
        uniqueUsers: group.users?.size ?? 1,
        lastUsedAt: group.lastAt,
      })),
  };
}

/** Seats that are held: the ends and the counts in turn, the earliest end last. */
type RunningSeats = number[];

/**
 * Takes seats that are held from a moment on, none before that of the last call, to `to`. Answers by how many more are
 * held then.
 */
function take(running: RunningSeats, from: number, to: number, count: number): number {
  let more = count;
  while (running.length > 0 && (running.at(-2) ?? 0) <= from) {
    more -= running.pop() ?? 0;
    running.pop();
  }
  const place = firstWhere(running.length / 2, (each) => (running[2 * each] ?? 0) <= to);
  running.splice(2 * place, 0, to, count);
  return more;
}

interface Day {
  readonly name: string;
  readonly from: number;
  readonly to: number;
}

/** The days of the zone, the first and the last one cut to the range. */
function daysOf(start: number, end: number, zone: string): Day[] {
  const edges = dayEdges(start, end, zone);
  return edges.slice(0, -1).map((from, index) => ({
    name: new Date(wallClock(zone, from)).toISOString().slice(0, 10),
    from: Math.max(start, from),
    to: Math.min(end, edges[index + 1] ?? end),
  }));
}
