import type { Database } from "bun:sqlite";
import type { FeatureId } from "../domain/history.ts";
import type { HeldSession } from "../domain/stats/holding.ts";
import type { UsageNames, UsageSum } from "../domain/stats/usage.ts";
import type { Rows } from "../store/denial-queries.ts";
import { allOf, type Condition, IS_LONG, LONG_MS, sessionCondition } from "./filters.ts";
import type { HistorySource } from "./source.ts";

/** Rows in memory at once. */
const BATCH_ROWS = 10_000;
/** Ids of sessions lie between these. */
const LOWEST_ID = -(2 ** 54);
const HIGHEST_ID = 2 ** 54;

/** What the statistics need of a session. */
export const HELD_COLUMNS = `id, server_id AS server, daemon, feature, user, host, count,
  began_at AS beganAt, first_seen_at AS firstSeenAt, last_seen_at AS lastSeenAt, ended_at AS endedAt, end_reason AS endReason`;

type SessionRow = HeldSession & { readonly id: number };

/** The part of the source that is about sessions. */
export type SessionReader = Pick<HistorySource, "now" | "checkpoint"> & {
  lastReadings(): ReadonlyMap<string, number>;
  sessions(...asked: Parameters<HistorySource["sessions"]>): Generator<readonly HeldSession[]>;
  sessionCount(feature: FeatureId, start: number, end: number): number;
  daysMade(first: number, behind: number): ReadonlySet<number>;
  daySums(...asked: Parameters<HistorySource["daySums"]>): Generator<readonly UsageSum[]>;
  dayUsers(first: number, behind: number): Generator<readonly UsageNames[]>;
};

export function createSessionReader(
  sqlite: Database,
  { all }: Rows,
  now: number,
  checkpoint: () => void,
): SessionReader {
  /** Rows in the order of a column and their ids, from a place behind one on. */
  function* batches(where: Condition, by: "ended_at" | "first_seen_at", from: number, id: number) {
    const statement = `SELECT ${HELD_COLUMNS} FROM sessions
      WHERE ${where.sql} AND (${by}, id) > (?, ?) ORDER BY ${by}, id LIMIT ${BATCH_ROWS}`;
    for (let place = [from, id]; ; ) {
      checkpoint();
      const rows = all<SessionRow>(statement, ...where.values, ...place);
      yield rows;
      const last = rows.at(-1);
      if (last === undefined || rows.length < BATCH_ROWS) return;
      place = [by === "ended_at" ? (last.endedAt ?? 0) : last.firstSeenAt, last.id];
    }
  }

  /** The sessions of one feature that overlap a range, by its index. */
  function ofFeature({ server, daemon, feature }: FeatureId, start: number, end: number): SessionRow[] {
    checkpoint();
    const select = (ended: string, index = "") =>
      `SELECT ${HELD_COLUMNS} FROM sessions ${index}
       WHERE server_id = ?1 AND daemon = ?2 AND feature = ?3 AND ${ended} AND began_at < ?5`;
    const soon = select(`ended_at >= ?4 AND ended_at <= ?5 + ${LONG_MS}`);
    const late = select(`ended_at > max(?4, ?5 + ${LONG_MS}) AND ${IS_LONG}`, "INDEXED BY sessions_long");
    return all<SessionRow>(
      `${soon} UNION ALL ${late} UNION ALL ${select("ended_at IS NULL AND ?4 IS NOT NULL")}`,
      ...[server, daemon, feature, start, end],
    ).sort((a, b) => a.firstSeenAt - b.firstSeenAt);
  }

  let counts: { readonly key: string; of(feature: FeatureId): number } | null = null;

  /**
   * Of years there are many: those that ended in the range are counted in an index, of those that ended later only the
   * next day's are looked at, and the few long ones.
   */
  function counterOf(start: number, end: number): (feature: FeatureId) => number {
    const from = (index: string) =>
      `SELECT count(*) FROM sessions INDEXED BY ${index} WHERE server_id = ?1 AND daemon = ?2 AND feature = ?3`;
    const ended = `(${from("sessions_by_feature")} AND ended_at > ?4 AND ended_at < ?5)`;
    // Who was seen before the end began before it: that stands in the index.
    const endedSoon = `(${from("sessions_by_feature")} AND ended_at >= max(?5, ?4 + 1) AND ended_at <= ?6
      AND (first_seen_at < ?5 OR began_at < ?5))`;
    const endedLate = `(${from("sessions_long")} AND ended_at > ?6 AND began_at < ?5 AND ${IS_LONG})`;
    const later = all("SELECT 1 FROM sessions WHERE ended_at >= ? LIMIT 1", end).length > 0;
    const select = sqlite.query<{ sessions: number }, (string | number)[]>(
      `SELECT ${later ? `${ended} + ${endedSoon} + ${endedLate}` : `${ended} + 0 * ?6`} AS sessions`,
    );
    // What is open now says nothing of what is still to come.
    const running =
      start < now
        ? all<FeatureId & { sessions: number }>(
            `SELECT server_id AS server, daemon, feature, count(*) AS sessions FROM sessions
             WHERE ended_at IS NULL AND began_at < ? GROUP BY server_id, daemon, feature`,
            end,
          )
        : [];
    const open = new Map(running.map((row) => [keyOf(row), row.sessions]));
    return (one) => {
      const { server, daemon, feature } = one;
      const closed = select.get(server, daemon, feature, start, end, end + LONG_MS)?.sessions ?? 0;
      return closed + (open.get(keyOf(one)) ?? 0);
    };
  }

  let known: { names: (string | null)[]; features: FeatureId[] } | null = null;

  function ids() {
    if (known !== null) return known;
    known = { names: [null], features: [] };
    for (const { id, name } of all<{ id: number; name: string }>("SELECT id, name FROM session_names"))
      known.names[id] = name;
    for (const { id, ...feature } of all<FeatureId & { id: number }>(
      "SELECT id, server_id AS server, daemon, name AS feature FROM session_features",
    ))
      known.features[id] = feature;
    return known;
  }

  return {
    now,
    checkpoint,
    lastReadings: () =>
      new Map(
        all<{ server: string; readAt: number }>(
          "SELECT server_id AS server, max(read_at) AS readAt FROM coverage GROUP BY server_id",
        ).map(({ server, readAt }) => [server, readAt]),
      ),
    *sessions(start, end, filter, of) {
      if (of !== undefined) {
        for (const feature of of) yield ofFeature(feature, start, end);
        return;
      }
      const wanted = filter === null ? null : sessionCondition(filter);
      const but = (sql: string, ...values: number[]) => allOf([wanted, { sql, values }]);
      const soon = start + LONG_MS;
      // What ended more than a day after it was seen is a long one; the rest of what was held ended within a day.
      yield* batches(
        but("ended_at <= ? AND first_seen_at < ?", soon, start),
        "ended_at",
        start - 1,
        HIGHEST_ID,
      );
      const long = but(
        `ended_at > ? AND began_at < ? AND ${IS_LONG} AND first_seen_at < ?`,
        soon,
        start,
        start,
      );
      // All of these were held at one moment: there are as many as there are seats, at most.
      yield all<SessionRow>(
        `SELECT ${HELD_COLUMNS} FROM sessions INDEXED BY sessions_long WHERE ${long.sql}`,
        ...long.values,
      );
      const open = but("ended_at IS NULL AND first_seen_at < ?", start);
      yield all<SessionRow>(
        `SELECT ${HELD_COLUMNS} FROM sessions INDEXED BY sessions_open WHERE ${open.sql}`,
        ...open.values,
      );
      yield* batches(but("first_seen_at < ?", end), "first_seen_at", start, LOWEST_ID);
    },
    sessionCount(feature, start, end) {
      const key = `${start} ${end}`;
      if (counts?.key !== key) counts = { key, of: counterOf(start, end) };
      return counts.of(feature);
    },
    daysMade: (first, behind) =>
      new Set(
        all<{ day: number }>(
          "SELECT day FROM session_days_made WHERE made = 1 AND day >= ? AND day < ?",
          ...[first, behind],
        ).map(({ day }) => day),
      ),
    *daySums(first, behind, key, of) {
      const { names, features } = of === undefined ? ids() : { names: [], features: [] };
      const columns =
        "name, seat_ms, sessions, begun, peak, last_at FROM session_sums WHERE day = ? AND key = ?";
      const select = sqlite.query<null, [number, string]>(`SELECT ${columns}`);
      const selectOne = sqlite.query<null, [number, string, number]>(`SELECT ${columns} AND name = ?`);
      const wanted = of?.flatMap((names) => {
        const [row] = all<{ id: number }>(
          "SELECT id FROM session_features WHERE server_id = ? AND daemon = ? AND name = ?",
          ...[names.server, names.daemon, names.feature],
        );
        return row === undefined ? [] : [{ id: row.id, names }];
      });
      const namesOf = (name: number): Partial<UsageNames> =>
        key === "feature" ? (features[name] ?? {}) : { [key]: names[name] ?? null };
      for (let day = first; day < behind; day++) {
        checkpoint();
        yield wanted === undefined
          ? numbers(select.values(day, key)).map(([name = 0, ...sum]) => sumOf(namesOf(name), sum))
          : wanted.flatMap(({ id, names }) =>
              numbers(selectOne.values(day, key, id)).map(([, ...sum]) => sumOf(names, sum)),
            );
      }
    },
    *dayUsers(first, behind) {
      const { names, features } = ids();
      const select = sqlite.query<null, [number]>(
        "SELECT feature, user, host FROM session_days WHERE day = ?",
      );
      for (let day = first; day < behind; day++) {
        checkpoint();
        yield numbers(select.values(day)).map(([of = 0, user = 0, host = 0]) => {
          const { server = "", daemon = "", feature = "" } = features[of] ?? {};
          return { server, daemon, feature, user: names[user] ?? "", host: names[host] ?? null };
        });
      }
    },
  };
}

/** Rows of columns that are all numbers: several times as fast as rows by their names. */
function numbers(rows: unknown[][]): number[][] {
  // Which columns there are stands in the SELECT beside it.
  return rows as number[][];
}

function sumOf(
  names: Partial<UsageNames>,
  [seatMs = 0, sessions = 0, begun = 0, peak = 0, lastAt = 0]: readonly number[],
): UsageSum {
  return { names, seatMs, sessions, begun, peak, lastAt };
}

function keyOf({ server, daemon, feature }: FeatureId): string {
  return `${server}\0${daemon}\0${feature}`;
}
