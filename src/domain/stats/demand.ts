import { RETRY_WINDOW_MS } from "../denials.ts";
import type { Series, Step } from "../history.ts";
import type { EfficiencyRecord } from "../history-records.ts";
import { addToHistogram, type Histogram, seatHours } from "./figures.ts";
import { eachSpan } from "./spans.ts";

/** What was asked of one feature beyond its seats; unknown is null. */
export type Demand = EfficiencyRecord["demand"];

/** A request that found no seat, as the log tells it; times are epoch ms. */
export interface UnmetRequest {
  readonly outcome: "denied" | "queued";
  readonly at: number;
  /** Last attempt. */
  readonly until: number;
  readonly count: number;
}

/** Seats held and asked for together, as far as they are known. */
export interface AskedSeats {
  /** For how long so many were held or asked for. */
  readonly histogram: Histogram;
  /** For each request that found no seat: the seats held and asked for with it, ascending. */
  readonly levels: readonly number[];
}

/** A client that is denied once asked for its seats for at least so long. */
const LEAST_MS = 1_000;

/**
 * Demand at a moment is the seats in use, those that the queue asks for, and those of denied requests, each from its
 * first to its last attempt. While one waits or was denied it is at least one seat more than there are, whatever a poll
 * some seconds before says. A log tells of requests. Without one each growth of the queue between two readings is a
 * request, unless the log has a denial then: a person who is denied and then waits made one request.
 *
 * `requests` are those of the series' range, `isLogged` says whether the log of its time was read. `asked` is null while
 * nothing is known: a queue that is always empty proves nothing, because most clients do not queue.
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
      // Whoever was denied by the log just before may be the one who waits now.
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
 * By how many seats (`seats`) what was denied changes, and how many a request that begins asks for (`asks`; 0 = one ends).
 * What waits in the queue is in the steps: its seats do not count once more.
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
