import type { UseSpec } from "./demand.ts";
import type { ExpirySpec, FeatureSpec, MemberSpec, PoolSpec } from "./server-spec.ts";

export function member(host: string, port: number): MemberSpec {
  return { host, port, master: true, down: false };
}

export function floating(
  version: string,
  seats: number,
  expires: ExpirySpec,
  vendorString: string | null = null,
): PoolSpec {
  return { version, seats, kind: "floating", vendorString, expires };
}

export function uncounted(version: string, expires: ExpirySpec): PoolSpec {
  return { version, seats: null, kind: "uncounted", vendorString: null, expires };
}

/** The feature, of which nobody waits for a seat. */
export function denying(spec: FeatureSpec): FeatureSpec {
  return { ...spec, deny: true };
}

export function feature(
  daemon: string,
  name: string,
  pools: readonly PoolSpec[],
  use: UseSpec | null,
  kept: FeatureSpec["kept"] = [],
): FeatureSpec {
  return { daemon, name, pools, use, kept };
}
