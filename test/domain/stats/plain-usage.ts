import { dayEdges } from "../../../src/domain/stats/calendar.ts";
import { seatHours } from "../../../src/domain/stats/figures.ts";
import { clip, type HeldSession, type Holding } from "../../../src/domain/stats/held-seats.ts";
import type { UsageGroup, UsageKey } from "../../../src/domain/stats/usage.ts";
import { offsetAt } from "../../../src/domain/time/zone.ts";

/** Computes usage in a second way: it groups each session separately and looks at each moment. */

interface Group {
  readonly keys: UsageGroup["keys"];
  seatMs: number;
  sessions: number;
  lastUsedAt: number;
  readonly users: Set<string>;
  readonly parts: (Holding & { readonly count: number })[];
}

/** `zone` is the zone of the days. `gaps` are uncounted times by server. */
export function createPlainUsage(
  by: readonly UsageKey[],
  start: number,
  end: number,
  zone: string,
  gaps: Readonly<Record<string, readonly Holding[]>> = {},
) {
  const groups = new Map<string, Group>();
  const days = by.includes("day") ? daysOf(start, end, zone) : [{ name: null, from: start, to: end }];

  function groupOf(session: HeldSession, day: string | null): Group {
    const { server, daemon, feature } = session;
    const keys = Object.assign(
      {},
      ...by.map((key) => {
        if (key === "day") return { day };
        if (key === "feature") return { server, daemon, feature };
        return { [key]: session[key as "user" | "host" | "daemon" | "server"] };
      }),
    ) as UsageGroup["keys"];
    const id = JSON.stringify(
      sorted({ ...keys, ...(keys.host != null && { host: keys.host.toLowerCase() }) }),
    );
    let group = groups.get(id);
    if (group === undefined) {
      group = { keys, seatMs: 0, sessions: 0, lastUsedAt: 0, users: new Set(), parts: [] };
      groups.set(id, group);
    }
    return group;
  }

  return {
    add(session: HeldSession, holding: Holding): void {
      for (const day of days) {
        const part = clip(holding, day.from, day.to);
        if (part === null) continue;
        const group = groupOf(session, day.name);
        const unread = (gaps[session.server] ?? []).map((gap) => clip(gap, part.from, part.to));
        const unreadMs = unread.reduce((sum, gap) => sum + (gap === null ? 0 : gap.to - gap.from), 0);
        group.seatMs += session.count * (part.to - part.from - unreadMs);
        group.sessions++;
        group.lastUsedAt = Math.max(group.lastUsedAt, part.to);
        if (session.user !== null) group.users.add(session.user);
        group.parts.push({ ...part, count: session.count });
      }
    },
    groups: (): UsageGroup[] =>
      [...groups.values()].map(({ keys, seatMs, sessions, lastUsedAt, users, parts }) => ({
        keys,
        heldSeatHours: seatHours(seatMs),
        sessions,
        peakHeld: peakOf(parts),
        uniqueUsers: users.size,
        lastUsedAt,
      })),
  };
}

function sorted(keys: UsageGroup["keys"]) {
  return Object.entries(keys).sort(([a], [b]) => (a < b ? -1 : 1));
}

/**
 * Groups by their keys in any order. Hosts are in lower case, because the two ways see their spellings in
 * different orders.
 */
export function byKeys(groups: readonly UsageGroup[]): Map<string, Omit<UsageGroup, "keys">> {
  return new Map(
    groups
      .map(({ keys, heldSeatHours, sessions, peakHeld, uniqueUsers, lastUsedAt }) => {
        const figures = { heldSeatHours, sessions, peakHeld, uniqueUsers, lastUsedAt };
        const host = keys.host == null ? {} : { host: keys.host.toLowerCase() };
        return [JSON.stringify(sorted({ ...keys, ...host })), figures] as const;
      })
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

interface Day {
  readonly name: string | null;
  readonly from: number;
  readonly to: number;
}

function daysOf(start: number, end: number, zone: string): Day[] {
  const edges = dayEdges(start, end, zone);
  return edges.slice(0, -1).map((from, index) => ({
    name: new Date(from + offsetAt(zone, from)).toISOString().slice(0, 10),
    from: Math.max(start, from),
    to: Math.min(end, edges[index + 1] ?? end),
  }));
}

/** Returns the most seats held at the begin of any part. A seat returned at that moment counts as free. */
function peakOf(parts: readonly (Holding & { readonly count: number })[]): number {
  const heldAt = (at: number) =>
    parts.reduce((sum, { from, to, count }) => (from <= at && at < to ? sum + count : sum), 0);
  // A part of zero length overlaps no other part.
  return Math.max(...parts.map(({ from, to, count }) => (from === to ? count : heldAt(from))));
}
