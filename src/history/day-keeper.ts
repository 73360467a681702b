import type { Log } from "../domain/log.ts";
import { createUsage, type UsageNames } from "../domain/stats/usage.ts";
import type { Clock } from "../domain/time/clock.ts";
import type { Store } from "../store/open/open.ts";
import type { HistoryClient } from "./client.ts";
import { createLoop, type HistoryTimers, type Loop } from "./loop.ts";
import { holdings } from "./open-sessions.ts";
import type { Reader } from "./reader.ts";
import { createSessionDays, type DaySum, type Intervals } from "./session-days.ts";
import { makeSiteDay } from "./site-days.ts";
import { DAY_MS, dayOf } from "./spans.ts";

/** Keeps what answers over long ranges are made of: the sums of days that are over. */
export interface DayKeeper extends Loop {
  /** Does a slice of what is due; false when nothing is. Rejects when the store or the worker fails. */
  step(): Promise<boolean>;
}

export interface DayKeeperDeps {
  readonly store: Pick<Store, "sqlite" | "read" | "transaction">;
  readonly worker: DayWorker;
  readonly clock: Clock;
  readonly timers: HistoryTimers;
  readonly log: Log;
  readonly intervals: () => Intervals;
}

/** Of a day with a million sessions. */
const TIMEOUT_MS = 120_000;

export interface DayAsked {
  readonly day: number;
  readonly now: number;
  readonly intervals: Intervals;
}

/** What the keeper asks the worker of history: of a large site it takes some tenths of a second. */
export const DAY_QUERIES = {
  siteDay: (read: Reader, { day }: DayAsked) => makeSiteDay(read, day),
  sessionSums: (read: Reader, asked: DayAsked) => sumsOfDay(read, asked),
};

export type DayQueries = typeof DAY_QUERIES;

export interface DayWorker {
  siteDay(asked: DayAsked): Promise<Uint8Array>;
  sessionSums(asked: DayAsked): Promise<readonly DaySum[]>;
}

export function dayWorker(history: Pick<HistoryClient<DayQueries>, "query">): DayWorker {
  const options = { who: "days", timeoutMs: TIMEOUT_MS };
  return {
    siteDay: (asked) => history.query("siteDay", asked, options),
    sessionSums: (asked) => history.query("sessionSums", asked, options),
  };
}

const SUM_KEYS = ["user", "host", "feature", "daemon", "server"] as const satisfies (keyof UsageNames)[];

async function sumsOfDay(read: Reader, { day, ...asked }: DayAsked): Promise<DaySum[]> {
  const [from, to] = [day * DAY_MS, (day + 1) * DAY_MS];
  const { holdingOf } = await holdings(read, asked);
  const usages = SUM_KEYS.map((key) => ({ key, usage: createUsage([key], from, to, "UTC") }));
  for (const sessions of read.sessions(from, to, null))
    for (const session of sessions)
      for (const { usage } of usages) usage.add(session, holdingOf(session), from, to);
  return usages.flatMap(({ key, usage }) => usage.sums().map((sum) => ({ key, ...sum })));
}

/** A day is made this long after its end. */
const GRACE_MS = 120_000;
const IDLE_MS = 60_000;
const SLICE_MS = 5;

interface Due {
  readonly kind: "session" | "site";
  readonly day: number;
}

export function createDayKeeper({ store, worker, clock, timers, log, intervals }: DayKeeperDeps): DayKeeper {
  const { sqlite } = store;
  const days = createSessionDays(store);
  const edges = sqlite.query<{ seen: number | null; kept: number; sampled: number | null }, []>(
    `SELECT (SELECT min(first_seen_at) FROM sessions) AS seen,
       ifnull((SELECT value FROM event_marks WHERE name = 'deleted_sessions'), 0) AS kept,
       (SELECT min(key) / 16777216 FROM sample_days) AS sampled`,
  );
  /** What is open held its seats on all of a day only if its server was read after it. */
  const unread = sqlite.query<{ readAt: number | null }, []>(
    `SELECT min(ifnull((SELECT max(read_at) FROM coverage WHERE coverage.server_id = servers.id), 0)) AS readAt
     FROM servers WHERE EXISTS (SELECT 1 FROM sessions WHERE sessions.server_id = servers.id AND ended_at IS NULL)`,
  );
  const sessionsMade = sqlite.query<{ day: number }, []>("SELECT day FROM session_days_made WHERE made = 1");
  // What is still to be packed is not the last word.
  const sitesMade = sqlite.query<{ day: number }, []>(
    "SELECT day FROM site_days WHERE data IS NOT NULL UNION SELECT at / 86400000 FROM history_open",
  );
  const beginSite = sqlite.query<null, [number]>(
    "INSERT OR REPLACE INTO site_days (day, data) VALUES (?, NULL)",
  );
  const endSite = sqlite.query<null, [Uint8Array, number]>(
    "UPDATE site_days SET data = ? WHERE day = ? AND data IS NULL",
  );
  let work: AsyncGenerator<void> | null = null;

  /** The newest day that can be made and is not: of the newest people ask the most. */
  function nextDue(): Due | null {
    return store.read(() => {
      const { seen, kept, sampled } = edges.get() ?? { seen: null, kept: 0, sampled: null };
      const over = dayOf(clock.now() - GRACE_MS) - 1;
      const newest = (kind: Due["kind"], first: number, last: number, made: readonly { day: number }[]) => {
        const done = new Set(made.map(({ day }) => day));
        for (let day = last; day >= first; day--) if (!done.has(day)) return { kind, day };
        return null;
      };
      const lastRead = dayOf(unread.get()?.readAt ?? Number.MAX_SAFE_INTEGER) - 1;
      const first = Math.max(dayOf(seen ?? 0), Math.ceil(kept / DAY_MS));
      const session =
        seen === null ? null : newest("session", first, Math.min(over, lastRead), sessionsMade.all());
      const site = sampled === null ? null : newest("site", sampled, over, sitesMade.all());
      return session !== null && site !== null && site.day > session.day ? site : (session ?? site);
    });
  }

  /** Runs what writes in transactions of a few ms each. */
  async function* slices(writes: Generator<void>): AsyncGenerator<void> {
    for (let done = false; !done; ) {
      done = store.transaction(() => {
        const begun = performance.now();
        while (performance.now() - begun < SLICE_MS) if (writes.next().done === true) return true;
        return false;
      });
      yield;
    }
  }

  async function* make({ kind, day }: Due): AsyncGenerator<void> {
    const asked: DayAsked = { day, now: clock.now(), intervals: intervals() };
    if (kind === "session") {
      yield* slices(days.begin(day, asked.intervals));
      yield* slices(days.finish(day, await worker.sessionSums(asked)));
    } else {
      // News of the day that come meanwhile take the row away: then the day is made once more.
      store.transaction(() => void beginSite.run(day));
      const data = await worker.siteDay(asked);
      store.transaction(() => void endSite.run(data, day));
      yield;
    }
  }

  async function step(): Promise<boolean> {
    if (work === null) {
      const due = nextDue();
      if (due === null) return false;
      work = make(due);
    }
    try {
      if ((await work.next()).done === true) work = null;
    } catch (error) {
      work = null;
      throw error;
    }
    return true;
  }

  return { ...createLoop(step, IDLE_MS, "The sums of a day could not be made", timers, log), step };
}
