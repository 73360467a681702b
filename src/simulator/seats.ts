import { MINUTE_MS } from "../domain/time/clock.ts";
import type { Actor, Request } from "./demand.ts";

export interface SeatRules {
  /** Seats per pool; null = unlimited. A request is served from the first pool with enough seats. */
  readonly pools: readonly (number | null)[];
  /**
   * Seats of the first pool that are reserved for some of the staff. These people use the reserved seats
   * first, and return them to the reservation.
   */
  readonly kept: { readonly seats: number; isFor(actor: Actor): boolean } | null;
  /**
   * `queue`: a request without a seat waits. `deny`: the request is denied, and retried while the actor's
   * patience lasts.
   */
  readonly whenFull: "queue" | "deny";
}

export interface Grant {
  readonly request: Request;
  readonly startedAt: number;
  readonly endsAt: number;
  readonly pool: number;
  /** Number of granted seats that come from the reservation. */
  readonly fromKept: number;
}

export interface Wait {
  readonly request: Request;
  readonly from: number;
  readonly to: number;
}

/** Grants are in the order in which they were given. */
export type Schedule = ReturnType<typeof seat>;

const RETRY_MS = 7 * MINUTE_MS;
const SHORTEST_MS = 2 * MINUTE_MS;

interface Event {
  readonly at: number;
  /** Order within one instant: check-ins, then requests that give up, then new requests. */
  readonly order: 0 | 1 | 2;
  readonly run: () => void;
}

/** Serves the requests of one week in order of time. */
export function seat(requests: readonly Request[], rules: SeatRules) {
  let idle = rules.kept?.seats ?? 0;
  const open = rules.pools.map((seats, pool) => (seats ?? Infinity) - (pool === 0 ? idle : 0));
  const grants: Grant[] = [];
  const waits: Wait[] = [];
  const denials: { readonly request: Request; readonly at: number }[] = [];
  /** Sorted by time with the soonest event last, because removing the last element is cheap. */
  const events: Event[] = [];
  let line: Request[] = [];

  const at = (time: number, order: Event["order"], run: () => void) => {
    const sooner = events.findIndex((one) => one.at < time || (one.at === time && one.order <= order));
    events.splice(sooner === -1 ? events.length : sooner, 0, { at: time, order, run });
  };

  const take = (request: Request, now: number): boolean => {
    const mayTakeKept = rules.kept?.isFor(request.actor) === true;
    for (const pool of rules.pools.keys()) {
      const own = pool === 0 && mayTakeKept ? Math.min(request.count, idle) : 0;
      if ((open[pool] ?? 0) + own < request.count) continue;
      const endsAt = Math.min(now + request.wantedMs, request.latestEnd);
      const move = (seats: number) => {
        open[pool] = (open[pool] ?? 0) + seats * (request.count - own);
        idle += seats * own;
      };
      move(-1);
      grants.push({ request, startedAt: now, endsAt, pool, fromKept: own });
      at(endsAt, 0, () => {
        move(1);
        for (const waiting of line) if (take(waiting, endsAt)) leave(waiting, endsAt);
      });
      return true;
    }
    return false;
  };

  const leave = (request: Request, to: number) => {
    waits.push({ request, from: request.askedAt, to });
    line = line.filter((other) => other !== request);
  };

  const ask = (request: Request, now: number) => {
    if (take(request, now)) return;
    const until = Math.min(request.askedAt + request.patienceMs, request.latestEnd - SHORTEST_MS);
    if (rules.whenFull === "deny") {
      denials.push({ request, at: now });
      if (now + RETRY_MS <= until) at(now + RETRY_MS, 2, () => ask(request, now + RETRY_MS));
    } else if (until > now) {
      line.push(request);
      at(until, 1, () => line.includes(request) && leave(request, until));
    }
  };

  for (const request of requests) at(request.askedAt, 2, () => ask(request, request.askedAt));
  for (let due = events.pop(); due !== undefined; due = events.pop()) due.run();
  return { grants, waits, denials };
}
