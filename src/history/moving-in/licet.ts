import { Database } from "bun:sqlite";
import { messageOf } from "../../domain/error-code.ts";
import {
  createSurvey,
  type OldCount,
  type OldMonitor,
  OldMonitorError,
  type OldSeries,
  wallOf,
} from "./old-monitor.ts";

/**
 * Tables of licet's database at the version of its schema that is known. Source: internal/database/migrations of
 * https://github.com/thoscut/licet.
 */
const TABLES = "servers features feature_usage license_events alerts alert_events schema_migrations".split(
  " ",
);
const VERSION = 4;
const CHUNK = 5_000;

interface UsageRow {
  readonly server: string;
  readonly feature: string;
  readonly date: string;
  readonly time: string;
  readonly used: number;
}

/** Reads licet's SQLite database. Throws OldMonitorError on what is none, or is of another version. */
export function readLicet(path: string): OldMonitor & { readonly rows: number } & Disposable {
  const sqlite = open(path);
  try {
    checkTables(sqlite, path);
    const survey = createSurvey(path);
    const usage = sqlite.query<UsageRow, []>(
      `SELECT server_hostname AS server, feature_name AS feature, date, time, users_count AS used
       FROM feature_usage ORDER BY server_hostname, feature_name, date, time`,
    );
    function* counts(onRead: (rows: number) => void): Generator<OldCount[]> {
      let chunk: OldCount[] = [];
      for (const { server, feature, date, time, used } of usage.iterate()) {
        chunk.push({
          key: `${server}\0${feature}`,
          wall: wallOf(String(date).slice(0, 10), String(time)),
          used,
        });
        if (chunk.length < CHUNK) continue;
        onRead(chunk.length);
        yield chunk;
        chunk = [];
      }
      onRead(chunk.length);
      yield chunk;
    }
    let rows = 0;
    for (const chunk of counts(() => {}))
      for (const count of chunk) {
        survey.see(count.key, count.key.split("\0")[0] ?? "", count);
        rows++;
      }
    const pools = sqlite.query<{ pools: number; daemon: string | null }, [string, string]>(
      `SELECT count(*) FILTER (WHERE is_active) AS pools, max(vendor_daemon) AS daemon FROM features
       WHERE server_hostname = ? AND name = ?`,
    );
    const series = new Map<string, OldSeries>();
    for (const key of survey.seen.keys()) {
      const [server = "", feature = ""] = key.split("\0");
      const { pools: found = 0, daemon = null } = pools.get(server, feature) ?? {};
      const problem = found > 1 ? `in ${found} pools, of which it stores the count of any one` : null;
      series.set(key, { server, feature, daemon: daemon || null, problem, totalOn: () => null });
    }
    const notes = [
      "licet stores no number of seats with its counts, and counts a checkout of several seats as one",
    ];
    const { intervalOf } = survey;
    return { series, notes, intervalOf, counts, rows, [Symbol.dispose]: () => sqlite.close() };
  } catch (error) {
    sqlite.close();
    throw error instanceof OldMonitorError ? error : notReadable(path, error);
  }
}

function open(path: string): Database {
  try {
    return new Database(path, { readonly: true });
  } catch (error) {
    throw notReadable(path, error);
  }
}

const notReadable = (path: string, error: unknown) =>
  new OldMonitorError(`${path} cannot be read as licet's SQLite database: ${messageOf(error)}`);

function checkTables(sqlite: Database, path: string): void {
  const tables = sqlite
    .query<{ name: string }, []>(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
    )
    .all()
    .map(({ name }) => name);
  const strange = tables.find((name) => !TABLES.includes(name));
  if (strange !== undefined)
    throw new OldMonitorError(`${path} has the table ${strange}, which licet does not have`);
  const missing = TABLES.find((name) => !tables.includes(name));
  if (missing !== undefined) throw new OldMonitorError(`${path} lacks licet's table ${missing}`);
  const { version, dirty } = sqlite
    .query<{ version: number; dirty: number }, []>("SELECT version, dirty FROM schema_migrations")
    .get() ?? { version: 0, dirty: 0 };
  if (version !== VERSION || dirty !== 0)
    throw new OldMonitorError(
      `${path} has version ${version} of licet's schema${dirty === 0 ? "" : ", half-way"}; ${VERSION} is known: start that licet once, which brings its database to its own version`,
    );
}
