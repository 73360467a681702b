import type { AlertCounts } from "../../domain/alerts.ts";
import { percent } from "../../domain/polls/feature-picture.ts";
import { NEXT_EXPIRIES } from "../../domain/summary.ts";
import { iso } from "../../domain/time/clock.ts";
import { expirationRecords } from "../../http/records.ts";
import type { Pool } from "../database/connect.ts";
import type { Sum } from "../push/sums.ts";
import { createConditions } from "./conditions.ts";
import { type Directory, sumOf } from "./directory.ts";
import { expiringPools } from "./expirations.ts";

export async function fleetSummary(pool: Pool, directory: Directory, servers: readonly string[] | null) {
  const { chosen, totals } = fleetTotals(directory, servers);
  const [people, expiries, alerts] = await Promise.all([
    peopleCounts(pool, servers),
    expiringPools(pool, servers, NEXT_EXPIRIES),
    alertCounts(pool, servers),
  ]);
  const asOf = chosen.reduce((latest, { lastPollAt }) => Math.max(latest, lastPollAt ?? 0), 0);
  // Same order of fields as in the daemon's answer.
  const { queued, reserved, collectedAt, sites, ...first } = totals;
  return {
    ...first,
    ...people,
    queued,
    reserved,
    alerts,
    expiries: expirationRecords(expiries, chosen, asOf || (collectedAt ?? 0)),
    collectedAt: iso(collectedAt),
    sites,
  };
}

export function fleetTotals(directory: Directory, servers: readonly string[] | null) {
  const all = directory.snapshot().servers;
  const named = servers === null ? null : new Set(servers);
  const chosen = named === null ? all : all.filter(({ server }) => named.has(server.id));
  const statuses = { up: 0, degraded: 0, down: 0, unknown: 0 };
  for (const { status } of chosen) statuses[status]++;
  const sums = directory.sums(chosen.map(({ server }) => server.id));
  const sum = (name: Sum) => sumOf(sums, name);
  const readAt = chosen.flatMap(({ collectedAt }) => collectedAt ?? []);
  const known = readAt.length > 0;
  const useKnown = known && (sum("setsInUse") > 0 || sum("sets") === 0);
  const [used, usedOf] = [sum("seatsUsed"), sum("seatsOfUsed")];
  const sites = directory.sites();
  const totals = {
    servers: statuses,
    features: sum("features"),
    staleFeatures: sum("stale"),
    seats: {
      total: known ? sum("seats") : null,
      used: useKnown ? used : null,
      available: useKnown ? usedOf - used : null,
    },
    unlimitedFeatures: sum("unlimited"),
    utilization: useKnown ? percent(used, usedOf) : null,
    queued: sum("queued"),
    reserved: sum("reserved"),
    collectedAt: known ? readAt.reduce((a, b) => Math.min(a, b)) : null,
    sites: { total: sites.length, silent: sites.filter(({ site }) => directory.isSilent(site)).length },
  };
  return { chosen, totals };
}

async function peopleCounts(pool: Pool, servers: readonly string[] | null) {
  const conditions = createConditions();
  conditions.servers("r", servers);
  const [row] = await pool.unsafe(
    // This form takes a single hashed scan; count(DISTINCT …) would sort all rows.
    `SELECT count(user_name)::int AS users, count(lower_host)::int AS hosts FROM (
       SELECT r.user_name, r.lower_host FROM current_rows r
       WHERE r.kind IN ('checkout', 'held') AND r.state <> 'failed' AND ${conditions.where()}
       GROUP BY GROUPING SETS ((r.user_name), (r.lower_host))) one`,
    conditions.values,
  );
  return row as { readonly users: number; readonly hosts: number };
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
