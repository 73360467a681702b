import type { AlertCounts } from "../../domain/alerts.ts";
import type {
  CheckoutPicture,
  FeaturePicture,
  PoolPicture,
  QueuePicture,
  ServerPicture,
  Snapshot,
} from "../../domain/picture.ts";
import type { ReservationReading } from "../../domain/reading.ts";
import type {
  ExpirationRecord,
  FeatureRecord,
  PoolRecord,
  ServerRecord,
  SummaryRecord,
  UserRecord,
} from "../../domain/records.ts";
import { daysLeft } from "../../domain/stats/calendar.ts";
import { type PoolExpiry, summarise } from "../../domain/summary.ts";
import { iso } from "../../domain/time/clock.ts";

/** Pictures → the records of the API. Pure: equal pictures give equal records, byte for byte. */

export function serverRecord(picture: ServerPicture): ServerRecord {
  const { server, features } = picture;
  return {
    id: server.id,
    name: server.name,
    manager: server.manager,
    address: server.address,
    labels: { ...server.labels },
    enabled: server.enabled,
    status: picture.status,
    members: picture.members.map(({ host, port, status, master, version, error }) => ({
      host,
      port,
      status,
      master,
      version,
      error: error?.message ?? null,
    })),
    daemons: picture.daemons.map(({ name, status, version, error }) => ({
      name,
      status,
      version,
      error: error?.message ?? null,
    })),
    state: picture.state,
    collectedAt: iso(picture.collectedAt),
    lastPollAt: iso(picture.lastPollAt),
    nextPollAt: iso(picture.nextPollAt),
    pollDurationMs: picture.pollDurationMs === null ? null : Math.round(picture.pollDurationMs),
    error: picture.error && { code: picture.error.code, message: picture.error.message },
    // Of a server that was never read nothing is known: not even that it has no features.
    counts: {
      features: picture.collectedAt === null ? null : features.length,
      checkouts:
        picture.collectedAt === null
          ? null
          : features.reduce((sum, { checkouts }) => sum + checkouts.length, 0),
      total: sumKnown(features.map(({ total }) => total)),
      // As in the summary: what unlimited features have in use is no part of a total.
      used: sumKnown(features.map(({ used, unlimited }) => (unlimited ? null : used))),
    },
    unparsedLines: picture.unparsedLines,
  };
}

export function featureRecord(server: string, feature: FeaturePicture): FeatureRecord {
  return {
    server,
    daemon: feature.daemon,
    name: feature.name,
    total: feature.total,
    used: feature.used,
    available: feature.available,
    reserved: feature.reserved,
    queued: feature.queued,
    unlimited: feature.unlimited,
    utilization: feature.utilization,
    shared: feature.shared,
    expiresOn: feature.expiry.expiresOn,
    expiresAt: iso(feature.expiry.expiresAt),
    permanent: feature.expiry.permanent,
    pools: feature.pools.map(poolRecord),
    state: feature.state,
    error: feature.error,
    collectedAt: iso(feature.collectedAt),
  };
}

function poolRecord(pool: PoolPicture): PoolRecord {
  return {
    id: pool.id,
    version: pool.version,
    vendorString: pool.vendorString,
    kind: pool.kind,
    total: pool.total,
    used: pool.used,
    unlimited: pool.unlimited,
    expiresOn: pool.expiry.expiresOn,
    expiresAt: iso(pool.expiry.expiresAt),
    permanent: pool.expiry.permanent,
  };
}

/** Checkouts, reservations and queue entries of one feature, in the order in which the tool prints each kind. */
export function userRecords(server: string, feature: FeaturePicture): UserRecord[] {
  const at: Where = { server, feature };
  return [
    ...feature.checkouts.map((checkout) => checkoutRecord(at, checkout)),
    ...feature.reservations.map((reservation) => reservationRecord(at, reservation)),
    ...feature.queue.map((entry) => queueRecord(at, entry)),
  ];
}

interface Where {
  readonly server: string;
  readonly feature: FeaturePicture;
}

function checkoutRecord(at: Where, checkout: CheckoutPicture): UserRecord {
  const { collectedAt } = at.feature;
  // Before a session is known (one reading given to `parse`), the tool's own word is all there is.
  const began = checkout.beganAt ?? checkout.startedAt;
  return {
    ...blankRow(at, "checkout", checkout.count),
    user: checkout.user,
    host: checkout.host,
    display: checkout.display,
    qualifier: checkout.qualifier,
    version: checkout.version,
    handle: checkout.handle,
    pid: checkout.pid,
    startedAt: iso(checkout.startedAt),
    firstSeenAt: iso(checkout.firstSeenAt ?? null),
    // An age is measured when it was read, so that equal snapshots stay equal bytes.
    durationSeconds: began === null || collectedAt === null ? null : secondsBetween(began, collectedAt),
    lingerSeconds: checkout.lingerSeconds,
    borrowed: checkout.borrowed,
  };
}

function secondsBetween(from: number, to: number): number {
  return Math.max(0, Math.floor((to - from) / 1000));
}

function reservationRecord(at: Where, { type, name, count }: ReservationReading): UserRecord {
  return { ...blankRow(at, "reservation", count), reservedFor: { type, name } };
}

function queueRecord(at: Where, entry: QueuePicture): UserRecord {
  const { collectedAt } = at.feature;
  const { firstSeenAt = null } = entry;
  return {
    ...blankRow(at, "queued", entry.count),
    user: entry.user,
    host: entry.host,
    display: entry.display,
    qualifier: entry.qualifier,
    version: entry.version,
    handle: entry.handle,
    firstSeenAt: iso(firstSeenAt),
    // At least so long.
    durationSeconds:
      firstSeenAt === null || collectedAt === null ? null : secondsBetween(firstSeenAt, collectedAt),
  };
}

function blankRow({ server, feature }: Where, kind: UserRecord["kind"], count: number): UserRecord {
  return {
    kind,
    server,
    daemon: feature.daemon,
    feature: feature.name,
    user: null,
    host: null,
    display: null,
    qualifier: null,
    version: null,
    count,
    handle: null,
    pid: null,
    startedAt: null,
    firstSeenAt: null,
    durationSeconds: null,
    lingerSeconds: null,
    borrowed: false,
    reservedFor: null,
    state: feature.state,
    collectedAt: iso(feature.collectedAt),
  };
}

/** Sum of what is known; null when nothing is. */
function sumKnown(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0);
}

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
