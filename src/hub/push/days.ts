import { DAY_MS } from "../../domain/time/clock.ts";
import type { Day } from "../../fleet/protocol.ts";
import type { Sql } from "../database/connect.ts";
import {
  noteFeatures,
  type Origin,
  storeAlerts,
  storeCoverage,
  storeDenials,
  storeSessions,
  storeStatuses,
  upsert,
  writeRows,
} from "./facts.ts";

/** Day of open sessions, and of everything that belongs to no day. */
const NO_DAY = -1;

/** Stores days. Part 0 first deletes all rows of its table and day. */
export async function storeDays(tx: Sql, origin: Origin, days: readonly Day[]): Promise<void> {
  for (const day of days) {
    if (day.part === 0) await clear(tx, origin, day);
    await fill(tx, origin, day);
  }
}

/** Tables whose rows belong to the day of a time. */
const DAY_OF = {
  sessions: ["sessions", "ended_at"],
  denials: ["denials", "at"],
  coverage: ["coverage", "from_at"],
  statuses: ["statuses", "from_at"],
  alerts: ["alerts", "started_at"],
  samples: ["steps", "at"],
} as const;

async function clear(tx: Sql, { site }: Origin, { table, day }: Day): Promise<void> {
  if (table === "users") return tx`DELETE FROM history_users WHERE site = ${site}`;
  if (table === "sessions" && day === NO_DAY) return tx`DELETE FROM open_sessions WHERE site = ${site}`;
  if (table in DAY_OF) {
    const [name, time] = DAY_OF[table as keyof typeof DAY_OF];
    const more = table === "alerts" ? "AND site_id IS NOT NULL" : "";
    const range = [site, day * DAY_MS, (day + 1) * DAY_MS];
    await tx.unsafe(`DELETE FROM ${name} WHERE site = $1 AND ${time} >= $2 AND ${time} < $3 ${more}`, range);
  }
  if (table === "samples" || !(table in DAY_OF))
    await tx`DELETE FROM packed_days WHERE site = ${site} AND kind = ${table} AND day = ${day}`;
}

function fill(tx: Sql, origin: Origin, day: Day): Promise<unknown> {
  switch (day.table) {
    case "sessions":
      return storeSessions(tx, origin, day.rows);
    case "denials":
      return storeDenials(tx, origin, day.rows);
    case "coverage":
      return storeCoverage(tx, origin, day.rows);
    case "statuses":
      return storeStatuses(tx, origin, day.rows);
    case "alerts":
      return storeAlerts(tx, origin, day.rows);
    case "users":
      return writeRows(tx, USERS, origin, day.rows);
    case "held": {
      const rows = day.rows.map((row) => ({ ...row, day: day.day }));
      return writeRows(tx, HELD, origin, rows);
    }
    default: {
      const rows = day.rows.map((row) => ({ ...row, kind: day.table, day: day.day }));
      return noteFeatures(tx, origin, day.rows).then(() => writeRows(tx, PACKED, origin, rows));
    }
  }
}

const USERS = upsert("history_users", "site, id", "id bigint, name text");

const HELD = `
  INSERT INTO packed_days (site, kind, day, feature_id, data)
  SELECT $1, 'held', r.day, 0, decode(r.data, 'base64')
  FROM json_to_recordset($2::text::json) AS r(day integer, data text) ON CONFLICT (site, kind, day, feature_id) DO UPDATE SET data = excluded.data`;

const PACKED = `
  INSERT INTO packed_days (site, kind, day, feature_id, data)
  SELECT $1, r.kind, r.day, f.id, decode(r.data, 'base64')
  FROM json_to_recordset($2::text::json)
    AS r(server text, daemon text, feature text, kind text, day integer, data text)
  JOIN history_features f ON f.site = $1 AND f.server = r.server AND f.daemon = r.daemon AND f.name = r.feature
  ON CONFLICT (site, kind, day, feature_id) DO UPDATE SET data = excluded.data`;
