/**
 * Sums over the features of a server. Seats are counted per set (`domain/polls/seat-groups.ts`). All but
 * the first four fields exclude failed features.
 */
export interface Sums {
  readonly features: number;
  readonly checkouts: number;
  /** Sum over all sets; null if no set has a known total. */
  readonly total: number | null;
  readonly used: number | null;
  readonly failed: number;
  /** Number of features that are known to have no free seat. */
  readonly full: number;
  readonly stale: number;
  readonly unlimited: number;
  readonly queued: number;
  readonly reserved: number;
  /** `sets` is the number of sets with a limit, `setsInUse` the number of these sets whose use is known. */
  readonly sets: number;
  readonly setsInUse: number;
  readonly seats: number;
  readonly seatsUsed: number;
  /** Total seats of the sets whose use is known. */
  readonly seatsOfUsed: number;
  /** The next day on which licenses expire, counted from the picture's day, as YYYY-MM-DD. */
  readonly nextExpiry: string | null;
}
export type Sum = Exclude<keyof Sums, "nextExpiry">;

const READ = "state <> 'failed'";
const LIMITED = `FILTER (WHERE NOT read_unlimited)`;
/** Returns the size of a seat group. If one of several members is unlimited, the group is unlimited. */
const sizeOf = (members: string) =>
  `CASE WHEN count(*) ${members} = 1 OR NOT bool_or(unlimited) ${members} THEN max(total) ${members} END`;

/** Excludes components of a package if the server also has the package itself (`sharedSets`). */
const COUNTED = `coalesce(seat_group NOT LIKE 'package %', true) OR seat_group = 'package ' || name OR NOT EXISTS (
      SELECT FROM current_features p WHERE p.site = f.site AND p.server = f.server AND p.unit = f.unit
        AND p.seat_group = f.seat_group AND f.seat_group = 'package ' || p.name)`;

export const SUMS = `
  WITH r AS (
    SELECT server, now FROM json_to_recordset($2::text::json) AS r(server text, now bigint)
  ), own AS (
    SELECT f.*, ${COUNTED} AS counted FROM r JOIN current_features f ON f.site = $1 AND f.server = r.server
  ), sets AS (
    SELECT server, ${sizeOf("")} AS total, CASE WHEN NOT bool_or(unlimited) THEN sum(used) END AS used,
      bool_or(unlimited) FILTER (WHERE ${READ}) AS read_unlimited, ${sizeOf(`FILTER (WHERE ${READ})`)} AS read_total,
      sum(used) FILTER (WHERE ${READ}) AS read_used
    FROM own WHERE unit = 'seats' AND counted
    GROUP BY server, seat_group, CASE WHEN seat_group IS NULL THEN daemon END, CASE WHEN seat_group IS NULL THEN name END
  ), seats AS (
    SELECT r.server, sum(total) AS total, sum(used) AS used, count(*) ${LIMITED} AS sets,
      count(read_used) ${LIMITED} AS "setsInUse", coalesce(sum(read_total) ${LIMITED}, 0) AS seats,
      coalesce(sum(read_used) ${LIMITED}, 0) AS "seatsUsed",
      coalesce(sum(CASE WHEN read_used IS NOT NULL THEN read_total END) ${LIMITED}, 0) AS "seatsOfUsed"
    FROM r LEFT JOIN sets USING (server) GROUP BY r.server
  ), features AS (
    SELECT r.server, count(name) AS features, coalesce(sum(checkouts) FILTER (WHERE counted), 0) AS checkouts,
      coalesce(sum(listed), 0) AS listed,
      count(*) FILTER (WHERE available <= 0 AND own.total > 0 AND state NOT IN ('stale', 'failed')) AS "full",
      count(*) FILTER (WHERE state = 'failed') AS failed, count(*) FILTER (WHERE state = 'stale') AS stale,
      (SELECT min(expires_on) FROM current_pools p
        WHERE p.site = $1 AND p.server = r.server AND p.expires_at >= r.now) AS "nextExpiry",
      count(*) FILTER (WHERE ${READ} AND unlimited) AS unlimited,
      coalesce(sum(queued) FILTER (WHERE ${READ} AND unit = 'seats' AND counted), 0) AS queued,
      coalesce(sum(reserved) FILTER (WHERE ${READ} AND unit = 'seats' AND counted), 0) AS reserved
    FROM r LEFT JOIN own USING (server) GROUP BY r.server, r.now
  )
  UPDATE servers s SET features = a.features, listed = a.listed, sums = row_to_json(a) FROM (SELECT * FROM features JOIN seats USING (server)) a
  WHERE s.site = $1 AND s.server = a.server`;
