import type { UsageNames, UsageSum } from "../domain/stats/usage.ts";
import type { Store } from "../store/open/open.ts";
import { IS_LONG } from "./filters.ts";
import { DAY_MS, MINUTE_MS } from "./spans.ts";

/** Interval of the polls of a server by its id, ms. */
export type Intervals = Readonly<Record<string, number>>;

/** Of a server that is no longer in the config. */
export const DEFAULT_INTERVAL_MS = 60_000;

/** What was held on a day by one key of usage. */
export interface DaySum extends UsageSum {
  readonly key: keyof UsageNames;
}

/** Sessions that begin, or end, within so long are summed up at once. */
const SLICE_MS = 5 * MINUTE_MS;
const ROWS_AT_ONCE = 300;

/**
 * The sessions that held seats on a day ([$from, $to)), in parts that exclude each other: each is found by an index, in
 * [$low, $high) or of the server $server.
 */
const PARTS = {
  began: "first_seen_at >= $low AND first_seen_at < $high",
  endedSoon: "ended_at >= $low AND ended_at < $high AND first_seen_at < $from",
  long: `server_id = $server AND ended_at >= $from + 2 * ${DAY_MS} AND began_at < $to AND first_seen_at < $from AND ${IS_LONG}`,
  open: "server_id = $server AND ended_at IS NULL AND first_seen_at < $from",
} as const;

/** When seats were given back, as `holdingOf` has it. What is open held them on all of a day that was read to its end. */
const HELD_UNTIL = `max(first_seen_at, CASE WHEN ended_at IS NULL THEN $to
  WHEN end_reason IS NOT 'checkin'
    AND ended_at - last_seen_at > 2 * coalesce((SELECT value FROM json_each($polled) WHERE key = server_id), ${DEFAULT_INTERVAL_MS})
  THEN last_seen_at + coalesce((SELECT value FROM json_each($polled) WHERE key = server_id), ${DEFAULT_INTERVAL_MS})
  ELSE ended_at END)`;

interface OfDay {
  readonly from: number;
  readonly to: number;
  readonly low: number;
  readonly high: number;
  readonly server: string;
  readonly polled: string;
  [name: string]: number | string;
}

/** Writes the sums of days into their tables, in small steps on the main thread. */
export interface SessionDays {
  /** Stores who held seats on a day; the caller runs each step in a transaction. */
  begin(day: number, intervals: Intervals): Generator<void>;
  /** Stores the sums of a day that was begun, and ends the work on it, unless there was news meanwhile. */
  finish(day: number, sums: readonly DaySum[]): Generator<void>;
  /** Deletes some rows of days that begin before an instant; answers how many. */
  drop(before: number, limit: number): number;
}

export function createSessionDays({ sqlite }: Pick<Store, "sqlite">): SessionDays {
  const on = (text: string) => sqlite.query<null, (string | number | null)[]>(text);
  const of = (text: string) => sqlite.query<null, OfDay>(text);
  const parts = Object.values(PARTS).map((where) => [
    of(`INSERT OR IGNORE INTO session_features (server_id, daemon, name)
        SELECT DISTINCT server_id, daemon, feature FROM sessions WHERE ${where}`),
    of(`INSERT OR IGNORE INTO session_names (name) SELECT user FROM sessions WHERE ${where}
        UNION SELECT host FROM sessions WHERE host IS NOT NULL AND ${where}
        UNION SELECT daemon FROM sessions WHERE ${where} UNION SELECT server_id FROM sessions WHERE ${where}`),
    of(`INSERT OR IGNORE INTO session_days (day, feature, user, host)
        SELECT $from / ${DAY_MS}, feature.id, user.id, ifnull(host.id, 0)
        FROM (SELECT server_id, daemon, feature, user, host, first_seen_at, ${HELD_UNTIL} AS until
              FROM sessions WHERE ${where}) AS held
        JOIN session_features AS feature ON feature.server_id = held.server_id AND feature.daemon = held.daemon
          AND feature.name = held.feature
        JOIN session_names AS user ON user.name = held.user
        LEFT JOIN session_names AS host ON host.name = held.host
        WHERE first_seen_at < $to AND (until > $from OR first_seen_at >= $from)`),
  ]);
  const [began = [], endedSoon = [], long = [], open = []] = parts;
  const servers = sqlite.query<{ id: string }, []>("SELECT id FROM servers");
  const note = sqlite.query<null, [number]>(
    "INSERT OR REPLACE INTO session_days_made (day, made) VALUES (?, 0)",
  );
  const isBegun = sqlite.query<null, [number]>("SELECT 1 FROM session_days_made WHERE day = ? AND made = 0");
  const end = sqlite.query<null, [number]>("UPDATE session_days_made SET made = 1 WHERE day = ?");
  const clear = [
    on(`DELETE FROM session_days WHERE (day, feature, user, host) IN
        (SELECT day, feature, user, host FROM session_days WHERE day >= ?1 AND day < ?2 LIMIT ?3)`),
    on(`DELETE FROM session_sums WHERE (day, key, name) IN
        (SELECT day, key, name FROM session_sums WHERE day >= ?1 AND day < ?2 LIMIT ?3)`),
  ];
  const dropMade = sqlite.query<null, [number]>("DELETE FROM session_days_made WHERE day < ?");
  const addSum = (id: string) =>
    on(`INSERT OR REPLACE INTO session_sums (day, key, name, seat_ms, sessions, begun, peak, last_at)
        VALUES (?1, ?2, ifnull(${id}, 0), ?3, ?4, ?5, ?6, ?7)`);
  const add = addSum("(SELECT id FROM session_names WHERE name = ?8)");
  const addFeature = addSum(
    "(SELECT id FROM session_features WHERE server_id = ?8 AND daemon = ?9 AND name = ?10)",
  );

  return {
    *begin(day, intervals) {
      const [from, to] = [day * DAY_MS, (day + 1) * DAY_MS];
      const polled = JSON.stringify(intervals);
      note.run(day);
      for (const rows of clear) while (rows.run(day, day + 1, ROWS_AT_ONCE).changes > 0) yield;
      const put = (part: typeof began, low: number, high: number, server: string) => {
        for (const statement of part) statement.run({ from, to, low, high, server, polled });
      };
      for (const { id } of servers.all()) {
        put(long, 0, 0, id);
        put(open, 0, 0, id);
        yield;
      }
      for (let at = from; at < to + DAY_MS; at += SLICE_MS) {
        if (at < to) put(began, at, at + SLICE_MS, "");
        put(endedSoon, at, at + SLICE_MS, "");
        yield;
      }
    },
    *finish(day, list) {
      for (const [place, { key, names, seatMs, sessions, begun, peak, lastAt }] of list.entries()) {
        const { server = "", daemon = "", feature = "" } = names;
        const figures = [day, key, seatMs, sessions, begun, peak, lastAt];
        if (key === "feature") addFeature.run(...figures, server, daemon, feature);
        else add.run(...figures, names[key] ?? null);
        if (place % ROWS_AT_ONCE === ROWS_AT_ONCE - 1) yield;
      }
      if (isBegun.get(day) !== null) end.run(day);
    },
    drop(before, limit) {
      const first = Math.ceil(before / DAY_MS);
      dropMade.run(first);
      return clear.reduce((rows, statement) => rows || statement.run(0, first, limit).changes, 0);
    },
  };
}
