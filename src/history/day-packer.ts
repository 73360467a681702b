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
import { type Clock, DAY_MS } from "../domain/time/clock.ts";
import type { Store } from "../store/open/open.ts";
import { createDirty, createPackedDays, dayOf, packedKey } from "./buckets.ts";
import type { HistoryClient } from "./client.ts";
import type { Reader } from "./reader.ts";
import { packSessionDay } from "./session-day.ts";
import { makeSiteDay } from "./site-days.ts";

export interface DayPackerDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly query: HistoryClient<DayQueries>["query"];
  readonly intervals: () => Asked["intervals"];
}

interface DayAsked extends Asked {
  readonly day: number;
}

/** Queries that run in the history worker. For a large site, each takes tenths of a second. */
export const DAY_QUERIES = {
  site: async (read: Reader, { day }: DayAsked): Promise<MadeDay> => ({
    data: await makeSiteDay(read, day),
    sums: [],
  }),
  held: async (read: Reader, { day, ...asked }: DayAsked): Promise<MadeDay> => {
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
 * Clips a holding to a day. Keeps 1 ms before the day, so that earlier holdings differ from those that
 * begin with the day.
 */
function clipped(holding: Holding, from: number, to: number): Holding | null {
  if (clip(holding, from, to) === null) return null;
  return { from: Math.max(holding.from, from - 1), to: Math.min(holding.to, to) };
}

export type DayQueries = typeof DAY_QUERIES;
/**
 * Client name and time limit of the packer's queries. The limit is enough for a day with a million
 * sessions.
 */
const ASKING = { who: "days", timeoutMs: 120_000 };

const GRACE_MS = 120_000;

/**
 * A `site` day is due once none of its hours is marked. A `held` day is due once every server with open
 * sessions was read after the day: only then is it known that these sessions lasted all day.
 */
const NEWEST_DUE = `SELECT kind, at FROM dirty WHERE at < ?1 AND (
  kind = 'site' AND NOT EXISTS (SELECT 1 FROM dirty open
    WHERE kind IN ('hours', 'rollups') AND open.at >= dirty.at AND open.at < dirty.at + ${DAY_MS})
  OR kind = 'held' AND at >= ifnull((SELECT value FROM event_marks WHERE name = 'deleted_sessions'), 0)
    AND at + ${DAY_MS} <= ifnull((
      SELECT min(ifnull((SELECT max(read_at) FROM coverage WHERE coverage.server_id = servers.id), 0)) FROM servers
      WHERE EXISTS (SELECT 1 FROM sessions WHERE sessions.server_id = servers.id AND ended_at IS NULL)), 9e15)
) ORDER BY at DESC, kind LIMIT 1`;

/**
 * Creates a function that packs the newest due day, because most queries are about recent days. The
 * function returns false if no day is due.
 */
export function createDayPacker({ store, clock, query, intervals }: DayPackerDeps): () => Promise<boolean> {
  const { sqlite } = store;
  const dirty = createDirty(store);
  const packed = createPackedDays(store);
  const newestDue = sqlite.query<{ kind: keyof DayQueries; at: number }, [number]>(NEWEST_DUE);
  /** Creates an empty row first, because later changes mark only days that have a row. */
  const ensureRow = sqlite.query<null, [number]>(
    "INSERT OR IGNORE INTO packed_days (key, data) VALUES (?, x'')",
  );
  const dropSums = sqlite.query<null, [number]>("DELETE FROM held_days WHERE day = ?");
  const addSum = sqlite.query<null, [number, string, string, string, number]>(
    "INSERT INTO held_days (day, server_id, daemon, feature, seat_ms) VALUES (?, ?, ?, ?, ?)",
  );

  return async () => {
    const due = store.read(() => newestDue.get(dayOf(clock.now() - GRACE_MS) * DAY_MS));
    if (due === null) return false;
    const { kind, at } = due;
    const day = dayOf(at);
    const key = packedKey(kind, day);
    store.transaction(() => {
      dirty.begin(kind, at);
      ensureRow.run(key);
    });
    const { data, sums } = await query(kind, { day, now: clock.now(), intervals: intervals() }, ASKING);
    store.transaction(() => {
      // If the day changed meanwhile, it is packed again.
      if (!dirty.end(kind, at)) return;
      packed.put(key, data);
      if (kind === "site") return;
      dropSums.run(day);
      for (const { server, daemon, feature, seatMs } of sums)
        addSum.run(day, server, daemon, feature, seatMs);
    });
    return true;
  };
}
