import { type Static, Type } from "@sinclair/typebox";
import type { AlertCounts } from "../domain/alerts.ts";
import { KEY_STATES, type KeyRecord } from "../domain/keys.ts";
import type {
  CheckoutPicture,
  FeaturePicture,
  PoolPicture,
  QueuePicture,
  ServerPicture,
  Snapshot,
} from "../domain/picture.ts";
import type { Expiry } from "../domain/reading.ts";
import {
  type ExpirationRecord,
  type FeatureRecord,
  nullable,
  type PoolRecord,
  type ServerRecord,
  type SummaryRecord,
  Timestamp,
  type UserRecord,
  words,
} from "../domain/records.ts";
import { daysLeft } from "../domain/stats/expirations.ts";
import { type PoolExpiry, summarise } from "../domain/summary.ts";
import { iso } from "../domain/time/clock.ts";
import { ROLES } from "../domain/words.ts";

/** What is known → the records of the API. Pure: equal pictures give equal records, byte for byte. */

export function serverRecord(picture: ServerPicture): ServerRecord {
  const { id, name, manager, address, labels, enabled } = picture.server;
  const { status, state, collectedAt, pollDurationMs, error, features, unparsedLines } = picture;
  return {
    id,
    name,
    manager,
    address,
    labels: { ...labels },
    enabled,
    status,
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
    state,
    collectedAt: iso(collectedAt),
    lastPollAt: iso(picture.lastPollAt),
    nextPollAt: iso(picture.nextPollAt),
    pollDurationMs: pollDurationMs === null ? null : Math.round(pollDurationMs),
    error: error && { code: error.code, message: error.message },
    // Of a server that was never read nothing is known: not even that it has no features.
    counts: {
      features: collectedAt === null ? null : features.length,
      checkouts:
        collectedAt === null ? null : features.reduce((sum, { checkouts }) => sum + checkouts.length, 0),
      total: sumKnown(features.map(({ total }) => total)),
      // As in the summary: what unlimited features have in use is no part of a total.
      used: sumKnown(features.map(({ used, unlimited }) => (unlimited ? null : used))),
    },
    unparsedLines,
  };
}

/** Sum of what is known; null when nothing is. */
function sumKnown(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0);
}

export function featureRecord(server: string, feature: FeaturePicture): FeatureRecord {
  const { daemon, name, total, used, available, reserved, queued, unlimited, utilization, shared } = feature;
  return {
    server,
    daemon,
    name,
    total,
    used,
    available,
    reserved,
    queued,
    unlimited,
    utilization,
    shared,
    ...expiryFields(feature.expiry),
    pools: feature.pools.map(poolRecord),
    state: feature.state,
    error: feature.error,
    collectedAt: iso(feature.collectedAt),
  };
}

function expiryFields({ expiresOn, expiresAt, permanent }: Expiry) {
  return { expiresOn, expiresAt: iso(expiresAt), permanent };
}

function poolRecord(pool: PoolPicture): PoolRecord {
  const { id, version, vendorString, kind, total, used, unlimited, expiry } = pool;
  return { id, version, vendorString, kind, total, used, unlimited, ...expiryFields(expiry) };
}

/** Checkouts, reservations and queue entries of one feature, in the order in which the tool prints each kind. */
export function userRecords(server: string, feature: FeaturePicture): UserRecord[] {
  const { daemon, name, state, collectedAt } = feature;
  const row = (kind: UserRecord["kind"], count: number, more: Partial<UserRecord>): UserRecord => ({
    kind,
    server,
    daemon,
    feature: name,
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
    state,
    collectedAt: iso(collectedAt),
    ...more,
  });
  // An age is measured when it was read, so that equal snapshots stay equal bytes.
  const secondsSince = (at: number | null) =>
    at === null || collectedAt === null ? null : Math.max(0, Math.floor((collectedAt - at) / 1000));
  return [
    ...feature.checkouts.map((checkout) => {
      const { pid, startedAt, firstSeenAt = null, beganAt, lingerSeconds, borrowed } = checkout;
      return row("checkout", checkout.count, {
        ...personFields(checkout),
        pid,
        startedAt: iso(startedAt),
        firstSeenAt: iso(firstSeenAt),
        // Before a session is known (one reading given to `parse`), the tool's own word is all there is.
        durationSeconds: secondsSince(beganAt ?? startedAt),
        lingerSeconds,
        borrowed,
      });
    }),
    ...feature.reservations.map(({ type, name: holder, count }) =>
      row("reservation", count, { reservedFor: { type, name: holder } }),
    ),
    ...feature.queue.map((entry) => {
      const { firstSeenAt = null } = entry;
      // The request waits at least that long.
      const durationSeconds = secondsSince(firstSeenAt);
      return row("queued", entry.count, {
        ...personFields(entry),
        firstSeenAt: iso(firstSeenAt),
        durationSeconds,
      });
    }),
  ];
}

function personFields({ user, host, display, qualifier, version, handle }: CheckoutPicture | QueuePicture) {
  return { user, host, display, qualifier, version, handle };
}

/** The totals of a snapshot as a record. Days left are counted from the snapshot's last poll: equal snapshots, equal bytes. */
export function summaryRecord(snapshot: Snapshot, alerts: AlertCounts): SummaryRecord {
  const { expiries, collectedAt, ...totals } = summarise(snapshot);
  const asOf = snapshot.servers.reduce((latest, { lastPollAt }) => Math.max(latest, lastPollAt ?? 0), 0);
  return {
    ...totals,
    alerts: { ...alerts },
    expiries: expirationRecords(expiries, snapshot.servers, asOf || (collectedAt ?? 0)),
    collectedAt: iso(collectedAt),
  };
}

/** Days are counted in the zone of each pool's server. */
export function expirationRecords(
  expiries: readonly PoolExpiry[],
  servers: readonly ServerPicture[],
  asOf: number,
): ExpirationRecord[] {
  const zones = new Map(servers.map(({ server }) => [server.id, server.timezone]));
  return expiries.map(({ server, daemon, feature, pool, total, expiry }) => ({
    server,
    daemon,
    feature,
    pool,
    total,
    expiresOn: expiry.expiresOn,
    expiresAt: iso(expiry.expiresAt),
    daysLeft: daysLeft(expiry, zones.get(server) ?? "UTC", asOf),
    permanent: expiry.permanent,
  }));
}

/** Requests; null = no quota of its own. */
export const Quota = nullable(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }));

/** A key without its secret. */
export const KEY_FIELDS = {
  id: Type.String(),
  name: Type.String(),
  role: words(ROLES),
  state: words(KEY_STATES),
  anonymize: Type.Boolean(),
  createdAt: Timestamp,
  expiresAt: nullable(Timestamp),
  revokedAt: nullable(Timestamp),
  lastUsedAt: nullable(Timestamp),
  dailyQuota: Quota,
  monthlyQuota: Quota,
  requestsPerMinute: Quota,
};
export const Key = Type.Object(KEY_FIELDS, { title: "Key" });
export type Key = Static<typeof Key>;

/** A key as the API shows it, and `licmond keys list --json`. */
export function keyRecord(key: KeyRecord): Key {
  const { id, name, role, state, anonymize, dailyQuota, monthlyQuota, requestsPerMinute } = key;
  return {
    id,
    name,
    role,
    state,
    anonymize,
    createdAt: iso(key.createdAt),
    expiresAt: iso(key.expiresAt),
    revokedAt: iso(key.revokedAt),
    lastUsedAt: iso(key.lastUsedAt),
    dailyQuota,
    monthlyQuota,
    requestsPerMinute,
  };
}

/** What a check says is for everyone: no names of servers, no paths. */
const HealthCheck = Type.Object(
  { status: words(["healthy", "degraded", "unhealthy"]), message: Type.String() },
  { title: "HealthCheck" },
);
export type HealthCheck = Static<typeof HealthCheck>;

export const HealthChecks = Type.Object({
  database: HealthCheck,
  collector: HealthCheck,
  disk: HealthCheck,
  clock: HealthCheck,
});
export type HealthChecks = Static<typeof HealthChecks>;
