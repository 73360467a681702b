import type { Database } from "bun:sqlite";

/** The data are not those of the monitor, or of a version that is not known; in words for an administrator. */
export class OldMonitorError extends Error {
  override readonly name = "OldMonitorError";
}

/** A feature of a server, as the other monitor names it. */
export interface OldSeries {
  readonly server: string;
  readonly feature: string;
  /** Null: it does not say. */
  readonly daemon: string | null;
  /** Why its counts say nothing; null = they do. */
  readonly problem: string | null;
}

export interface OldReading {
  /** What the clocks of its host showed, as seconds since 1970-01-01; null when it is no time. */
  readonly wall: number | null;
  readonly used: number | null;
  /** Seats of that day; null = it does not say. */
  readonly total: number | null;
}

export type OldMonitor = ReturnType<typeof createOldMonitor>;

/** The distance of readings where there is none. */
const USUAL_MINUTES = 10;

/**
 * What another monitor counted, by SQL over its tables. `readings` answers `server, feature, wall, used, total` (see
 * OldReading), `series` what OldSeries has, from the table `readings`. Temporary tables are files that nobody else sees:
 * years of counts may be larger than memory. `notes`: what is to be known of its counts, in sentences.
 */
export function createOldMonitor(
  sqlite: Database,
  sql: { readonly readings: string; readonly series: string },
  notes: readonly string[],
) {
  sqlite.run(`CREATE TEMP TABLE readings AS ${sql.readings}`);
  sqlite.run("CREATE INDEX temp.readings_by_time ON readings (server, feature, wall)");
  sqlite.run(`CREATE TEMP TABLE series AS ${sql.series}`);
  const series = sqlite.query<OldSeries, [string]>("SELECT * FROM series WHERE server = ? ORDER BY feature");
  const readings = sqlite.query<OldReading, [string, string]>(
    "SELECT wall, used, total FROM readings WHERE server = ? AND feature = ? ORDER BY wall",
  );
  const usual = sqlite.query<{ minutes: number }, [string]>(
    `SELECT minutes FROM (SELECT max(1, round((wall - lag(wall) OVER (PARTITION BY feature ORDER BY wall)) / 60.0)) AS minutes
       FROM readings WHERE server = ?)
     WHERE minutes <= 1440 GROUP BY minutes ORDER BY count(*) DESC, minutes LIMIT 1`,
  );
  const list = <T>(of: string) => sqlite.query<T, []>(of).all();
  return {
    notes,
    servers: list<{ server: string }>("SELECT DISTINCT server FROM series ORDER BY server").map(
      ({ server }) => server,
    ),
    /** How many counts there are. */
    count: list<{ count: number }>("SELECT count(*) AS count FROM readings")[0]?.count ?? 0,
    seriesOf: (server: string) => series.all(server),
    /** In the order of time. */
    readingsOf: ({ server, feature }: OldSeries) => readings.iterate(server, feature),
    /** How far apart the readings of a server mostly are, ms. */
    intervalOf: (server: string) => (usual.get(server)?.minutes ?? USUAL_MINUTES) * 60_000,
    [Symbol.dispose]: () => sqlite.close(),
  };
}
