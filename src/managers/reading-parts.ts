import type {
  CheckoutReading,
  Consistency,
  DaemonReading,
  FeatureReading,
  MemberReading,
  PoolReading,
  ToolError,
} from "../domain/reading.ts";
import type { Unit } from "../domain/words.ts";

/** Parts of readings as most managers print them. */

export type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/** Creates an error without codes. */
export function toolError(message: string, kind: ToolError["kind"]): ToolError {
  return { message, major: null, minor: null, system: null, kind };
}

export function memberReading(
  host: string,
  port: number | null,
  status: MemberReading["status"],
  version: string | null = null,
  error: ToolError | null = null,
): Mutable<MemberReading> {
  return { host, port, status, master: false, version, error };
}

export function daemonUp(name: string, version: string | null): DaemonReading {
  return { name, status: "up", version, error: null, totals: null };
}

type PrintedCheckout = Pick<CheckoutReading, "user" | "host" | "count" | "pool"> & Partial<CheckoutReading>;

export function checkoutReading({
  user,
  host,
  display = null,
  qualifier = null,
  version = null,
  count,
  handle = null,
  pid = null,
  startedAt = null,
  lingerSeconds = null,
  borrowed = false,
  pool,
}: PrintedCheckout): Mutable<CheckoutReading> {
  return {
    user,
    host,
    display,
    qualifier,
    version,
    count,
    handle,
    pid,
    startedAt,
    lingerSeconds,
    borrowed,
    pool,
  };
}

type Counts = Pick<FeatureReading, "total" | "used" | "unlimited">;
type PrintedFeature = Counts &
  Pick<FeatureReading, "daemon" | "name" | "checkouts" | "queue" | "consistency" | "cut"> &
  Partial<Pick<FeatureReading, "seatGroup" | "assigned" | "totals" | "reserved">> & { readonly unit?: Unit };

/** Builds a feature with a single pool, which has the feature's counts. */
export function singlePoolFeature(
  { daemon, name, unit = "seats", seatGroup, ...printed }: PrintedFeature,
  { version, kind, expiry }: Pick<PoolReading, "version" | "kind" | "expiry">,
): FeatureReading {
  const { total, used, unlimited, checkouts, queue, consistency, cut, ...more } = printed;
  const counts = { total, used, unlimited };
  return {
    daemon,
    name,
    ...(unit !== "seats" && { unit }),
    ...(seatGroup !== undefined && { seatGroup }),
    ...counts,
    error: null,
    pools: [{ number: null, version, vendorString: null, kind, ...counts, expiry }],
    checkouts,
    reservations: [],
    queue,
    ...more,
    consistency,
    cut,
  };
}

/** `reserved` seats may or may not be part of `used`. Holders who share a seat are each printed with it. */
export function compareCounts(used: number | null, held: number, reserved = 0): Consistency {
  if (used === null) return "ok";
  if (used > held + reserved) return "short";
  return used < held ? "shared" : "ok";
}

export function sumOfCounts(rows: readonly { readonly count: number }[]): number {
  return rows.reduce((sum, { count }) => sum + count, 0);
}
