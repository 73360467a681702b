import type { AlertCounts } from "../../domain/alerts.ts";
import { iso } from "../../domain/clock.ts";
import type { Snapshot } from "../../domain/picture.ts";
import type { ExpirationRecord, SummaryRecord } from "../../domain/records.ts";
import { daysLeft } from "../../domain/stats/expirations.ts";
import { type PoolExpiry, summarise } from "../../domain/summary.ts";

/** The totals of a snapshot as a record. Days left are counted from the snapshot's last poll: equal snapshots, equal bytes. */
export function summaryRecord(snapshot: Snapshot, alerts: AlertCounts): SummaryRecord {
  const { expiries, collectedAt, ...totals } = summarise(snapshot);
  const asOf = snapshot.servers.reduce((latest, { lastPollAt }) => Math.max(latest, lastPollAt ?? 0), 0);
  const zones = new Map(snapshot.servers.map(({ server }) => [server.id, server.timezone]));
  return {
    ...totals,
    alerts: { ...alerts },
    expiries: expiries.map((expiry) =>
      expirationRecord(expiry, zones.get(expiry.server) ?? "UTC", asOf || (collectedAt ?? 0)),
    ),
    collectedAt: iso(collectedAt),
  };
}

export function expirationRecord(
  { server, daemon, feature, pool, total, expiry }: PoolExpiry,
  zone: string,
  asOf: number,
): ExpirationRecord {
  return {
    server,
    daemon,
    feature,
    pool,
    total,
    expiresOn: expiry.expiresOn,
    expiresAt: iso(expiry.expiresAt),
    daysLeft: daysLeft(expiry, zone, asOf),
    permanent: expiry.permanent,
  };
}
