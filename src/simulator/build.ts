import type { SimulatedMember } from "../managers/simulated-tool.ts";
import type { ExpirySpec, FeatureSpec, PoolSpec, Range, ServerSpec, StaffSpec, UseSpec } from "./spec.ts";

/** Always within the next 30 days: a lease of four weeks with two days of grace. */
export const LEASED: ExpirySpec = { every: 4, days: 29 };
/** Between two and six months ahead. */
export const SUPPORTED: ExpirySpec = { every: 20, days: 200 };
/** One to two years ahead. */
export const YEARLY: ExpirySpec = { every: 52, days: 730 };
/** In the past by some days up to half a year; the administrator has not removed it. */
export const EXPIRED: ExpirySpec = { every: 26, days: -9 };

type Feature = Omit<FeatureSpec, "daemon">;

export function pool(
  version: string,
  seats: number | null,
  expires: ExpirySpec,
  vendorString?: string,
): PoolSpec {
  return { version, seats, expires, vendorString: vendorString ?? null };
}

export function feature(name: string, pools: PoolSpec | PoolSpec[], use: UseSpec | null): Feature {
  const rest = { unit: "seats", seatGroup: null, assigned: null, deny: false, kept: null } as const;
  return { name, pools: [pools].flat(), use, ...rest };
}

/** Counts tokens: programs take as many as they need. */
export function tokens(feature: Feature): Feature {
  return { ...feature, unit: "tokens" };
}

/** Assigns seats to a number of named users. */
export function assign(people: number, feature: Feature): Feature {
  return { ...feature, assigned: people };
}

/** Features that share the seats of the first one. */
export function share(seatGroup: string, features: readonly Feature[]): Feature[] {
  return features.map((feature) => ({ ...feature, seatGroup }));
}

/** Reserves seats of a feature for a group of the staff, or for one user. */
export function keep(
  name: string,
  seats: number,
  feature: Feature,
  type: "group" | "user" = "group",
): Feature {
  return { ...feature, kept: { type, name, seats } };
}

export function deny(feature: Feature): Feature {
  return { ...feature, deny: true };
}

export function use(share: number, sessions: Range, minutes: Range, more: Partial<UseSpec> = {}): UseSpec {
  return { share, sessions, minutes, ...more };
}

/** Describes batch jobs: how many per evening, and seats and hours of each. */
export function batch(jobs: Range, seats: Range, hours: Range): Pick<UseSpec, "batch"> {
  return { batch: { jobs, seats, hours } };
}

/** A service that holds its seats for weeks. */
export const service = (seats: number): UseSpec => use(0, [0, 0], [1, 1], { long: seats });

/** The properties in which servers differ. */
interface ServerRow
  extends Pick<ServerSpec, "id" | "name" | "address">,
    Partial<Pick<ServerSpec, "manager" | "pids" | "queues" | "silentMinutes" | "debugLog" | "greedyJob">> {
  /** Host that is switched off. */
  readonly down?: string;
  readonly labels: { readonly location: string; readonly department: string };
  readonly staff: Omit<StaffSpec, "site">;
  /** Versions by daemon; the first one is also the server's. */
  readonly daemons: Readonly<Record<string, string>>;
  /** Features by daemon. */
  readonly features: Readonly<Record<string, readonly Feature[]>>;
}

export function server({ down, staff, daemons, features, ...row }: ServerRow): ServerSpec {
  const members = row.address.split(",").map((member, index, all): SimulatedMember => {
    // A host without a port uses the manager's default port.
    const [host = "", port = "0"] = member.split("@").reverse();
    // The second member of a triad is the master.
    return { host, port: Number(port), master: all.length === 1 || index === 1, down: host === down };
  });
  return {
    manager: "flexnet",
    pids: false,
    queues: true,
    silentMinutes: 0,
    debugLog: true,
    ...row,
    members,
    daemons: Object.entries(daemons).map(([name, version]) => ({ name, version })),
    version: Object.values(daemons)[0] ?? "",
    staff: { ...staff, site: row.labels.location },
    features: Object.entries(features).flatMap(([daemon, all]) => all.map((each) => ({ ...each, daemon }))),
  };
}
