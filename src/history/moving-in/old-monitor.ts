import type { Database } from "bun:sqlite";

/**
 * The data is not from the other monitor, or from an unsupported version. The message is for an
 * administrator.
 */
export class OldMonitorError extends Error {
  override readonly name = "OldMonitorError";
}

/** A feature of a server, as the other monitor names it. */
export interface OldSeries {
  readonly server: string;
  readonly feature: string;
  /** Null if the monitor does not store it. */
  readonly daemon: string | null;
  /** Why its counts are unusable; null if they are usable. */
  readonly problem: string | null;
}

export interface OldReading {
  /** Wall-clock time at the monitor's host as seconds since 1970-01-01; null if invalid. */
  readonly wall: number | null;
  readonly used: number | null;
  /** Seats on that day; null if the monitor does not store them. */
  readonly total: number | null;
}

export type OldMonitor = ReturnType<typeof createOldMonitor>;

/** Assumed interval if there is only one reading. */
const USUAL_MINUTES = 10;

/**
 * Reads another monitor's counts by SQL over its tables. `readings` selects `server, feature, wall, used,
 * total` (see OldReading), `series` selects the fields of OldSeries from the table `readings`. Temporary
 * tables are private files, because years of counts may exceed memory. `notes`: remarks about the counts, in
 * sentences.
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
    /** Number of readings. */
    count: list<{ count: number }>("SELECT count(*) AS count FROM readings")[0]?.count ?? 0,
    seriesOf: (server: string) => series.all(server),
    /** In time order. */
    readingsOf: ({ server, feature }: OldSeries) => readings.iterate(server, feature),
    /** Returns the usual interval between readings of a server, ms. */
    intervalOf: (server: string) => (usual.get(server)?.minutes ?? USUAL_MINUTES) * 60_000,
    [Symbol.dispose]: () => sqlite.close(),
  };
}
