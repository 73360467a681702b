import { MINUTE } from "./calendar.ts";
import type { Request } from "./demand.ts";
import type { Actor } from "./people.ts";

/** Seats kept for some of the people. They take kept seats first, and give them back there. */
export interface Kept {
  readonly pool: number;
  readonly seats: number;
  isFor(actor: Actor): boolean;
}

export interface SeatRules {
  /** Seats of each pool; null has no end. A request is served from one pool, the first in which it fits. */
  readonly pools: readonly (number | null)[];
  readonly kept: readonly Kept[];
  /** `queue`: who finds no seat waits in line. `deny`: is turned away and tries again while patience lasts. */
  readonly whenFull: "queue" | "deny";
}

/** Seats held from `startedAt` until just before `endsAt`. */
export interface Grant {
  readonly request: Request;
  readonly startedAt: number;
  readonly endsAt: number;
  readonly pool: number;
  /** Index of the kept seats that some of these came from, and how many; null when from none. */
  readonly fromKept: { readonly kept: number; readonly seats: number } | null;
}

/** A place in the queue from `from` until just before `to`. */
export interface Wait {
  readonly request: Request;
  readonly from: number;
  readonly to: number;
  readonly pool: number;
}

export interface Denial {
  readonly request: Request;
  readonly at: number;
}

/** What became of a week's requests. Grants in the order in which they were given. */
export interface Schedule {
  readonly grants: readonly Grant[];
  readonly waits: readonly Wait[];
  readonly denials: readonly Denial[];
}

/** Turned away, somebody tries again after so long. */
const RETRY_MS = 7 * MINUTE;
/** It is not worth starting for less. */
const SHORTEST_MS = 2 * MINUTE;

type Event =
  | { readonly at: number; readonly kind: "end"; readonly grant: Grant }
  | { readonly at: number; readonly kind: "give-up" | "ask"; readonly request: Request };

/** Frees seats before somebody gives up, and both before the next one asks. */
const ORDER = { end: 0, "give-up": 1, ask: 2 } as const;

/** Plays a week through: requests meet seats, in the order of time. `requests` are sorted by `askedAt`. */
export function seat(requests: readonly Request[], rules: SeatRules): Schedule {
  const open = rules.pools.map((seats, pool) =>
    seats === null ? Number.POSITIVE_INFINITY : seats - keptIn(rules.kept, pool),
  );
  const idle = rules.kept.map((kept) => kept.seats);
  const grants: Grant[] = [];
  const waits: Wait[] = [];
  const denials: Denial[] = [];
  const events: Event[] = [];
  let line: Request[] = [];

  const add = (event: Event) => {
    let low = 0;
    let high = events.length;
    // The soonest last, so that taking it is cheap.
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = events[middle];
      if (other !== undefined && before(event, other)) low = middle + 1;
      else high = middle;
    }
    events.splice(low, 0, event);
  };

  const take = (request: Request, at: number): boolean => {
    const endsAt = Math.min(at + request.wantedMs, request.latestEnd);
    for (const pool of rules.pools.keys()) {
      const kept = rules.kept.findIndex((one) => one.pool === pool && one.isFor(request.actor));
      const own = Math.min(request.count, idle[kept] ?? 0);
      const free = open[pool] ?? 0;
      if (free + own < request.count) continue;
      open[pool] = free - (request.count - own);
      if (own > 0) idle[kept] = (idle[kept] ?? 0) - own;
      const fromKept = own > 0 ? { kept, seats: own } : null;
      const grant: Grant = { request, startedAt: at, endsAt, pool, fromKept };
      grants.push(grant);
      add({ at: endsAt, kind: "end", grant });
      return true;
    }
    return false;
  };

  const leaveLine = (request: Request, at: number) => {
    waits.push({ request, from: request.askedAt, to: at, pool: 0 });
    line = line.filter((other) => other !== request);
  };

  const handle = (event: Event) => {
    const { at } = event;
    if (event.kind === "end") {
      const { request, pool, fromKept } = event.grant;
      open[pool] = (open[pool] ?? 0) + request.count - (fromKept?.seats ?? 0);
      if (fromKept !== null) idle[fromKept.kept] = (idle[fromKept.kept] ?? 0) + fromKept.seats;
      for (const waiting of line) if (take(waiting, at)) leaveLine(waiting, at);
    } else if (event.kind === "give-up") {
      if (line.includes(event.request)) leaveLine(event.request, at);
    } else if (!take(event.request, at)) {
      const { request } = event;
      const until = Math.min(request.askedAt + request.patienceMs, request.latestEnd - SHORTEST_MS);
      if (rules.whenFull === "deny") {
        denials.push({ request, at });
        if (at + RETRY_MS <= until) add({ at: at + RETRY_MS, kind: "ask", request });
      } else if (until > at) {
        line.push(request);
        add({ at: until, kind: "give-up", request });
      }
    }
  };

  for (const request of requests) {
    const next: Event = { at: request.askedAt, kind: "ask", request };
    for (let due = events.at(-1); due !== undefined && before(due, next); due = events.at(-1)) {
      events.pop();
      handle(due);
    }
    handle(next);
  }
  for (let due = events.pop(); due !== undefined; due = events.pop()) handle(due);
  return { grants, waits, denials };
}

function before(a: Event, b: Event): boolean {
  return a.at === b.at ? ORDER[a.kind] < ORDER[b.kind] : a.at < b.at;
}

function keptIn(kept: readonly Kept[], pool: number): number {
  return kept.reduce((sum, one) => (one.pool === pool ? sum + one.seats : sum), 0);
}
