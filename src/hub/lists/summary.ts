import type { AlertCounts } from "../../domain/alerts.ts";
import { percent } from "../../domain/polls/feature-picture.ts";
import { NEXT_EXPIRIES, type PoolExpiry } from "../../domain/summary.ts";
import { iso } from "../../domain/time/clock.ts";
import type { Unit } from "../../domain/words.ts";
import { expirationRecords } from "../../http/records.ts";
import { type Pool, whole } from "../database/connect.ts";
import { SILENT_MS } from "../push/take-push.ts";
import { createConditions } from "./conditions.ts";
import type { Directory } from "./directory.ts";
import { serverAt } from "./directory.ts";
import { FEATURES_FROM, STATE, seatSets, withSilence } from "./features.ts";

/** The totals of a fleet, or of some of its servers, as `summarise` makes them of pictures. */
export async function fleetSummary(
  pool: Pool,
  directory: Directory,
  servers: readonly string[] | null,
  now: number,
) {
  const all = directory.snapshot().servers;
  const chosen = servers === null ? all : all.filter(({ server }) => servers.includes(server.id));
  const statuses = { up: 0, degraded: 0, down: 0, unknown: 0 };
  for (const { status } of chosen) statuses[status]++;
  const [sums, people, expiries, alerts, sites] = await Promise.all([
    featureSums(pool, servers, now),
    peopleCounts(pool, servers),
    nextExpiries(pool, servers),
    alertCounts(pool, servers),
    siteCounts(pool, now),
  ]);
  const readAt = chosen.flatMap(({ collectedAt }) => collectedAt ?? []);
  const known = readAt.length > 0;
  const useKnown = known && (sums.in_use > 0 || sums.counted === 0);
  const [used, usedOf] = [Number(sums.used), Number(sums.used_of)];
  const asOf = chosen.reduce((latest, { lastPollAt }) => Math.max(latest, lastPollAt ?? 0), 0);
  const collectedAt = known ? readAt.reduce((a, b) => Math.min(a, b)) : null;
  return {
    servers: statuses,
    features: sums.features,
    staleFeatures: sums.stale,
    seats: {
      total: known ? Number(sums.total) : null,
      used: useKnown ? used : null,
      available: useKnown ? usedOf - used : null,
    },
    unlimitedFeatures: sums.unlimited,
    utilization: useKnown ? percent(used, usedOf) : null,
    users: people.users,
    hosts: people.hosts,
    queued: Number(sums.queued),
    reserved: Number(sums.reserved),
    alerts,
    expiries: expirationRecords(expiries, chosen, asOf || (collectedAt ?? 0)),
    collectedAt: iso(collectedAt),
    sites,
  };
}

async function siteCounts(pool: Pool, now: number) {
  const [row] = await pool`
    SELECT count(*)::int AS total, count(*) FILTER (WHERE last_push_at IS NULL OR last_push_at < ${now - SILENT_MS})::int AS silent
    FROM sites`;
  return { total: row.total as number, silent: row.silent as number };
}

async function featureSums(pool: Pool, servers: readonly string[] | null, now: number) {
  const conditions = createConditions();
  const head = withSilence(conditions, now);
  conditions.servers("f", servers);
  const where = conditions.where();
  const known = "f.state <> 'failed'";
  const seats = `${known} AND f.unit = 'seats'`;
  const [row] = await pool.unsafe(
    `${head}, sets AS (${seatSets(`${known} AND ${where}`)}), counted AS (
       SELECT count(*)::int AS counted, count(used)::int AS in_use, coalesce(sum(total), 0) AS total,
         coalesce(sum(used), 0) AS used, coalesce(sum(total) FILTER (WHERE used IS NOT NULL), 0) AS used_of
       FROM sets WHERE NOT unlimited), features AS (
     SELECT count(*)::int AS features, count(*) FILTER (WHERE ${STATE} = 'stale')::int AS stale,
       count(*) FILTER (WHERE ${known} AND f.unlimited)::int AS unlimited,
       coalesce(sum(f.queued) FILTER (WHERE ${seats}), 0) AS queued,
       coalesce(sum(f.reserved) FILTER (WHERE ${seats}), 0) AS reserved
     FROM ${FEATURES_FROM} WHERE ${where})
     SELECT * FROM features, counted`,
    conditions.values,
  );
  return row;
}

/** Users and hosts, also those whose lines a cut reading lacks. */
async function peopleCounts(pool: Pool, servers: readonly string[] | null) {
  const conditions = createConditions();
  conditions.servers("r", servers);
  const [row] = await pool.unsafe(
    // Counting what is distinct would sort all rows; pairs are hashed, and few.
    `WITH held AS (
       SELECT r.user_name, r.lower_host FROM current_rows r
       WHERE r.kind IN ('checkout', 'held') AND ${conditions.where()} AND (site, server, daemon, feature) NOT IN
         (SELECT site, server, daemon, name FROM current_features WHERE state = 'failed')
       GROUP BY r.user_name, r.lower_host)
     SELECT (SELECT count(*) FROM (SELECT DISTINCT user_name FROM held WHERE user_name IS NOT NULL) u)::int AS users,
       (SELECT count(*) FROM (SELECT DISTINCT lower_host FROM held WHERE lower_host IS NOT NULL) h)::int AS hosts`,
    conditions.values,
  );
  return row as { readonly users: number; readonly hosts: number };
}

async function nextExpiries(pool: Pool, servers: readonly string[] | null): Promise<PoolExpiry[]> {
  const conditions = createConditions();
  conditions.servers("p", servers);
  const rows = await pool.unsafe(
    `SELECT * FROM current_pools p WHERE expires_at IS NOT NULL AND ${conditions.where()}
     ORDER BY expires_at, site, server, daemon, feature, pool LIMIT ${NEXT_EXPIRIES}`,
    conditions.values,
  );
  return rows.map(poolExpiry);
}

/** A row of `current_pools`. */
export function poolExpiry(row: Record<string, unknown>): PoolExpiry {
  return {
    server: serverAt(row.site as string, row.server as string),
    daemon: row.daemon as string,
    feature: row.feature as string,
    pool: row.pool as string,
    total: whole(row.total),
    expiry: {
      expiresOn: row.expires_on as string | null,
      expiresAt: whole(row.expires_at),
      permanent: row.permanent as boolean,
    },
    unit: row.unit as Unit,
    seatGroup: row.seat_group as string | null,
  };
}

async function alertCounts(pool: Pool, servers: readonly string[] | null): Promise<AlertCounts> {
  const conditions = createConditions();
  conditions.servers("a", servers);
  const rows: { severity: keyof AlertCounts; count: number }[] = await pool.unsafe(
    `SELECT severity, count(*)::int AS count FROM alerts a WHERE resolved_at IS NULL AND ${conditions.where()} GROUP BY severity`,
    conditions.values,
  );
  const counts = { info: 0, warning: 0, critical: 0 };
  for (const { severity, count } of rows) counts[severity] = count;
  return counts;
}
