import type { FeatureId } from "../domain/history.ts";
import {
  type HeldSeats,
  type HeldSession,
  type HeldSum,
  type Holding,
  heldSeatsOf,
} from "../domain/stats/held-seats.ts";
import { DAY_MS } from "../domain/time/clock.ts";
import {
  allOf,
  type Condition,
  compared,
  type Rows,
  type SessionFilter,
  sessionCondition,
} from "../store/conditions.ts";
import { dayOf, type KnownFeature, packedKeys } from "./buckets.ts";
import { createFeatureCounts, oncePerRange } from "./feature-counts.ts";
import { unpackSessionDay } from "./session-day.ts";

/** First id for users who are in no stored rollup. Ids in stored rollups are lower. */
const UNSTORED_USERS = 2 ** 40;

export const HELD_COLUMNS = `id, server_id AS server, daemon, feature, user, host, count,
  began_at AS beganAt, first_seen_at AS firstSeenAt, last_seen_at AS lastSeenAt, ended_at AS endedAt, end_reason AS endReason`;

/**
 * Columns for sessions of a known feature. Names are left out, because reading strings takes longer than
 * reading numbers.
 */
const FEATURE_COLUMNS = `count, first_seen_at AS firstSeenAt, last_seen_at AS lastSeenAt, ended_at AS endedAt,
  end_reason AS endReason`;

function ofFeature({ server, daemon, feature }: FeatureId): Condition {
  return { sql: "server_id = ? AND daemon = ? AND feature = ?", values: [server, daemon, feature] };
}

/** Must match the index `sessions_long` literally, or SQLite does not use this index. */
const IS_LONG = "ended_at - began_at > 86400000";

/**
 * Selects sessions that overlap a range, judged by their stored rows, in which open sessions have no end
 * yet. Returns a table in parentheses with the given columns. With a start, the table is a union of SELECTs
 * that exclude each other and use one index each, because an OR would read every session. Sessions that
 * began before the range's end and ended more than a day after this end are long sessions. There are at
 * most as many of them as seats, because all were held at the end of the range. Sessions open at `now` do
 * not count for later times.
 */
export function sessionsOverlapping(
  columns: string,
  filter: Condition,
  start: number | null,
  end: number | null,
  now: number,
): Condition {
  const parts: Condition[] = [];
  const select = (sql: string, values: readonly number[], from = "sessions") => {
    const where = allOf([filter, compared("began_at <", end), { sql, values }]);
    parts.push({ sql: `SELECT ${columns} FROM ${from} WHERE ${where.sql}`, values: where.values });
  };
  if (start === null) select("TRUE", []);
  else if (end === null) select("ended_at > ?", [start]);
  else {
    const soon = end + DAY_MS;
    select("ended_at > ? AND ended_at <= ?", [start, soon]);
    select(`ended_at > ? AND ${IS_LONG}`, [Math.max(start, soon)], "sessions INDEXED BY sessions_long");
  }
  if (start !== null && start < now) select("ended_at IS NULL", []);
  return {
    sql: `(${parts.map(({ sql }) => sql).join(" UNION ALL ")})`,
    values: parts.flatMap(({ values }) => values),
  };
}

const COUNTED = `SELECT count(*) FROM sessions INDEXED BY sessions_by_feature
  WHERE server_id = ?1 AND daemon = ?2 AND feature = ?3`;
/**
 * Counts a feature's sessions that ended in or after a range and began before the end of the range. Over
 * years there are many sessions, so those that ended in the range are counted in an index. Among the
 * sessions that ended later, only those of the next day and the few long ones are read. A session first
 * seen before the end also began before the end, and the index contains the time at which it was first
 * seen.
 */
const ENDED_IN = `SELECT (${COUNTED} AND ended_at > ?4 AND ended_at < ?5)`;
const ENDED = `${ENDED_IN} AS count`;
const ENDED_IN_OR_LATER = `${ENDED_IN}
  + (${COUNTED} AND ended_at >= max(?5, ?4 + 1) AND ended_at <= ?6 AND (first_seen_at < ?5 OR began_at < ?5))
  + (${COUNTED.replace("sessions_by_feature", "sessions_long")} AND ended_at > ?6 AND began_at < ?5 AND ${IS_LONG}) AS count`;

const HELD_DAYS = `FROM packed_days WHERE key >= ? AND key < ?
  AND day * ${DAY_MS} NOT IN (SELECT at FROM dirty WHERE kind = 'held')`;

type FeatureSession = Pick<
  HeldSession,
  "server" | "count" | "firstSeenAt" | "lastSeenAt" | "endedAt" | "endReason"
>;

interface Holder {
  readonly user: string;
  readonly beganAt: number;
  readonly endedAt: number | null;
}

export function createSessionReader({ all }: Rows, now: number, checkpoint: () => void) {
  const openSessions = createFeatureCounts(
    { all },
    "sessions WHERE ended_at IS NULL AND began_at >= ? AND began_at < ?",
  );
  // If the range ends now, no session ended later, so the count takes a third of the time.
  const endsLater = oncePerRange(
    (end) => all("SELECT 1 FROM sessions WHERE ended_at >= ? LIMIT 1", end).length > 0,
  );
  const userIds = new Map<string, number>();

  const idOf = (name: string): number =>
    userIds.getOrInsertComputed(name, () => {
      const [stored] = all<{ id: number }>("SELECT id FROM history_users WHERE name = ?", name);
      return stored?.id ?? UNSTORED_USERS + userIds.size;
    });

  function holders(feature: KnownFeature, start: number, end: number): Holder[] {
    const columns = "user, began_at AS beganAt, ended_at AS endedAt";
    const { sql, values } = sessionsOverlapping(columns, ofFeature(feature), start, end, now);
    return all<Holder>(`SELECT * FROM ${sql} WHERE user IS NOT NULL`, ...values);
  }

  function sessions(start: number, end: number, filter: SessionFilter | null): HeldSession[] {
    // Sessions first seen before the start that ended more than a day after the start are long sessions.
    // There are at most as many long and open sessions as seats, because all were held at the start.
    const soon = start + DAY_MS;
    const parts = [
      ["sessions_by_end", "ended_at >= ? AND ended_at <= ? AND first_seen_at < ?", start, soon, start],
      ["sessions_long", `ended_at > ? AND first_seen_at < ? AND ${IS_LONG}`, soon, start],
      ["sessions_open", "ended_at IS NULL AND first_seen_at < ?", start],
      ["sessions_by_start", "first_seen_at >= ? AND first_seen_at < ?", start, end],
    ] as const;
    return parts.flatMap(([index, sql, ...values]) => {
      checkpoint();
      const where = allOf([filter && sessionCondition(filter), { sql, values }]);
      const from = `sessions INDEXED BY ${index}`;
      return all<HeldSession>(`SELECT ${HELD_COLUMNS} FROM ${from} WHERE ${where.sql}`, ...where.values);
    });
  }

  function heldDay(day: number, filter: SessionFilter): HeldSeats | null {
    const [row] = all<{ data: Uint8Array }>(`SELECT data ${HELD_DAYS}`, ...packedKeys("held", day, day + 1));
    return row === undefined ? null : unpackSessionDay(day, row.data, filter);
  }

  return {
    holders,
    usersAmong(list: readonly Holder[], start: number, end: number): number[] {
      const isThere = ({ beganAt, endedAt }: Holder) =>
        beganAt < end && (endedAt === null ? start < now : endedAt > start);
      const names = new Set(list.filter(isThere).map(({ user }) => user));
      return [...names].map(idOf).sort((a, b) => a - b);
    },
    lastReadings() {
      const sql = "SELECT server_id AS server, max(read_at) AS readAt FROM coverage GROUP BY server_id";
      return new Map(
        all<{ server: string; readAt: number }>(sql).map(({ server, readAt }) => [server, readAt]),
      );
    },
    featureSessions(feature: FeatureId, start: number, end: number): FeatureSession[] {
      checkpoint();
      // Begin 1 ms earlier, because a session that ended at the start may have held its seats at that
      // moment.
      const { sql, values } = sessionsOverlapping(
        FEATURE_COLUMNS,
        ofFeature(feature),
        start - 1,
        end,
        Infinity,
      );
      const { server } = feature;
      const rows = all<Omit<FeatureSession, "server">>(sql.slice(1, -1), ...values);
      return rows.map((row) => ({ ...row, server }));
    },
    sessions,
    held: (from: number, to: number, filter: SessionFilter, holdingOf: (session: HeldSession) => Holding) =>
      heldDay(dayOf(from), filter) ?? heldSeatsOf(sessions(from, to, filter), holdingOf),
    /**
     * Reports whether another monitor's counts cover a part of the range. For such times, only logs show
     * who held seats.
     */
    hasOthersCounts(server: string, start: number, end: number): boolean {
      const sql =
        "SELECT 1 FROM coverage WHERE server_id = ? AND looks = 0 AND until_at > ? AND from_at < ? LIMIT 1";
      return all(sql, server, start, end).length > 0;
    },
    sessionCount(of: FeatureId, start: number, end: number): number {
      const { server, daemon, feature } = of;
      const values = [server, daemon, feature, start, end];
      const [ended] = endsLater(end, end)
        ? all<{ count: number }>(ENDED_IN_OR_LATER, ...values, end + DAY_MS)
        : all<{ count: number }>(ENDED, ...values);
      const open = start < now ? openSessions(of, Number.MIN_SAFE_INTEGER, end) : 0;
      return (ended?.count ?? 0) + open;
    },
    daysPacked(first: number, behind: number): ReadonlySet<number> {
      const days = all<{ day: number }>(`SELECT day ${HELD_DAYS}`, ...packedKeys("held", first, behind));
      return new Set(days.map(({ day }) => day));
    },
    heldSums(first: number, behind: number, of?: FeatureId): HeldSum[] {
      const { sql, values } = of === undefined ? allOf([]) : ofFeature(of);
      return all<HeldSum>(
        `SELECT server_id AS server, daemon, feature, sum(seat_ms) AS seatMs
         FROM (SELECT day ${HELD_DAYS}) CROSS JOIN held_days USING (day)
         WHERE ${sql} GROUP BY server_id, daemon, feature`,
        ...packedKeys("held", first, behind),
        ...values,
      );
    },
  };
}
