import { dayEdges } from "../../../src/domain/stats/calendar.ts";
import { clip, type HeldSession, type Holding } from "../../../src/domain/stats/holding.ts";
import { seatHours } from "../../../src/domain/stats/rounding.ts";
import type { UsageGroup, UsageKey } from "../../../src/domain/stats/usage.ts";
import { offsetAt } from "../../../src/domain/time/zone.ts";

/** Usage once more, another way: every session is put into its groups by itself, and the changes of each are sorted. */

export interface PlainUsage {
  add(session: HeldSession, holding: Holding): void;
  groups(): UsageGroup[];
}

interface Group {
  readonly keys: UsageGroup["keys"];
  seatMs: number;
  sessions: number;
  lastUsedAt: number;
  readonly users: Set<string>;
  readonly held: HeldSeats;
}

/** `zone` is that of the days. Hosts that differ in case are one. */
export function createPlainUsage(
  by: readonly UsageKey[],
  start: number,
  end: number,
  zone: string,
): PlainUsage {
  const groups = new Map<string, Group>();
  const days = by.includes("day") ? daysOf(start, end, zone) : [{ name: null, from: start, to: end }];

  function groupOf(session: HeldSession, day: string | null): Group {
    const { server, daemon, feature } = session;
    const keys = Object.assign(
      {},
      ...by.map((key) => {
        if (key === "day") return { day };
        if (key === "feature") return { server, daemon, feature };
        return { [key]: session[key] };
      }),
    ) as UsageGroup["keys"];
    // Hosts differ in case only between lines of one client.
    const id = JSON.stringify(
      sorted({ ...keys, ...(keys.host != null && { host: keys.host.toLowerCase() }) }),
    );
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
        heldSeatHours: seatHours(seatMs),
        sessions,
        peakHeld: held.peak(),
        uniqueUsers: users.size,
        lastUsedAt,
      })),
  };
}

function sorted(keys: UsageGroup["keys"]) {
  return Object.entries(keys).sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Groups by their keys, which come in any order; hosts in one case, for the two ways meet them in different orders. */
export function byKeys(groups: readonly UsageGroup[]): Map<string, Omit<UsageGroup, "keys">> {
  return new Map(
    groups
      .map(({ keys, ...figures }) => {
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

/** Seats held over time. There may be millions of them: each takes three numbers in a row. */
interface HeldSeats {
  add(part: Holding, count: number): void;
  /** Most held at one moment. Seats given back at a moment are free at that moment. */
  peak(): number;
}

function createHeldSeats(): HeldSeats {
  /** From, to, seats, and so on. */
  const numbers: number[] = [];
  /** The most of those that never lasted: they cannot be laid over others. */
  let moment = 0;
  return {
    add({ from, to }, count) {
      if (from === to) moment = Math.max(moment, count);
      else numbers.push(from, to, count);
    },
    peak() {
      /** Places of a time in `numbers`: of a begin, or the next one, of its end. */
      const changes = new Uint32Array((numbers.length / 3) * 2);
      for (let each = 0; each < changes.length; each++) changes[each] = (each >> 1) * 3 + (each & 1);
      const at = (place: number) => numbers[place] ?? 0;
      const by = (place: number) => (place % 3 === 0 ? at(place + 2) : -at(place + 1));
      changes.sort((a, b) => at(a) - at(b) || by(a) - by(b));
      let now = 0;
      let peak = moment;
      for (const place of changes) {
        now += by(place);
        if (now > peak) peak = now;
      }
      return peak;
    },
  };
}
