import type { Log } from "../domain/log.ts";
import { createUsage, type UsageKey } from "../domain/stats/usage.ts";
import type { Clock } from "../domain/time/clock.ts";
import type { Timers } from "../domain/time/timers.ts";
import type { Store } from "../store/open/open.ts";
import type { HistoryClient } from "./client.ts";
import { type Asked, holdings } from "./holdings.ts";
import { createLoop } from "./loop.ts";
import type { Reader } from "./reader.ts";
import { makeSiteDay } from "./site-days.ts";
import { DAY_MS, dayOf } from "./spans.ts";

export interface DayKeeperDeps {
  readonly store: Pick<Store, "sqlite" | "read" | "transaction">;
  readonly history: Pick<HistoryClient<DayQueries>, "query">;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly intervals: () => Asked["intervals"];
}

interface DayAsked extends Asked {
  readonly day: number;
}

/** What the keeper asks the worker of history: of a large site it takes some tenths of a second. */
export const DAY_QUERIES = {
  siteDay: (read: Reader, { day }: DayAsked) => makeSiteDay(read, day),
  usageDay: (read: Reader, asked: DayAsked) => sumUpUsage(read, asked),
};

export type DayQueries = typeof DAY_QUERIES;
/** Of a day with a million sessions. */
const ASKING = { who: "days", timeoutMs: 120_000 };

/** The keys of the rows of `usage_days`. */
const SUMMED_BY: Readonly<Record<string, readonly UsageKey[]>> = {
  user: ["user"],
  host: ["host"],
  feature: ["feature"],
  daemon: ["daemon"],
  server: ["server"],
  "": ["feature", "user", "host"],
};
const ROWS_AT_ONCE = 300;

/** The rows of a day, as JSON texts of some hundred each: they cross the thread and reach the table as they are. */
async function sumUpUsage(read: Reader, { day, ...asked }: DayAsked): Promise<string[]> {
  const [from, to] = [day * DAY_MS, (day + 1) * DAY_MS];
  const { holdingOf } = await holdings(read, asked);
  const usages = Object.entries(SUMMED_BY).map(([key, by]) => ({
    key,
    usage: createUsage(by, from, to, "UTC"),
  }));
  for (const sessions of read.sessions(from, to, null))
    for (const session of sessions) {
      const holding = holdingOf(session);
      for (const { usage } of usages) usage.add(session, holding, from, to);
    }
  const rows = usages.flatMap(({ key, usage }) =>
    usage.sums().map((sum) => {
      const { feature = "", server = "", daemon = "", user = "", host, seatMs, sessions, begun, peak } = sum;
      return [key, feature, server, daemon, user, host ?? "", seatMs, sessions, begun, peak, sum.lastAt];
    }),
  );
  const texts: string[] = [];
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE)
    texts.push(JSON.stringify(rows.slice(at, at + ROWS_AT_ONCE)));
  return texts;
}

/** A day is made this long after its end. */
const GRACE_MS = 120_000;
const IDLE_MS = 60_000;

interface Due {
  readonly kind: "usage" | "site";
  readonly day: number;
}

/** Keeps what answers over long ranges are made of: the sums of days that are over. */
export function createDayKeeper({ store, history, clock, timers, log, intervals }: DayKeeperDeps) {
  const { sqlite } = store;
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
  const made = {
    usage: sqlite.query<{ day: number }, []>("SELECT day FROM session_days_made WHERE made = 1"),
    // What is still to be packed is not the last word.
    site: sqlite.query<{ day: number }, []>(
      "SELECT day FROM site_days WHERE data IS NOT NULL UNION SELECT at / 86400000 FROM history_open",
    ),
  };
  const onDay = (sql: string) => sqlite.query<null, [number]>(sql);
  const begin = {
    usage: onDay("INSERT OR REPLACE INTO session_days_made (day, made) VALUES (?, 0)"),
    site: onDay("INSERT OR REPLACE INTO site_days (day, data) VALUES (?, NULL)"),
  };
  const endUsage = onDay("UPDATE session_days_made SET made = 1 WHERE day = ?");
  const endSite = sqlite.query<null, [Uint8Array, number]>(
    "UPDATE site_days SET data = ? WHERE day = ? AND data IS NULL",
  );
  const clear = onDay(
    `DELETE FROM usage_days WHERE day = ?1 AND (key, feature, server_id, daemon, user, host) IN
       (SELECT key, feature, server_id, daemon, user, host FROM usage_days WHERE day = ?1 LIMIT ${ROWS_AT_ONCE})`,
  );
  const fill = sqlite.query<null, [number, string]>(
    `INSERT INTO usage_days (day, key, feature, server_id, daemon, user, host, seat_ms, sessions, begun, peak, last_at)
     SELECT ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7,
       value ->> 8, value ->> 9, value ->> 10 FROM json_each(?2)`,
  );
  let work: AsyncGenerator<void> | null = null;

  /** The newest day that can be made and is not: people ask most about the newest days. */
  function nextDue(): Due | null {
    return store.read(() => {
      const { seen, kept, sampled } = edges.get() ?? { seen: null, kept: 0, sampled: null };
      const newest = (kind: Due["kind"], first: number, last: number): Due | null => {
        const done = new Set(made[kind].all().map(({ day }) => day));
        for (let day = last; day >= first; day--) if (!done.has(day)) return { kind, day };
        return null;
      };
      const over = dayOf(clock.now() - GRACE_MS) - 1;
      const lastRead = dayOf(unread.get()?.readAt ?? Number.MAX_SAFE_INTEGER) - 1;
      const firstKept = Math.max(dayOf(seen ?? 0), Math.ceil(kept / DAY_MS));
      const usage = seen === null ? null : newest("usage", firstKept, Math.min(over, lastRead));
      const site = sampled === null ? null : newest("site", sampled, over);
      return usage === null || (site !== null && site.day > usage.day) ? site : usage;
    });
  }

  async function* make({ kind, day }: Due): AsyncGenerator<void> {
    const asked: DayAsked = { day, now: clock.now(), intervals: intervals() };
    // News of the day that come meanwhile delete this row: then the day is made once more.
    store.transaction(() => void begin[kind].run(day));
    if (kind === "site") {
      const data = await history.query("siteDay", asked, ASKING);
      store.transaction(() => void endSite.run(data, day));
      return;
    }
    const texts = await history.query("usageDay", asked, ASKING);
    while (store.transaction(() => clear.run(day).changes) > 0) yield;
    for (const text of texts) {
      store.transaction(() => void fill.run(day, text));
      yield;
    }
    store.transaction(() => void endUsage.run(day));
  }

  /** Does a slice of what is due; false when nothing is. Rejects when the store or the worker fails. */
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
