import { wallClock } from "../zone.ts";
import { dayEdges } from "./buckets.ts";
import { createPairPlaces } from "./pair-places.ts";
import { seatHours } from "./rounding.ts";
import { emptyColumns, type SessionColumns, type SessionRow } from "./session-columns.ts";
import { type Carried, NOBODY_CARRIED, stillRunning, timeAt } from "./usage-carried.ts";
import { createUserSets } from "./user-sets.ts";

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

/** What the ids of sessions stand for. Lists grow as ids are given. */
export interface UsageNames {
  /** Of each feature id: the ids of its server and of the name of its daemon. */
  readonly serverOf: readonly number[];
  readonly daemonOf: readonly number[];
  /** Hosts that differ in case are one, shown as the latest session has it. */
  hostOf(host: number): number;
  text(key: NameKey, id: number): string | null;
  /** Whether sessions of these ids are asked for. */
  wanted(feature: number, user: number, host: number): boolean;
  /** How many ids a key has, about. */
  count(key: NameKey): number;
}

/**
 * Groups sessions. They are handed in back through time, a stretch after the other: then at every moment it is known who
 * holds seats, each session and each day is looked at once, and nothing is ever sorted.
 */
export interface Usage {
  /** The sessions that ended in [low, what was handed in before), the latest stretch first. */
  add(sessions: SessionColumns, low: number): void;
  /** A session that never lasted, at its moment; at any time. */
  addMoment(session: SessionRow): void;
  /** To be asked once, at the end. */
  groups(): UsageGroup[];
}

interface Group {
  readonly index: number;
  /** Which of the groups without their days. */
  readonly other: number;
  /** Place in the days. */
  readonly day: number;
  running: number;
  /** Up to when, going back, `seatMs` is counted. */
  countedTo: number;
  seatMs: number;
  sessions: number;
  peak: number;
  firstUsedAt: number;
  lastUsedAt: number;
}

/** `zone` is that of the days. */
export function createUsage(
  by: readonly UsageKey[],
  names: UsageNames,
  start: number,
  end: number,
  zone: string,
): Usage {
  // Who names the feature has named its server and its daemon.
  const implied: readonly UsageKey[] = by.includes("feature") ? ["day", "daemon", "server"] : ["day"];
  const [first, second] = by.filter((key): key is NameKey => !implied.includes(key));
  const days = by.includes("day") ? daysOf(start, end, zone) : [{ name: null, from: start }];
  const pairs = createPairPlaces(countOf(first), countOf(second));
  const groups: Group[] = [];
  const users = by.includes("user") ? null : createUserSets(names.count("user"));
  const moments: SessionRow[] = [];
  /** By `other`: its group of the day at hand. */
  let now: (Group | undefined)[] = [];
  let day = days.length - 1;
  let dayFrom = days[day]?.from ?? start;
  let carried: Carried = NOBODY_CARRIED;
  let others = new Int32Array(0);

  function idOf(key: NameKey, feature: number, user: number, host: number): number {
    if (key === "user") return user;
    if (key === "host") return names.hostOf(host);
    if (key === "feature") return feature;
    return (key === "server" ? names.serverOf[feature] : names.daemonOf[feature]) ?? 0;
  }
  /** The group without its day; below 0 when nobody asks for it. */
  function otherOf(feature: number, user: number, host: number): number {
    if (!names.wanted(feature, user, host)) return -1;
    if (first === undefined) return 0;
    const one = idOf(first, feature, user, host);
    return second === undefined ? one : pairs.place(one, idOf(second, feature, user, host));
  }
  function made(other: number, of: number, at: number): Group {
    const group = {
      index: groups.length,
      other,
      day: of,
      running: 0,
      countedTo: at,
      seatMs: 0,
      sessions: 0,
      peak: 0,

      firstUsedAt: at,
      lastUsedAt: at,
    };
    groups.push(group);
    return group;
  }
  function countTo(group: Group, at: number): void {
    group.seatMs += group.running * (group.countedTo - at);
    group.countedTo = at;
  }
  /** Going back, a session begins with its end. */
  function enter(other: number, user: number, count: number, at: number): void {
    let group = now[other];
    if (group === undefined) {
      group = made(other, day, at);
      now[other] = group;
    }
    countTo(group, at);
    group.running += count;
    if (group.running > group.peak) group.peak = group.running;
    group.sessions++;
    users?.add(group.index, user);
  }
  function leave(other: number, count: number, at: number): void {
    const group = now[other];
    if (group === undefined) return;
    countTo(group, at);
    group.running -= count;
    group.firstUsedAt = at;
  }
  /** Ends the day at hand, going back: who holds seats held them in the day before too. */
  function closeDay(at: number): void {
    for (const group of now) {
      if (group === undefined || group.running === 0) continue;
      countTo(group, at);
      group.firstUsedAt = at;
    }
  }

  function add(sessions: SessionColumns, low: number): void {
    const { length, to, from, whose, feature, user, host, count } = sessions;
    if (others.length < length) others = new Int32Array(length * 2);
    for (let place = 0; place < length; place++)
      others[place] = otherOf(feature[place] ?? 0, user[place] ?? 0, host[place] ?? 0);
    const until = Math.max(low, start);
    let ended = 0;
    let begun = 0;
    let back = 0;
    const dayBefore = () => {
      const at = dayFrom;
      closeDay(at);
      now = [];
      day--;
      dayFrom = days[day]?.from ?? start;
      for (let place = begun; place < length; place++) {
        const of = whose[place] ?? 0;
        const other = others[of] ?? -1;
        if (of < ended && other >= 0) enter(other, user[of] ?? 0, count[of] ?? 0, at);
      }
      for (let place = back; place < carried.length; place++)
        enter(carried.other[place] ?? 0, carried.user[place] ?? 0, carried.count[place] ?? 0, at);
    };
    let nextEnd = timeAt(to, 0, length);
    let nextBegin = timeAt(from, 0, length);
    let nextBack = timeAt(carried.from, 0, carried.length);
    for (;;) {
      // Of one moment the begins first: seats given back at it are free at it.
      if (nextBegin >= nextEnd || nextBack >= nextEnd) {
        const at = Math.max(nextBegin, nextBack);
        if (at < until) break;
        while (at < dayFrom) dayBefore();
        if (nextBegin >= nextBack) {
          const of = whose[begun++] ?? 0;
          nextBegin = timeAt(from, begun, length);
          const other = others[of] ?? -1;
          if (other >= 0) leave(other, count[of] ?? 0, at);
        } else {
          leave(carried.other[back] ?? 0, carried.count[back] ?? 0, at);
          back++;
          nextBack = timeAt(carried.from, back, carried.length);
        }
      } else {
        if (nextEnd <= start) break;
        while (nextEnd <= dayFrom) dayBefore();
        const other = others[ended] ?? -1;
        if (other >= 0) enter(other, user[ended] ?? 0, count[ended] ?? 0, nextEnd);
        ended++;
        nextEnd = timeAt(to, ended, length);
      }
    }
    carried = stillRunning(sessions, others, { ended, begun }, carried, back);
  }

  return {
    add,
    addMoment(session) {
      if (session.from >= start && session.from < end) moments.push(session);
    },
    groups() {
      add(emptyColumns(0), start);
      // Who still holds seats held them when the range began, and on all days that are left.
      while (day > 0) {
        const at = dayFrom;
        closeDay(at);
        now = [];
        day--;
        dayFrom = days[day]?.from ?? start;
        for (let place = 0; place < carried.length; place++)
          enter(carried.other[place] ?? 0, carried.user[place] ?? 0, carried.count[place] ?? 0, at);
      }
      closeDay(start);
      addMoments();
      return groups
        .toSorted((a, b) => a.firstUsedAt - b.firstUsedAt || b.index - a.index)
        .map((group) => ({
          keys: keysOf(group),
          heldSeatHours: seatHours(group.seatMs),
          sessions: group.sessions,
          peakHeld: group.peak,
          uniqueUsers: users === null ? 1 : users.size(group.index),
          lastUsedAt: group.lastUsedAt,
        }));
    },
  };

  function addMoments(): void {
    if (moments.length === 0) return;
    const known = new Map(groups.map((group) => [`${group.day} ${group.other}`, group]));
    for (const { from: at, feature, user, host, count } of moments) {
      const other = otherOf(feature, user, host);
      if (other < 0) continue;
      const of = days.findLastIndex(({ from }) => from <= at);
      const key = `${of} ${other}`;
      const group = known.get(key) ?? made(other, of, at);
      known.set(key, group);
      group.sessions++;
      group.peak = Math.max(group.peak, count);
      group.firstUsedAt = Math.min(group.firstUsedAt, at);
      group.lastUsedAt = Math.max(group.lastUsedAt, at);
      users?.add(group.index, user);
    }
  }

  function countOf(key: NameKey | undefined): number {
    return key === undefined || second === undefined ? 0 : names.count(key);
  }

  function keysOf({ other, day }: Group): UsageGroup["keys"] {
    const [one, two] = second === undefined ? [other] : pairs.pair(other);
    const keys: Partial<Record<UsageKey, string | null>> = {};
    if (by.includes("day")) keys.day = days[day]?.name ?? null;
    for (const [key, id = 0] of [[first, one] as const, [second, two] as const]) {
      if (key === undefined) continue;
      if (key === "feature") {
        keys.server = names.text("server", names.serverOf[id] ?? 0);
        keys.daemon = names.text("daemon", names.daemonOf[id] ?? 0);
      }
      keys[key] = names.text(key, id);
    }
    return keys;
  }
}

interface Day {
  readonly name: string | null;
  readonly from: number;
}

/** The days of the zone, the first one cut to the range. */
function daysOf(start: number, end: number, zone: string): Day[] {
  return dayEdges(start, end, zone)
    .slice(0, -1)
    .map((from) => ({
      name: new Date(wallClock(zone, from)).toISOString().slice(0, 10),
      from: Math.max(start, from),
    }));
}
