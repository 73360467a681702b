import { Database, SQLiteError } from "bun:sqlite";
import { dumpedRows } from "./mysql-dump.ts";
import { createOldMonitor, type OldMonitor, OldMonitorError } from "./old-monitor.ts";

/**
 * Tables and columns of phpLicenseWatcher's database: the schema since December 2020 (`usage`, with and
 * without `events`), and that of versions 0.9 to 2.0 (`license_usage`). A column with `?` is optional,
 * because some versions lack it. Source: database/ and the history of
 * https://github.com/phpLicenseWatcher/phpLicenseWatcher.
 */
const TABLES: Readonly<Record<string, string>> = {
  servers:
    "id name label? alias? notes? is_active? lm_default_usage_reporting? status? license_manager? version? lmgrd_version? last_updated?",
  features: "id name label? show_in_lists? is_tracked?",
  licenses: "id server_id feature_id",
  usage: "license_id time num_users",
  available: "license_id date num_licenses",
  events: "license_id time user type reason",
  license_usage: "flmusage_server flmusage_product flmusage_date flmusage_time flmusage_users",
  licenses_available: "flmavailable_date flmavailable_server flmavailable_product flmavailable_num_licenses",
  flexlm_events: "flmevent_date flmevent_time flmevent_type flmevent_feature flmevent_user flmevent_reason",
  server: "id name alias?",
  feature: "featureID feature showInLists? label?",
  server_status:
    "server_id server_dns server_port label? status lm_hostname? isMaster? lmgrd_version? last_updated",
};
const columnsOf = (table: string) => TABLES[table]?.replaceAll("?", "").split(" ") ?? [];

// A day with two different totals has none. phpLicenseWatcher also writes 0 for uncounted features.
const PRESENT = `SELECT servers.name AS server, features.name AS feature, unixepoch(usage.time) AS wall,
    CAST(num_users AS INTEGER) AS used, seats.total AS total
  FROM usage LEFT JOIN licenses ON licenses.id = usage.license_id
    LEFT JOIN servers ON servers.id = server_id LEFT JOIN features ON features.id = feature_id
    LEFT JOIN (SELECT license_id AS license, date AS day, nullif(CAST(max(num_licenses) AS INTEGER), 0) AS total FROM available
      GROUP BY license_id, date HAVING min(num_licenses) = max(num_licenses)) AS seats
    ON license = usage.license_id AND day = substr(usage.time, 1, 10)`;
const OLDER = `SELECT flmusage_server AS server, flmusage_product AS feature,
    unixepoch(flmusage_date || ' ' || flmusage_time) AS wall, CAST(flmusage_users AS INTEGER) AS used, seats.total AS total
  FROM license_usage LEFT JOIN (SELECT flmavailable_server AS server, flmavailable_product AS product, flmavailable_date AS day,
      nullif(CAST(max(flmavailable_num_licenses) AS INTEGER), 0) AS total FROM licenses_available
      GROUP BY 1, 2, 3 HAVING min(flmavailable_num_licenses) = max(flmavailable_num_licenses)) AS seats
    ON seats.server = flmusage_server AND product = flmusage_product AND day = flmusage_date`;
const SERIES = `SELECT server, feature, NULL AS daemon, CASE WHEN max(used) = 0 AND count(total) = 0 THEN
    'that was uncounted or never used, both of which it stores as 0' END AS problem
  FROM readings GROUP BY server, feature`;

/**
 * Reads a dump of phpLicenseWatcher's database. Throws OldMonitorError for unknown tables or columns, and for
 * counts without a server or feature.
 */
export async function readPhpLicenseWatcher(
  pieces: AsyncIterable<Uint8Array>,
  name: string,
): Promise<OldMonitor> {
  const sqlite = new Database(":memory:");
  try {
    return await readInto(sqlite, pieces, name);
  } catch (error) {
    sqlite.close();
    if (!(error instanceof SQLiteError)) throw error;
    const where = "temporary tables, in $SQLITE_TMPDIR or /var/tmp";
    throw new OldMonitorError(`${name} cannot be loaded into ${where}: ${error.message}`);
  }
}

async function readInto(sqlite: Database, pieces: AsyncIterable<Uint8Array>, name: string) {
  for (const table of Object.keys(TABLES)) sqlite.run(`CREATE TEMP TABLE ${table} (${columnsOf(table)})`);
  const seen = new Set<string>();
  sqlite.run("BEGIN");
  for await (const { table, columns, rows } of dumpedRows(pieces, name)) {
    checkTable(name, table, columns);
    seen.add(table);
    const insert = sqlite.query(`INSERT INTO ${table} (${columns}) VALUES (${columns.map(() => "?")})`);
    for (const row of rows) {
      if (row.length !== columns.length)
        throw new OldMonitorError(
          `${name} has a row of ${table} with ${row.length} values for its ${columns}`,
        );
      insert.run(...row);
    }
  }
  sqlite.run("COMMIT");
  if (seen.has("usage") === seen.has("license_usage"))
    throw new OldMonitorError(
      seen.has("usage")
        ? `${name} has usage and license_usage, which are from two versions; dump only one database`
        : `${name} has neither usage nor license_usage, so it is not a dump of phpLicenseWatcher's database`,
    );
  const counted = sqlite.query<{ name: string }, []>(
    "SELECT name FROM servers WHERE lm_default_usage_reporting = '0' ORDER BY name",
  );
  const notes = counted
    .all()
    .map(
      (server) =>
        `${server.name} was counted without reservations (lm_default_usage_reporting = 0): where seats are reserved, more were in use`,
    );
  const [{ events } = { events: 0 }] = sqlite
    .query<{ events: number }, []>(
      "SELECT (SELECT count(*) FROM events) + (SELECT count(*) FROM flexlm_events) AS events",
    )
    .all();
  if (events > 0)
    notes.push(
      `events are left out, ${events} in number: the debug logs tell more (licmond import --server ID FILE…)`,
    );
  const readings = seen.has("usage") ? PRESENT : OLDER;
  const monitor = createOldMonitor(sqlite, { readings, series: SERIES }, notes);
  if (sqlite.query("SELECT 1 FROM readings WHERE server IS NULL OR feature IS NULL LIMIT 1").get() !== null)
    throw new OldMonitorError(`${name} has counts of licenses without their servers and features`);
  return monitor;
}

function checkTable(name: string, table: string, columns: readonly string[]): void {
  if (!Object.hasOwn(TABLES, table))
    throw new OldMonitorError(
      `${name} has the table ${table}, which phpLicenseWatcher does not have: dump its database alone`,
    );
  const strange = columns.find((column) => !columnsOf(table).includes(column));
  if (strange !== undefined)
    throw new OldMonitorError(`${name} has the column ${table}.${strange}, which no known version has`);
  const needed = TABLES[table]?.split(" ").filter((column) => !column.endsWith("?")) ?? [];
  const missing = needed.find((column) => !columns.includes(column));
  if (missing !== undefined)
    throw new OldMonitorError(`${name} lacks the column ${table}.${missing}, which every known version has`);
}
