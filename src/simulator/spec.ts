import { expiryOn } from "../domain/expiry.ts";
import { type Expiry, PERMANENT } from "../domain/reading.ts";
import type { ManagerName, Unit } from "../domain/words.ts";
import type { SimulatedMember } from "../managers/simulated-tool.ts";
import { dateOf, weekAt } from "./calendar.ts";

/** Static properties of a simulated license server; its activity is drawn from seed and time. */
export interface ServerSpec {
  readonly id: string;
  readonly name: string;
  readonly manager: ManagerName;
  readonly address: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly members: readonly SimulatedMember[];
  readonly daemons: readonly { readonly name: string; readonly version: string }[];
  readonly version: string;
  readonly staff: StaffSpec;
  readonly pids: boolean;
  /** True if a request without a seat waits in the server's queue. Otherwise the request is denied and retried. */
  readonly queues: boolean;
  /** Minutes of every hour in which the server does not answer. */
  readonly silentMinutes: number;
  readonly debugLog: boolean;
  /** A job that requests more seats than exist, every hour of the day. Only the log shows it. */
  readonly greedyJob?: { readonly feature: string; readonly seats: number };
  readonly features: readonly FeatureSpec[];
}

export interface StaffSpec {
  readonly people: number;
  /** Site code in host names, e.g. `muc`. */
  readonly site: string;
  readonly groups: readonly [string, ...string[]];
  readonly windows: boolean;
}

export interface FeatureSpec {
  readonly daemon: string;
  readonly name: string;
  readonly unit: Unit;
  /** Group of features on a server. They share the seats of the pools of the group's first feature. */
  readonly seatGroup: string | null;
  /** Number of people with a named seat; null if seats are not assigned. */
  readonly assigned: number | null;
  readonly pools: readonly PoolSpec[];
  readonly use: UseSpec | null;
  /** True if requests without a seat are denied although the server has a queue, as with most clients. */
  readonly deny: boolean;
  readonly kept: { readonly type: "user" | "group"; readonly name: string; readonly seats: number } | null;
}

export type Range = readonly [min: number, max: number];

export interface UseSpec {
  /** Share of the staff that uses the feature on a typical day, 0–1. */
  readonly share: number;
  readonly sessions: Range;
  readonly minutes: Range;
  /** Number of seats or tokens per session; absent = 1. */
  readonly each?: number;
  readonly batch?: { readonly jobs: Range; readonly seats: Range; readonly hours: Range };
  /** Number of seats that are held for days or weeks. */
  readonly long?: number;
  /** True if the long checkouts are borrowed, i.e. taken offline until a fixed time. */
  readonly borrow?: boolean;
}

export interface PoolSpec {
  readonly version: string;
  /** Number of seats; null = uncounted. */
  readonly seats: number | null;
  readonly vendorString: string | null;
  readonly expires: ExpirySpec;
}

/**
 * Licenses are renewed every `every` weeks and expire `days` after the renewal, so a pool's identity is
 * stable from day to day.
 */
export type ExpirySpec = "permanent" | { readonly every: number; readonly days: number };

/** Returns the expiry by the real calendar, regardless of the staff's week. */
export function expiryOf(spec: ExpirySpec, zone: string, instant: number): Expiry {
  if (spec === "permanent") return PERMANENT;
  const { index } = weekAt({ zone, ahead: 0 }, instant);
  const expiresOn = dateOf(Math.floor(index / spec.every) * spec.every, spec.days);
  const [year = 0, month = 1, day = 1] = expiresOn.split("-").map(Number);
  return expiryOn(zone, year, month, day);
}

/** License that always expires within the next 30 days. */
export const LEASED: ExpirySpec = { every: 4, days: 29 };
/** License that expires between two and six months ahead. */
export const SUPPORTED: ExpirySpec = { every: 20, days: 200 };
/** License that expires one to two years ahead. */
export const YEARLY: ExpirySpec = { every: 52, days: 730 };
/** License that expired between some days and half a year ago, and that the administrator has not removed. */
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

/** Makes a feature count tokens. Programs take as many tokens as they need. */
export function tokens(feature: Feature): Feature {
  return { ...feature, unit: "tokens" };
}

export function assign(people: number, feature: Feature): Feature {
  return { ...feature, assigned: people };
}

export function share(seatGroup: string, features: readonly Feature[]): Feature[] {
  return features.map((feature) => ({ ...feature, seatGroup }));
}

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

/** Jobs per evening, and seats and hours of each. */
export function batch(jobs: Range, seats: Range, hours: Range): Pick<UseSpec, "batch"> {
  return { batch: { jobs, seats, hours } };
}

/** A service that holds its seats for weeks. */
export const service = (seats: number): UseSpec => use(0, [0, 0], [1, 1], { long: seats });

interface ServerRow
  extends Pick<ServerSpec, "id" | "name" | "address">,
    Partial<Pick<ServerSpec, "manager" | "pids" | "queues" | "silentMinutes" | "debugLog" | "greedyJob">> {
  readonly down?: string;
  readonly labels: { readonly location: string; readonly department: string };
  readonly staff: Omit<StaffSpec, "site">;
  /** Versions by daemon; the first version is also the server's. */
  readonly daemons: Readonly<Record<string, string>>;
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
