import { type Expiry, PERMANENT } from "../domain/reading.ts";
import { endOfDay } from "../domain/time/zone.ts";
import type { ManagerName, Unit } from "../domain/words.ts";
import type { SimulatedMember } from "../managers/simulated-tool.ts";
import { dateOf, weekAt } from "./calendar.ts";

/** Static properties of a simulated license server. Its activity is drawn from seed and time. */
export interface ServerSpec {
  readonly id: string;
  readonly name: string;
  readonly manager: ManagerName;
  readonly address: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly members: readonly SimulatedMember[];
  readonly daemons: readonly { readonly name: string; readonly version: string }[];
  /** Version of the server software, e.g. `v11.19.5`. */
  readonly version: string;
  readonly staff: StaffSpec;
  /** Checkout lines include the client's process id. */
  readonly pids: boolean;
  /** A request without a seat waits in the server's queue; otherwise it is denied and retried. */
  readonly queues: boolean;
  /** Minutes of every hour in which the server does not answer. */
  readonly silentMinutes: number;
  /** The debug log of its vendor daemons is readable. */
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
  /** Unit of the counts. */
  readonly unit: Unit;
  /** Features of a server with the same group share the seats of the first one's pools. */
  readonly seatGroup: string | null;
  /** Number of named users, who alone get a seat; null if seats are not assigned. */
  readonly assigned: number | null;
  readonly pools: readonly PoolSpec[];
  /** Null: unused. */
  readonly use: UseSpec | null;
  /** A request without a seat is denied even if the server has a queue: most clients do not queue. */
  readonly deny: boolean;
  /** Seats of the first pool reserved for a user or a group. */
  readonly kept: { readonly type: "user" | "group"; readonly name: string; readonly seats: number } | null;
}

export type Range = readonly [min: number, max: number];

/** Usage of a feature. */
export interface UseSpec {
  /** Share of the staff that uses it on a typical day, 0–1. */
  readonly share: number;
  /** Sessions per person and day. */
  readonly sessions: Range;
  readonly minutes: Range;
  /** Seats or tokens per session; absent = 1. */
  readonly each?: number;
  /** Jobs that start in the evening and hold several seats into the night, also on weekends. */
  readonly batch?: { readonly jobs: Range; readonly seats: Range; readonly hours: Range };
  /** Number of seats that are held for days or weeks. */
  readonly long?: number;
  /** The long checkouts are borrowed: taken offline until a fixed time. */
  readonly borrow?: boolean;
}

export interface PoolSpec {
  /** Licensed version, e.g. `v2026.09`. */
  readonly version: string;
  /** Null is uncounted. */
  readonly seats: number | null;
  readonly vendorString: string | null;
  readonly expires: ExpirySpec;
}

/**
 * Expiry of a pool. It depends on the date but is stable from day to day, because it is part of a pool's identity:
 * licenses are renewed every `every` weeks and expire `days` after the renewal.
 */
export type ExpirySpec = "permanent" | { readonly every: number; readonly days: number };

/** Returns the expiry by the real calendar, regardless of the staff's week. */
export function expiryOf(spec: ExpirySpec, zone: string, instant: number): Expiry {
  if (spec === "permanent") return PERMANENT;
  const { index } = weekAt({ zone, ahead: 0 }, instant);
  const expiresOn = dateOf(Math.floor(index / spec.every) * spec.every, spec.days);
  const [year = 0, month = 1, day = 1] = expiresOn.split("-").map(Number);
  return { expiresOn, expiresAt: endOfDay(zone, year, month, day), permanent: false };
}
