import type { ServerPicture, Snapshot } from "./picture.ts";
import { percent } from "./polls/feature-picture.ts";
import type { Expiry } from "./reading.ts";
import type { ServerStatus } from "./words.ts";

/** Totals over all servers. Features that are `failed` count in `features` alone: nothing is known of their seats. */
export interface Summary {
  readonly servers: Readonly<Record<ServerStatus, number>>;
  readonly features: number;
  readonly staleFeatures: number;
  /** Of counted features; null while nothing is known. `used` and `available` are of those whose use is known. */
  readonly seats: {
    readonly total: number | null;
    readonly used: number | null;
    readonly available: number | null;
  };
  readonly unlimitedFeatures: number;
  /** Of the seats whose use is known. */
  readonly utilization: number | null;
  /** Distinct users and hosts of known seats, of those too whose lines a cut reading lacks; hosts in any case are one. */
  readonly users: number;
  readonly hosts: number;
  readonly queued: number;
  readonly reserved: number;
  /** The next {@link NEXT_EXPIRIES} pools to expire, expired ones first. */
  readonly expiries: readonly PoolExpiry[];
  /** The oldest of the servers' last good readings: no number is older than this. */
  readonly collectedAt: number | null;
}

export interface PoolExpiry {
  readonly server: string;
  readonly daemon: string;
  readonly feature: string;
  readonly pool: string | null;
  readonly total: number | null;
  readonly expiry: Expiry;
}

export const NEXT_EXPIRIES = 10;

export function summarise(snapshot: Snapshot): Summary {
  const servers = { up: 0, degraded: 0, down: 0, unknown: 0 };
  const users = new Set<string>();
  const hosts = new Set<string>();
  let features = 0;
  let staleFeatures = 0;
  let unlimitedFeatures = 0;
  let total = 0;
  let used = 0;
  /** Of `total`, the seats whose use is known. */
  let watched = 0;
  let someUseKnown = false;
  let someUseUnknown = false;
  let queued = 0;
  let reserved = 0;
  let collectedAt: number | null = null;

  for (const picture of snapshot.servers) {
    servers[picture.status]++;
    if (picture.collectedAt !== null) collectedAt = Math.min(collectedAt ?? Infinity, picture.collectedAt);
    for (const feature of picture.features) {
      features++;
      if (feature.state === "failed") continue;
      if (feature.state === "stale") staleFeatures++;
      if (feature.unlimited) unlimitedFeatures++;
      else {
        total += feature.total ?? 0;
        if (feature.used === null) someUseUnknown = true;
        else {
          someUseKnown = true;
          used += feature.used;
          watched += feature.total ?? 0;
        }
      }
      queued += feature.queued ?? 0;
      reserved += feature.reserved ?? 0;
      for (const { user, host } of [...feature.checkouts, ...(feature.alsoHeldBy ?? [])]) {
        users.add(user);
        if (host !== null) hosts.add(host.toLowerCase());
      }
    }
  }

  const known = collectedAt !== null;
  const useKnown = known && (someUseKnown || !someUseUnknown);
  return {
    servers,
    features,
    staleFeatures,
    seats: {
      total: known ? total : null,
      used: useKnown ? used : null,
      available: useKnown ? watched - used : null,
    },
    unlimitedFeatures,
    utilization: useKnown ? percent(used, watched) : null,
    users: users.size,
    hosts: hosts.size,
    queued,
    reserved,
    expiries: nextExpiries(snapshot.servers),
    collectedAt,
  };
}

/** Every pool that has an expiry date, soonest first; with `permanent` those that never expire too, last. */
export function poolExpiries(servers: readonly ServerPicture[], permanent = false): PoolExpiry[] {
  const found: PoolExpiry[] = [];
  for (const { server, features } of servers) {
    for (const feature of features) {
      const at = { server: server.id, daemon: feature.daemon, feature: feature.name };
      for (const pool of feature.pools) {
        const { expiresAt } = pool.expiry;
        if (expiresAt === null && !(permanent && pool.expiry.permanent)) continue;
        found.push({ ...at, pool: pool.id, total: pool.total, expiry: pool.expiry });
      }
    }
  }
  return found.sort(bySoonest);
}

function nextExpiries(servers: readonly ServerPicture[]): PoolExpiry[] {
  return poolExpiries(servers).slice(0, NEXT_EXPIRIES);
}

function bySoonest(a: PoolExpiry, b: PoolExpiry): number {
  return (
    compare(a.expiry.expiresAt ?? Infinity, b.expiry.expiresAt ?? Infinity) ||
    compare(a.server, b.server) ||
    compare(a.daemon, b.daemon) ||
    compare(a.feature, b.feature) ||
    compare(a.pool ?? "", b.pool ?? "")
  );
}

function compare<T extends string | number>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
