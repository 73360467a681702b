import {
  type AssignedReading,
  type CheckoutReading,
  type Expiry,
  type FeatureReading,
  UNKNOWN_EXPIRY,
} from "../../domain/reading.ts";
import { POOL_KINDS, type PoolKind } from "../../domain/words.ts";
import type { Profile } from "../profile.ts";
import { compareCounts, singlePoolFeature, sumOfCounts } from "../reading-parts.ts";

export type Block = ReturnType<typeof createBlock>;

export function createBlock(daemon: string, name: string) {
  return {
    daemon,
    name,
    version: null as string | null,
    kind: null as string | null,
    group: null as string | null,
    total: null as number | null,
    used: null as number | null,
    free: null as number | null,
    reserved: null as number | null,
    queued: null as number | null,
    denied: null as number | null,
    unlimited: false,
    expiry: UNKNOWN_EXPIRY as Expiry,
    checkouts: [] as CheckoutReading[],
    queue: [] as CheckoutReading[],
    assigned: [] as AssignedReading[],
    everyCount: true,
    cut: false,
  };
}

export function blockReader(profile: Profile) {
  const { unit = "seats", sum_users: sumUsers = false } = profile;
  const listsUsers = profile.match?.checkout !== undefined || profile.users !== undefined;

  return (block: Block): FeatureReading => {
    const { unlimited, checkouts, reserved, group, everyCount } = block;
    const held = sumOfCounts(checkouts);
    // Free seats of a group are free for all its features, so they do not show the use of one feature.
    const rest = group === null ? minus(block.total, block.free) : null;
    const used = block.used ?? rest ?? (sumUsers || held > 0 ? held : null);
    const total = unlimited ? null : (block.total ?? (group === null ? plus(block.used, block.free) : null));
    // If users hold several tokens each and their counts are not printed, the users do not add up to `used`.
    const addsUp = (listsUsers || checkouts.length > 0) && (unit === "seats" || everyCount);
    const queue = block.queue.map(({ user, host, display, qualifier, version, handle, pool, count }) => {
      return { user, host, display, qualifier, version, handle, pool, count };
    });
    const unknown = { user: null, host: null, display: null, qualifier: null, version: null, handle: null };
    if (queue.length === 0 && (block.queued ?? 0) > 0)
      queue.push({ ...unknown, pool: 0, count: block.queued ?? 0 });
    return singlePoolFeature(
      {
        daemon: block.daemon,
        name: block.name,
        unit,
        ...(group !== null && { seatGroup: group }),
        total,
        used,
        unlimited,
        checkouts,
        queue,
        ...(block.assigned.length > 0 && { assigned: block.assigned }),
        ...(block.denied !== null && { totals: { denials: block.denied } }),
        ...(reserved !== null && { reserved }),
        consistency: addsUp ? compareCounts(used, held, reserved ?? 0) : "ok",
        cut: block.cut,
      },
      { version: block.version, kind: kindOf(block.kind), expiry: block.expiry },
    );
  };
}

function kindOf(text: string | null): PoolKind {
  const word = text?.toLowerCase() ?? "";
  return POOL_KINDS.find((kind) => kind === word) ?? "unknown";
}

function plus(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : a + b;
}

/** Null if more is free than exists. */
function minus(a: number | null, b: number | null): number | null {
  return a === null || b === null || b > a ? null : a - b;
}
