import type { AlertCounts } from "../domain/alerts.ts";
import type { Key, KeyRecord } from "../domain/keys.ts";
import type {
  CheckoutPicture,
  FeaturePicture,
  PoolPicture,
  QueuePicture,
  ServerPicture,
  Snapshot,
} from "../domain/picture.ts";
import { poolOf, seatSets, sharedSets, sumOfKnown } from "../domain/polls/seat-groups.ts";
import type { Expiry } from "../domain/reading.ts";
import type {
  ExpirationRecord,
  FeatureRecord,
  PoolRecord,
  ServerRecord,
  SummaryRecord,
  UserRecord,
} from "../domain/records.ts";
import type { MonitoredServer } from "../domain/server.ts";
import { daysLeft } from "../domain/stats/calendar.ts";
import { type PoolExpiry, summarise } from "../domain/summary.ts";
import { iso } from "../domain/time/clock.ts";
import { isExperimental } from "../managers/registry.ts";

/** Converts pictures to records of the API. Pure: equal pictures give equal bytes. */

export function serverRecord(picture: ServerPicture): ServerRecord {
  const { server, collectedAt, pollDurationMs, error, features } = picture;
  const sets = seatSets(features).map((set) => poolOf(set));
  return {
    ...ofSite(server),
    ...pick(server, "id", "name", "manager", "address"),
    ...(isExperimental(server.manager) && { experimental: true }),
    labels: { ...server.labels },
    enabled: server.enabled,
    status: picture.status,
    members: picture.members.map((member) => ({
      ...pick(member, "host", "port", "status", "master", "version"),
      error: member.error?.message ?? null,
    })),
    daemons: picture.daemons.map((daemon) => ({
      ...pick(daemon, "name", "status", "version"),
      error: daemon.error?.message ?? null,
    })),
    state: picture.state,
    collectedAt: iso(collectedAt),
    lastPollAt: iso(picture.lastPollAt),
    nextPollAt: iso(picture.nextPollAt),
    pollDurationMs: pollDurationMs === null ? null : Math.round(pollDurationMs),
    error: error && pick(error, "code", "message"),
    // Counts of a server that was never read are unknown.
    counts: {
      features: collectedAt === null ? null : features.length,
      checkouts:
        collectedAt === null
          ? null
          : sharedSets(features)
              .flat()
              .flatMap(({ checkouts }) => checkouts).length,
      total: sumOfKnown(sets.map(({ total }) => total)),
      // Sums exclude unlimited features, as in the summary.
      used: sumOfKnown(sets.filter(({ unlimited }) => !unlimited).map(({ used }) => used)),
    },
    unparsedLines: picture.unparsedLines,
  };
}

/** Returns an object with these fields in this order. */
export function pick<T extends object, K extends keyof T>(of: T, ...names: readonly K[]): Pick<T, K> {
  const picked = {} as Pick<T, K>;
  for (const name of names) picked[name] = of[name];
  return picked;
}

/** Fields of a server that its features and users repeat. */
export type Place = Pick<MonitoredServer, "id" | "site">;

const ofSite = ({ site }: Partial<Place>) => (site === undefined ? {} : { site });

export function featureRecord(server: Place, feature: FeaturePicture): FeatureRecord {
  return {
    ...ofSite(server),
    server: server.id,
    ...pick(feature, "daemon", "name", "total", "used", "available", "reserved", "queued", "unlimited"),
    ...pick(feature, "utilization", "shared"),
    ...expiryFields(feature.expiry),
    pools: feature.pools.map(poolRecord),
    state: feature.state,
    error: feature.error,
    collectedAt: iso(feature.collectedAt),
    unit: feature.unit ?? "seats",
    seatGroup: feature.seatGroup ?? null,
    assigned: feature.assigned?.length ?? null,
  };
}

function expiryFields({ expiresOn, expiresAt, permanent }: Expiry) {
  return { expiresOn, expiresAt: iso(expiresAt), permanent };
}

function poolRecord(pool: PoolPicture): PoolRecord {
  const fields = pick(pool, "id", "version", "vendorString", "kind", "total", "used", "unlimited");
  return { ...fields, ...expiryFields(pool.expiry) };
}

/** Returns checkouts, reservations, queue entries and assignments of one feature, each kind in the tool's order. */
export function userRecords(server: Place, feature: FeaturePicture): UserRecord[] {
  const { daemon, name, state, collectedAt } = feature;
  const site = ofSite(server);
  const row = (kind: UserRecord["kind"], count: number, more: Partial<UserRecord>): UserRecord => ({
    ...site,
    kind,
    session: null,
    server: server.id,
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
  // Durations end at the reading, so that equal snapshots stay equal bytes.
  const secondsSince = (at: number | null) =>
    at === null || collectedAt === null ? null : Math.max(0, Math.floor((collectedAt - at) / 1000));
  return [
    ...feature.checkouts.map((checkout) => {
      const { session = null, startedAt, firstSeenAt = null, beganAt } = checkout;
      return row("checkout", checkout.count, {
        session,
        ...personFields(checkout),
        ...pick(checkout, "pid", "lingerSeconds", "borrowed"),
        startedAt: iso(startedAt),
        firstSeenAt: iso(firstSeenAt),
        // `parse` has one reading and no session, so it uses the tool's start.
        durationSeconds: secondsSince(beganAt ?? startedAt),
      });
    }),
    ...feature.reservations.map(({ type, name: holder, count }) =>
      row("reservation", count, { reservedFor: { type, name: holder } }),
    ),
    ...feature.queue.map((entry) =>
      row("queued", entry.count, {
        ...personFields(entry),
        firstSeenAt: iso(entry.firstSeenAt ?? null),
        // A lower bound, because the request may have been queued before the first reading that shows it.
        durationSeconds: secondsSince(entry.firstSeenAt ?? null),
      }),
    ),
    ...(feature.assigned ?? []).map(({ user, host, since }) =>
      row("assigned", 1, { user, host, startedAt: iso(since) }),
    ),
  ];
}

function personFields(row: CheckoutPicture | QueuePicture) {
  return pick(row, "user", "host", "display", "qualifier", "version", "handle");
}

/** Counts days left from the snapshot's last poll, so that equal snapshots give equal bytes. */
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
  const byId = new Map(servers.map(({ server }) => [server.id, server]));
  return expiries.map((found) => {
    const { permanent, ...expires } = expiryFields(found.expiry);
    const server = byId.get(found.server);
    return {
      ...ofSite(server ?? {}),
      ...pick(found, "server", "daemon", "feature", "pool", "total"),
      ...expires,
      daysLeft: daysLeft(found.expiry, server?.timezone ?? "UTC", asOf),
      permanent,
      ...pick(found, "unit", "seatGroup"),
    };
  });
}

export function keyRecord(key: KeyRecord): Key {
  return {
    ...pick(key, "id", "name", "role", "state", "anonymize"),
    createdAt: iso(key.createdAt),
    expiresAt: iso(key.expiresAt),
    revokedAt: iso(key.revokedAt),
    lastUsedAt: iso(key.lastUsedAt),
    ...pick(key, "dailyQuota", "monthlyQuota", "requestsPerMinute"),
    ...(key.site !== undefined && { site: key.site }),
  };
}
