import {
  type Asked,
  clip,
  type HeldSession,
  type HeldSum,
  type Holding,
  heldSeatsOf,
  holdingsAt,
  sumsOf,
} from "../domain/stats/held-seats.ts";
import { DAY_MS } from "../domain/time/clock.ts";
import { dayOf } from "./buckets.ts";
import type { HistoryClient } from "./client.ts";
import type { HistoryDeps } from "./history.ts";
import { createLoop } from "./loop.ts";
import type { Reader } from "./reader.ts";
import { packSessionDay } from "./session-day.ts";
import { makeSiteDay } from "./site-days.ts";

interface DayKeeperDeps extends HistoryDeps {
  readonly history: Pick<HistoryClient<DayQueries>, "query">;
  readonly intervals: () => Asked["intervals"];
}

interface DayAsked extends Asked {
  readonly day: number;
}

/** Queries that the keeper sends to the history worker; for a large site each takes tenths of a second. */
export const DAY_QUERIES = {
  site: async (read: Reader, { day }: DayAsked): Promise<MadeDay> => ({
    data: await makeSiteDay(read, day),
    sums: [],
  }),
  session: async (read: Reader, { day, ...asked }: DayAsked): Promise<MadeDay> => {
    const [from, to] = [day * DAY_MS, (day + 1) * DAY_MS];
    const gaps = read.gaps();
    const { holdingOf } = holdingsAt(await read.lastReadings(), asked, gaps);
    const cut = (session: HeldSession) => clipped(holdingOf(session), from, to);
    const seats = heldSeatsOf(read.sessions(from, to, null), cut);
    return { data: packSessionDay(from, seats), sums: sumsOf(seats, from, to, gaps) };
  },
};

interface MadeDay {
  readonly data: Uint8Array;
  readonly sums: readonly HeldSum[];
}

/**
 * Clips a holding to the day, but keeps 1 ms before it, so that earlier holdings differ from those that begin
 * with the day.
 */
function clipped(holding: Holding, from: number, to: number): Holding | null {
  if (clip(holding, from, to) === null) return null;
  return { from: Math.max(holding.from, from - 1), to: Math.min(holding.to, to) };
}

export type DayQueries = typeof DAY_QUERIES;
/** Enough for a day with a million sessions. */
const ASKING = { who: "days", timeoutMs: 120_000 };

/** A day is summed this long after its end. */
const GRACE_MS = 120_000;
const IDLE_MS = 60_000;

interface Due {
  readonly kind: keyof DayQueries;
  readonly day: number;
}

/** Keeps sums of past days, from which answers over long ranges are computed. */
export function createDayKeeper({ store, history, clock, timers, log, intervals }: DayKeeperDeps) {
  const { sqlite } = store;
  const edges = sqlite.query<{ seen: number | null; kept: number; sampled: number | null }, []>(
    `SELECT (SELECT min(first_seen_at) FROM sessions) AS seen,
       ifnull((SELECT value FROM event_marks WHERE name = 'deleted_sessions'), 0) AS kept,
       (SELECT min(key) / 16777216 FROM sample_days) AS sampled`,
  );
  /** An open session held its seats for the whole day only if its server was read after it. */
  const unread = sqlite.query<{ readAt: number | null }, []>(
    `SELECT min(ifnull((SELECT max(read_at) FROM coverage WHERE coverage.server_id = servers.id), 0)) AS readAt
     FROM servers WHERE EXISTS (SELECT 1 FROM sessions WHERE sessions.server_id = servers.id AND ended_at IS NULL)`,
  );
  const tableOf = (table: string, except: string) => ({
    made: sqlite.query<{ day: number }, []>(`SELECT day FROM ${table} WHERE data IS NOT NULL ${except}`),
    begin: sqlite.query<null, [number]>(`INSERT OR REPLACE INTO ${table} (day, data) VALUES (?, NULL)`),
    end: sqlite.query<null, [Uint8Array, number]>(
      `UPDATE ${table} SET data = ? WHERE day = ? AND data IS NULL`,
    ),
  });
  const tables = {
    session: tableOf("session_days", ""),
    // Days with open buckets are not final.
    site: tableOf("site_days", "UNION SELECT at / 86400000 FROM history_open"),
  };

  const dropSums = sqlite.query<null, [number]>("DELETE FROM held_days WHERE day = ?");
  const addSum = sqlite.query<null, [number, string, string, string, number]>(
    "INSERT INTO held_days (day, server_id, daemon, feature, seat_ms) VALUES (?, ?, ?, ?, ?)",
  );

  /** Returns the newest day that can be summed and is not yet: most queries are about recent days. */
  function nextDue(): Due | null {
    return store.read(() => {
      const { seen, kept, sampled } = edges.get() ?? { seen: null, kept: 0, sampled: null };
      const newest = (kind: Due["kind"], first: number, last: number): Due | null => {
        const done = new Set(tables[kind].made.all().map(({ day }) => day));
        for (let day = last; day >= first; day--) if (!done.has(day)) return { kind, day };
        return null;
      };
      const over = dayOf(clock.now() - GRACE_MS) - 1;
      const lastRead = dayOf(unread.get()?.readAt ?? Number.MAX_SAFE_INTEGER) - 1;
      const firstKept = Math.max(dayOf(seen ?? 0), Math.ceil(kept / DAY_MS));
      const session = seen === null ? null : newest("session", firstKept, Math.min(over, lastRead));
      const site = sampled === null ? null : newest("site", sampled, over);
      return session === null || (site !== null && site.day > session.day) ? site : session;
    });
  }

  /** Sums a day that is due; returns false if none is. Rejects if the store or the worker fails. */
  async function step(): Promise<boolean> {
    const due = nextDue();
    if (due === null) return false;
    const { kind, day } = due;
    // If the day changes meanwhile, this row is deleted and the day is summed again.
    store.transaction(() => void tables[kind].begin.run(day));
    const asked = { day, now: clock.now(), intervals: intervals() };
    const { data, sums } = await history.query(kind, asked, ASKING);
    store.transaction(() => {
      if (tables[kind].end.run(data, day).changes === 0 || kind === "site") return;
      dropSums.run(day);
      for (const { server, daemon, feature, seatMs } of sums)
        addSum.run(day, server, daemon, feature, seatMs);
    });
    return true;
  }

  return { ...createLoop(step, IDLE_MS, "Cannot compute the sums of a day", timers, log), step };
}
