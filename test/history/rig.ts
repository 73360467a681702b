import type { Step } from "../../src/domain/history.ts";
import type { PollOutcome } from "../../src/domain/poll.ts";
import type { CheckoutReading } from "../../src/domain/reading.ts";
import type { MonitoredServer } from "../../src/domain/server.ts";
import type { HeldSession } from "../../src/domain/stats/held-seats.ts";
import type { UsageKey } from "../../src/domain/stats/usage.ts";
import type { KnownFeature } from "../../src/history/buckets.ts";
import { createHistory } from "../../src/history/history.ts";
import { createReader, type Reader } from "../../src/history/reader.ts";
import { sessionsQuery } from "../../src/history/sessions/session-list.ts";
import type { OldSession } from "../../src/history/sessions/sessions.ts";
import { efficiencyQuery } from "../../src/history/statistics/efficiency.ts";
import { type StatsQuery, statsQuery } from "../../src/history/statistics/stats.ts";
import { usageQuery } from "../../src/history/statistics/usage.ts";
import { createLive } from "../../src/live/live.ts";
import { attachState } from "../../src/store/database/read-only.ts";
import type { Store } from "../../src/store/open/open.ts";
import * as a from "../domain/make.ts";
import { fixedClock, open, temporaryDirectory } from "../store/place.ts";
import { recordingLog } from "../store/recording-log.ts";

/** A daemon's store. The test makes polls, restarts, packs and reads. */
export function createRig(
  servers: readonly MonitoredServer[] = [a.server()],
  directory = temporaryDirectory(),
) {
  const store: Store = open(directory);
  attachState(store.sqlite, store.sqlite.filename);
  const clock = fixedClock(a.NOON);
  const log = recordingLog();
  const timers = { after: () => () => {} };
  const process = () => {
    const history = createHistory({ store, clock, timers, log });
    const live = createLive({
      store,
      servers,
      clock,
      log,
      recorder: history.recorder,
      commit: async (work) => store.transaction(() => work()),
      timers: { after: () => () => {} },
    });
    return { history, live };
  };
  let running = process();
  return {
    store,
    clock,
    log,
    history: () => running.history,
    live: () => running.live,
    /** Starts another process on the same store. */
    restart() {
      running = process();
    },
    async poll(outcome: PollOutcome) {
      clock.time = outcome.finishedAt;
      await running.live.record(outcome, null);
    },
    reader: (now = clock.time): Reader => createReader(store.sqlite, { now }),
    feature(name: string): KnownFeature {
      const [found] = createReader(store.sqlite, { now: clock.time }).features({ features: [name] });
      if (found === undefined) throw new Error(`no history of ${name}`);
      return found;
    },
  };
}

export const ANY = { servers: null, daemons: null, features: null, users: null, hosts: null };

/** A query over everything, changed by `more`. */
export function questionOver<More extends object>(start: number, end: number, now: number, more: More) {
  const base = { start, end, now, intervals: {}, filter: ANY, timezone: "UTC", limit: 1000, offset: 0 };
  const sort = { field: "heldSeatHours", descending: true } as const;
  const question = { ...base, interval: null, series: false, sort };
  return { ...question, ...more } as Omit<typeof question, keyof More> & More;
}

/** A session from an old log. */
export const oldSession = (change: Partial<OldSession> = {}): OldSession => ({
  daemon: "snpslmd",
  feature: "compiler",
  user: "ada",
  host: "ws1",
  version: null,
  handle: null,
  data: null,
  ordinal: 0,
  part: 0,
  count: 1,
  startedAt: a.NOON,
  endedAt: a.NOON + 1000,
  endReason: "checkin",
  ...change,
});

/** Inserts sessions with default values for other columns. */
export function sessionPutter(store: Store, daemon = "acmed") {
  const insert = store.sqlite.query<null, (string | number | null)[]>(
    `INSERT INTO sessions (id, server_id, daemon, feature, user, host, count, began_at, first_seen_at, last_seen_at,
       ended_at, end_reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  return (
    id: number,
    beganAt: number,
    seenAt: number,
    endedAt: number | null,
    more: Partial<HeldSession> = {},
  ) => {
    const { server = "eda", feature = "solver", user = "ada", host = null, count = 1 } = more;
    const { lastSeenAt = endedAt ?? seenAt, endReason = endedAt === null ? null : "checkin" } = more;
    const names = [server, more.daemon ?? daemon, feature, user, host, count];
    insert.run(id, ...names, beganAt, seenAt, lastSeenAt, endedAt, endReason);
  };
}

/** Returns functions that query one feature, each query with a new reader. */
export function asking(
  { reader, clock }: Pick<ReturnType<typeof createRig>, "reader" | "clock">,
  feature: string,
  intervals: Readonly<Record<string, number>> = {},
) {
  const over = (start: number, end: number) =>
    questionOver(start, end, clock.time, { intervals, filter: { ...ANY, features: [feature] }, limit: 100 });
  const bySeen = { field: "firstSeenAt", descending: false } as const;
  const stats = (start: number, end: number, more: Partial<StatsQuery> = {}) =>
    statsQuery(reader(), { ...over(start, end), sort: null, ...more });
  return {
    stats,
    row: async (start: number, end: number) => (await stats(start, end)).rows[0],
    usage: (start: number, end: number, ...groupBy: UsageKey[]) =>
      usageQuery(reader(), { ...over(start, end), groupBy }),
    efficiency: async (start: number, end: number) =>
      (await efficiencyQuery(reader(), { ...over(start, end), sort: null })).rows[0],
    sessions: (start: number, end: number) => sessionsQuery(reader(), { ...over(start, end), sort: bySeen }),
  };
}

/** One poll of a feature with these holders. */
export function pollOf(
  feature: string,
  at: number,
  total: number,
  checkouts: readonly CheckoutReading[],
): PollOutcome {
  const features = [a.feature({ name: feature, total, used: checkouts.length, checkouts: [...checkouts] })];
  return a.outcome({ startedAt: at - 200, finishedAt: at, reading: a.reading({ features }) });
}

/** Input of `plainSteps`. */
export interface RawPoll {
  readonly at: number;
  /** Counts by feature, without features that were not read. Null if the poll failed. */
  readonly counts: ReadonlyMap<string, Counts> | null;
}

export interface Counts {
  readonly total: number;
  readonly used: number;
  readonly queued: number;
}

export function outcomeOf({ at, counts }: RawPoll): PollOutcome {
  if (counts === null) return a.failedPoll({ startedAt: at - 200, finishedAt: at });
  const waiting = { user: "ann", host: null, display: null, qualifier: null, version: null, handle: null };
  const features = [...counts].map(([name, { total, used, queued }]) => {
    const queue = queued === 0 ? [] : [{ ...waiting, count: queued, pool: 0 }];
    return a.feature({ name, total, used, checkouts: [], queue });
  });
  return a.outcome({ startedAt: at - 200, finishedAt: at, reading: a.reading({ features }) });
}

/**
 * Returns the steps of a feature by a plain loop: each poll holds until the next one, or for one interval
 * before a gap.
 */
export function plainSteps(
  polls: readonly RawPoll[],
  name: string,
  { start, end, now }: { start: number; end: number; now: number },
  { intervalMs, timeoutMs }: Pick<MonitoredServer, "intervalMs" | "timeoutMs"> = a.server(),
): Step[] {
  const steps: Step[] = [];
  const gap = { total: null, used: null, reserved: null, queued: null, unlimited: false };
  for (let at = start; at < end; ) {
    const next = polls.findIndex((poll) => poll.at > at);
    const poll = polls[next === -1 ? polls.length - 1 : next - 1];
    const following = next === -1 ? undefined : polls[next];
    const counts = poll === undefined || poll.at > at ? undefined : poll.counts?.get(name);
    let until = following?.at ?? Number.POSITIVE_INFINITY;
    let holds = counts !== undefined;
    if (poll !== undefined && poll.at <= at) {
      const late = until - poll.at > 2 * intervalMs + timeoutMs;
      const known = Math.min(late ? poll.at + intervalMs : until, now);
      if (at < known) until = known;
      else holds = false;
    }
    const step: Step =
      holds && counts !== undefined
        ? { at, total: counts.total, used: counts.used, reserved: 0, queued: counts.queued, unlimited: false }
        : { at, ...gap };
    const { at: _, ...what } = step;
    const { at: __, ...before } = steps.at(-1) ?? { at: 0 };
    if (!Bun.deepEquals(what, before)) steps.push(step);
    at = until;
  }
  return steps;
}
