import { Database } from "bun:sqlite";
import { messageOf } from "../../domain/error-code.ts";
import { createOldMonitor, type OldMonitor, OldMonitorError } from "./old-monitor.ts";

/**
 * Tables of licet's database in the supported schema version. Source: internal/database/migrations of
 * https://github.com/thoscut/licet.
 */
const TABLES = [
  ...["alert_events", "alerts", "feature_usage", "features"],
  ...["license_events", "schema_migrations", "servers"],
];
const VERSION = 4;

const READINGS = `SELECT server_hostname AS server, feature_name AS feature, unixepoch(substr(date, 1, 10) || ' ' || time) AS wall,
    users_count AS used, NULL AS total FROM feature_usage`;
const SERIES = `SELECT server, feature, max(nullif(vendor_daemon, '')) AS daemon,
    CASE WHEN count(*) FILTER (WHERE is_active) > 1 THEN
      'in ' || count(*) FILTER (WHERE is_active) || ' pools, of which it stores the count of any one' END AS problem
  FROM (SELECT DISTINCT server, feature FROM readings)
  LEFT JOIN features ON server_hostname = server AND name = feature GROUP BY server, feature`;

/** Reads licet's SQLite database. Throws OldMonitorError for any other file or version. */
export function readLicet(path: string): OldMonitor {
  let sqlite: Database | null = null;
  try {
    sqlite = new Database(path, { readonly: true });
    checkVersion(sqlite, path);
    return createOldMonitor(sqlite, { readings: READINGS, series: SERIES }, [
      "licet stores no number of seats with its counts, and counts a checkout of several seats as one",
    ]);
  } catch (error) {
    sqlite?.close();
    if (error instanceof OldMonitorError) throw error;
    throw new OldMonitorError(`${path} cannot be read as licet's SQLite database: ${messageOf(error)}`);
  }
}

function checkVersion(sqlite: Database, path: string): void {
  const named = sqlite.query<{ name: string }, []>(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
  );
  const tables = named.all().map(({ name }) => name);
  const strange = tables.find((name) => !TABLES.includes(name));
  if (strange !== undefined)
    throw new OldMonitorError(`${path} has the table ${strange}, which licet does not have`);
  const missing = TABLES.find((name) => !tables.includes(name));
  if (missing !== undefined) throw new OldMonitorError(`${path} lacks licet's table ${missing}`);
  const migrated = sqlite.query<{ version: number; dirty: number }, []>(
    "SELECT version, dirty FROM schema_migrations",
  );
  const { version, dirty } = migrated.get() ?? { version: 0, dirty: 0 };
  if (version !== VERSION || dirty !== 0)
    throw new OldMonitorError(
      `${path} has version ${version} of licet's schema${dirty === 0 ? "" : ", half-way"}; ${VERSION} is known: start that licet once, which brings its database to its own version`,
    );
}
