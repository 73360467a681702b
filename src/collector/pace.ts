import type { MonitoredServer } from "../domain/server.ts";

/** Back-off never waits longer than this, unless the interval itself is longer. */
const MAX_BACKOFF_MS = 10 * 60_000;
/** First polls are spread over this time, or over the interval if it is shorter. */
const MAX_SPREAD_MS = 10_000;
/** Share of the interval by which a poll may come early or late, so that servers do not march in step. */
const JITTER = 0.1;
/** Share of the delay that lies between two polls at least, however long they take. */
const MIN_GAP = 0.1;

type Paced = Pick<MonitoredServer, "intervalMs">;

/**
 * Delay of a server's first poll after the start. As many as may run at once begin at once, the others spread evenly.
 * `index` counts the enabled servers in the config's order.
 */
export function firstDelayMs(server: Paced, index: number, count: number, concurrency: number): number {
  if (index < concurrency) return 0;
  const spread = Math.min(server.intervalMs, MAX_SPREAD_MS);
  return Math.round((spread * (index - concurrency + 1)) / (count - concurrency));
}

/**
 * Time of a server's next poll. `failures` counts those in a row, this poll included: the first retry comes after one
 * interval, then it doubles, up to 10 minutes (or the interval, if that is longer). `random` is in [0, 1).
 */
export function nextPollTime(
  server: Paced,
  poll: { readonly startedAt: number; readonly finishedAt: number; readonly failures: number },
  random: number,
): number {
  const { intervalMs } = server;
  const doublings = Math.min(Math.max(poll.failures - 1, 0), 30);
  const base = Math.min(intervalMs * 2 ** doublings, Math.max(intervalMs, MAX_BACKOFF_MS));
  const delay = base * (1 - JITTER + 2 * JITTER * random);
  return Math.round(Math.max(poll.startedAt + delay, poll.finishedAt + delay * MIN_GAP));
}

/**
 * Whether a server's last poll began within its interval. Jitter, and the wait for a place, may make the interval a
 * quarter longer.
 */
export function isInPace(server: Paced, askedAt: number | null, now: number): boolean {
  return askedAt !== null && now - askedAt <= server.intervalMs * 1.25;
}
