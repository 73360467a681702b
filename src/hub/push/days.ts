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

async function clear(tx: Sql, { site }: Origin, { table, day }: Day): Promise<void> {
  const [from, until] = [day * DAY_MS, (day + 1) * DAY_MS];
  switch (table) {
    case "sessions":
      if (day === NO_DAY) await tx`DELETE FROM open_sessions WHERE site = ${site}`;
      else
        await tx`DELETE FROM sessions WHERE site = ${site} AND ended_at >= ${from} AND ended_at < ${until}`;
      return;
    case "denials":
      await tx`DELETE FROM denials WHERE site = ${site} AND at >= ${from} AND at < ${until}`;
      return;
    case "coverage":
      await tx`DELETE FROM coverage WHERE site = ${site} AND from_at >= ${from} AND from_at < ${until}`;
      return;
    case "statuses":
      await tx`DELETE FROM statuses WHERE site = ${site} AND from_at >= ${from} AND from_at < ${until}`;
      return;
    case "alerts":
      await tx`
        DELETE FROM alerts
        WHERE site = ${site} AND site_id IS NOT NULL AND started_at >= ${from} AND started_at < ${until}`;
      return;
    case "samples":
      await tx`DELETE FROM steps WHERE site = ${site} AND at >= ${from} AND at < ${until}`;
      await tx`DELETE FROM packed_days WHERE site = ${site} AND kind = ${table} AND day = ${day}`;
      return;
    case "hours":
    case "rollups":
    case "held":
      await tx`DELETE FROM packed_days WHERE site = ${site} AND kind = ${table} AND day = ${day}`;
      return;
    case "users":
      await tx`DELETE FROM history_users WHERE site = ${site}`;
      return;
  }
}

async function fill(tx: Sql, origin: Origin, day: Day): Promise<void> {
  switch (day.table) {
    case "sessions":
      await storeSessions(tx, origin, day.rows);
      return;
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
    case "held":
      return writeRows(
        tx,
        HELD,
        origin,
        day.rows.map((row) => ({ ...row, day: day.day })),
      );
    default:
      await noteFeatures(tx, origin, day.rows);
      return writeRows(
        tx,
        PACKED,
        origin,
        day.rows.map((row) => ({ ...row, kind: day.table, day: day.day })),
      );
  }
}

const USERS = `
  INSERT INTO history_users (site, id, name)
  SELECT $1, r.id, r.name FROM json_to_recordset($3::text::json) AS r(id bigint, name text) WHERE $2::int IS NOT NULL
  ON CONFLICT (site, id) DO UPDATE SET name = excluded.name`;

const HELD = `
  INSERT INTO packed_days (site, kind, day, feature_id, data)
  SELECT $1, 'held', r.day, 0, decode(r.data, 'base64')
  FROM json_to_recordset($3::text::json) AS r(day integer, data text)
  WHERE $2::int IS NOT NULL ON CONFLICT (site, kind, day, feature_id) DO UPDATE SET data = excluded.data`;

const PACKED = `
  INSERT INTO packed_days (site, kind, day, feature_id, data)
  SELECT $1, r.kind, r.day, f.id, decode(r.data, 'base64')
  FROM json_to_recordset($3::text::json)
    AS r(server text, daemon text, feature text, kind text, day integer, data text)
  JOIN history_features f ON f.site = $1 AND f.server = r.server AND f.daemon = r.daemon AND f.name = r.feature
  WHERE $2::int IS NOT NULL
  ON CONFLICT (site, kind, day, feature_id) DO UPDATE SET data = excluded.data`;
