import { RETRY_WINDOW_MS } from "../denials.ts";
import type { Series, Step } from "../history.ts";
import type { EfficiencyRecord } from "../history-records.ts";
import { addToHistogram, type Histogram, seatHours } from "./figures.ts";
import { eachSpan } from "./spans.ts";

export type Demand = EfficiencyRecord["demand"];

export interface UnmetRequest {
  readonly outcome: "denied" | "queued";
  readonly at: number;
  readonly until: number;
  readonly count: number;
}

/** Seats held plus seats requested, if known. */
export interface AskedSeats {
  readonly histogram: Histogram;
  /** Number of seats held and requested at each request that found no free seat; ascending. */
  readonly levels: readonly number[];
}

/** Minimum time for which a denied request counts as demand. */
const LEAST_MS = 1_000;

/**
 * Computes demand: the seats in use, plus those requested by the queue, plus those of denied requests from
 * first to last attempt. While a request waits or was denied, demand is at least one more than the seats,
 * even if a poll some seconds earlier showed a free one. If the log lists no queued requests, each growth
 * of the queue between two readings counts as one request. A growth right after a logged denial does not
 * count, because a person who is denied and then waits made one request.
 *
 * `requests` are those in the series' range; `isLogged`: whether the log was read then. `asked` is null if
 * nothing is known: an always empty queue proves nothing, because most clients do not queue.
 */
export function demandOf(
  series: Pick<Series, "steps" | "start" | "end">,
  total: number | null,
  requests: readonly UnmetRequest[],
  isLogged: boolean,
): { readonly demand: Demand; readonly asked: AskedSeats | null } {
  const edges = edgesOf(requests);
  const histogram = new Map<number, number>();
  const logged: number[] = [];
  const growths: number[] = [];
  let queuedMs = 0;
  let queuedBefore = 0;
  let deniedSeats = 0;
  let next = 0;
  let deniedAt = Number.NEGATIVE_INFINITY;
  const levelOf = ({ used, queued, total: seats }: Step, more = 0) => {
    const waiting = Math.max((queued ?? 0) + deniedSeats, more);
    const level = (used ?? 0) + waiting;
    return waiting > 0 ? Math.max(level, (seats ?? total ?? 0) + 1) : level;
  };

  eachSpan(series, (step, from, to) => {
    const { used, queued } = step;
    if (used !== null && queued !== null) {
      queuedMs += queued * (to - from);
      // Do not count the request again: right after a logged denial, the denied user may be the one who
      // waits.
      const isNew = deniedSeats === 0 && from - deniedAt > RETRY_WINDOW_MS;
      if (queued > queuedBefore && isNew) growths.push(levelOf(step));
      queuedBefore = queued;
    }
    for (let at = from; at < to; ) {
      for (let edge = edges[next]; edge !== undefined && edge.at <= at; edge = edges[++next]) {
        deniedSeats += edge.seats;
        if (edge.seats !== 0) deniedAt = edge.at;
        if (edge.asks > 0) logged.push(levelOf(step, edge.asks));
      }
      const until = Math.min(to, edges[next]?.at ?? to);
      if (used !== null) addToHistogram(histogram, levelOf(step), until - at);
      at = until;
    }
  });

  const knownFrom = isLogged || requests.length > 0 ? "log" : queuedMs > 0 ? "queue" : "none";
  if (knownFrom === "none") return UNKNOWN_DEMAND;
  const denied = requests.filter(({ outcome }) => outcome === "denied");
  const queued = requests.length - denied.length;
  const levels = queued === 0 ? [...logged, ...growths] : logged;
  const demand: Demand = {
    deniedRequests: knownFrom === "log" ? denied.length : null,
    deniedSeats: knownFrom === "log" ? denied.reduce((sum, { count }) => sum + count, 0) : null,
    queuedRequests: queued === 0 ? growths.length : queued,
    queuedSeatHours: seatHours(queuedMs),
    knownFrom,
  };
  return { demand, asked: { histogram, levels: levels.sort((a, b) => a - b) } };
}

const NOTHING = { deniedRequests: null, deniedSeats: null, queuedRequests: null, queuedSeatHours: null };
export const UNKNOWN_DEMAND = { demand: { ...NOTHING, knownFrom: "none" }, asked: null } as const;

/**
 * Returns the changes that requests make. `seats` is the change in denied seats. `asks` is the number of
 * seats requested at the start of a request, 0 at its end. Queued requests change no `seats`, because steps
 * already contain their seats.
 */
function edgesOf(requests: readonly UnmetRequest[]) {
  return requests
    .flatMap(({ outcome, at, until, count }) =>
      outcome === "queued"
        ? [{ at, seats: 0, asks: count }]
        : [
            { at, seats: count, asks: count },
            { at: Math.max(until, at + LEAST_MS), seats: -count, asks: 0 },
          ],
    )
    .sort((a, b) => a.at - b.at || a.asks - b.asks);
}
