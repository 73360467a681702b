import type { FeatureId } from "./history.ts";
import type { FeaturePicture, ServerPicture, Snapshot } from "./picture.ts";
import { percent } from "./polls/feature-picture.ts";
import { poolOf, seatSets } from "./polls/seat-groups.ts";
import type { Expiry } from "./reading.ts";
import type { ExpirationRecord, SummaryRecord } from "./records.ts";
import type { Holder } from "./session.ts";

/**
 * Totals over all servers. `seats`, `queued` and `reserved` cover only features that count seats, each seat
 * group once. `failed` features count only in `features`. `used`, `available` and `utilization` cover the
 * seats whose use is known. Users and hosts include those that a cut reading lacks; hosts are compared
 * without case.
 */
export interface Summary extends Omit<SummaryRecord, "alerts" | "expiries" | "collectedAt"> {
  /** The next {@link NEXT_EXPIRIES} pools to expire; expired ones come first. */
  readonly expiries: readonly PoolExpiry[];
  /** Time of the oldest among the servers' last good readings. */
  readonly collectedAt: number | null;
}

export interface PoolExpiry extends FeatureId, Pick<ExpirationRecord, "unit" | "seatGroup"> {
  readonly pool: string | null;
  readonly total: number | null;
  readonly expiry: Expiry;
}

export const NEXT_EXPIRIES = 10;

export function summarise({ servers: pictures }: Snapshot): Summary {
  const servers = { up: 0, degraded: 0, down: 0, unknown: 0 };
  for (const { status } of pictures) servers[status]++;
  const all = pictures.flatMap(({ features }) => features);
  const isRead = ({ state }: FeaturePicture) => state !== "failed";
  const features = all.filter(isRead);
  const sets = pictures
    .flatMap((picture) => seatSets(picture.features))
    .map((set) => set.filter(isRead))
    .filter((set) => set.length > 0);
  const counted = sets.map((set) => poolOf(set)).filter(({ unlimited }) => !unlimited);
  const used = counted.filter((pool) => pool.used !== null);
  const sum = <What extends string>(
    list: readonly { readonly [Name in What]: number | null }[],
    what: What,
  ): number => list.reduce((total, each) => total + (each[what] ?? 0), 0);
  const readAt = pictures.flatMap(({ collectedAt }) => collectedAt ?? []);
  const known = readAt.length > 0;
  const useKnown = known && (used.length > 0 || counted.length === 0);
  const holders = features.flatMap(({ checkouts, alsoHeldBy = [] }): readonly Holder[] => [
    ...checkouts,
    ...alsoHeldBy,
  ]);
  return {
    servers,
    features: all.length,
    staleFeatures: features.filter(({ state }) => state === "stale").length,
    seats: {
      total: known ? sum(counted, "total") : null,
      used: useKnown ? sum(used, "used") : null,
      available: useKnown ? sum(used, "total") - sum(used, "used") : null,
    },
    unlimitedFeatures: features.filter(({ unlimited }) => unlimited).length,
    utilization: useKnown ? percent(sum(used, "used"), sum(used, "total")) : null,
    users: new Set(holders.flatMap(({ user }) => user ?? [])).size,
    hosts: new Set(holders.flatMap(({ host }) => host?.toLowerCase() ?? [])).size,
    queued: sum(sets.flat(), "queued"),
    reserved: sum(sets.flat(), "reserved"),
    expiries: poolExpiries(pictures).slice(0, NEXT_EXPIRIES),
    collectedAt: known ? readAt.reduce((a, b) => Math.min(a, b)) : null,
  };
}

/** Lists all pools with an expiry date, soonest first; with `permanent`, also those that never expire. */
export function poolExpiries(servers: readonly ServerPicture[], permanent = false): PoolExpiry[] {
  const found = servers.flatMap(({ server, features }) =>
    features.flatMap(({ daemon, name: feature, pools, unit = "seats", seatGroup = null }) =>
      pools.map(({ id, total, expiry }): PoolExpiry => {
        return { server: server.id, daemon, feature, pool: id, total, expiry, unit, seatGroup };
      }),
    ),
  );
  return found
    .filter(({ expiry }) => expiry.expiresAt !== null || (permanent && expiry.permanent))
    .sort(bySoonest);
}

function bySoonest(a: PoolExpiry, b: PoolExpiry): number {
  const [soon, other] = [a, b].map(({ expiry }) => expiry.expiresAt ?? Infinity);
  if (soon !== other) return (soon ?? 0) < (other ?? 0) ? -1 : 1;
  const differs = (["server", "daemon", "feature", "pool"] as const).find((field) => a[field] !== b[field]);
  return differs === undefined ? 0 : (a[differs] ?? "") < (b[differs] ?? "") ? -1 : 1;
}
