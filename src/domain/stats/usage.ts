import { offsetAt } from "../zone.ts";
import { dayEdges } from "./buckets.ts";
import { createHeldSeats, type HeldSeats } from "./concurrency.ts";
import { clip, type HeldSession, type Holding } from "./holding.ts";
import { seatHours } from "./rounding.ts";

export const USAGE_KEYS = ["user", "host", "feature", "server", "day"] as const;
export type UsageKey = (typeof USAGE_KEYS)[number];

/** Who used what: one group of sessions (record `usage` of the contract). */
export interface UsageGroup {
  /** One value a key, in the order asked for: names, or `YYYY-MM-DD` for a day; null = a host that no tool told. */
  readonly keys: readonly (string | null)[];
  readonly seatHours: number;
  /** Sessions that held seats in the range (in the day, for days). */
  readonly sessions: number;
  /** Most seats held at one moment. */
  readonly peakUsed: number;
  readonly uniqueUsers: number;
  /** Epoch ms: when seats were last held, at the latest the end of the range. */
  readonly lastUsedAt: number;
}

/** Groups sessions that are handed in one by one. */
export interface Usage {
  add(session: HeldSession, holding: Holding): void;
  groups(): UsageGroup[];
}

interface Group {
  readonly keys: readonly (string | null)[];
  seatMs: number;
  sessions: number;
  lastUsedAt: number;
  readonly users: Set<string>;
  readonly held: HeldSeats;
}

/** `zone` is that of the days. Hosts that differ in case are one. */
export function createUsage(by: readonly UsageKey[], start: number, end: number, zone: string): Usage {
  const groups = new Map<string, Group>();
  const days = by.includes("day") ? daysOf(start, end, zone) : [{ name: null, from: start, to: end }];

  function groupOf(session: HeldSession, day: string | null): Group {
    const keys = by.map((key) => {
      if (key === "day") return day;
      // Hosts differ in case only between lines of one client.
      return key === "host" ? (session.host?.toLowerCase() ?? null) : session[key];
    });
    const id = JSON.stringify(keys);
    let group = groups.get(id);
    if (group === undefined) {
      group = { keys, seatMs: 0, sessions: 0, lastUsedAt: 0, users: new Set(), held: createHeldSeats() };
      groups.set(id, group);
    }
    return group;
  }

  return {
    add(session, holding) {
      for (let index = firstDay(days, holding.from); index < days.length; index++) {
        const day = days[index];
        if (day === undefined || (day.from > holding.from && day.from >= holding.to)) return;
        const part = clip(holding, day.from, day.to);
        if (part === null) continue;
        const group = groupOf(session, day.name);
        group.seatMs += session.count * (part.to - part.from);
        group.sessions++;
        group.lastUsedAt = Math.max(group.lastUsedAt, part.to);
        group.users.add(session.user);
        group.held.add(part, session.count);
      }
    },
    groups: () =>
      [...groups.values()].map(({ keys, seatMs, sessions, lastUsedAt, users, held }) => ({
        keys,
        seatHours: seatHours(seatMs),
        sessions,
        peakUsed: held.peak(),
        uniqueUsers: users.size,
        lastUsedAt,
      })),
  };
}

interface Day {
  readonly name: string | null;
  readonly from: number;
  readonly to: number;
}

/** The days of the zone, cut to the range. */
function daysOf(start: number, end: number, zone: string): Day[] {
  const edges = dayEdges(start, end, zone);
  return edges.slice(0, -1).map((from, index) => ({
    name: new Date(from + offsetAt(zone, from)).toISOString().slice(0, 10),
    from: Math.max(start, from),
    to: Math.min(end, edges[index + 1] ?? end),
  }));
}

/** The first day that ends after `at`. */
function firstDay(days: readonly Day[], at: number): number {
  let low = 0;
  let high = days.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((days[middle]?.to ?? Infinity) <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}
