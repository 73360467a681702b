import { type Expiry, PERMANENT } from "../domain/reading.ts";
import { endOfDay } from "../domain/time/zone.ts";
import type { ManagerName, Unit } from "../domain/words.ts";
import { dateOf, weekAt } from "./calendar.ts";

/** A simulated license server: what stands still of it. What moves is drawn from seed and clock. */
export interface ServerSpec {
  readonly id: string;
  readonly name: string;
  readonly manager: ManagerName;
  readonly address: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly members: readonly MemberSpec[];
  readonly daemons: readonly { readonly name: string; readonly version: string }[];
  /** Of the server software, e.g. `v11.19.5`. */
  readonly version: string;
  readonly staff: StaffSpec;
  /** Checkout lines name the client's process. */
  readonly pids: boolean;
  /** A request without a seat waits in the server's own queue; else it is refused, and tried again. */
  readonly queues: boolean;
  /** The server does not answer for so many minutes of every hour. */
  readonly silentMinutes: number;
  /** Its vendor daemons' debug log can be read. */
  readonly debugLog: boolean;
  /** A job that asks every hour, day and night, for more seats than there are. Only the log shows it. */
  readonly greedyJob?: { readonly feature: string; readonly seats: number };
  readonly features: readonly FeatureSpec[];
}

export interface MemberSpec {
  readonly host: string;
  readonly port: number;
  readonly master: boolean;
  readonly down: boolean;
}

export interface StaffSpec {
  readonly people: number;
  /** Code of the place in host names, e.g. `muc`. */
  readonly site: string;
  readonly groups: readonly [string, ...string[]];
  readonly windows: boolean;
}

export interface FeatureSpec {
  readonly daemon: string;
  readonly name: string;
  /** What its counts count. */
  readonly unit: Unit;
  /** Features of a server with one of these share the seats of the first one's pools. */
  readonly seatGroup: string | null;
  /** So many people have a seat by name, and nobody else gets one; null: anybody takes one that is free. */
  readonly assigned: number | null;
  readonly pools: readonly PoolSpec[];
  /** Null: it is not used. */
  readonly use: UseSpec | null;
  /** A request without a seat is refused, also where others of the server wait: most clients do not queue. */
  readonly deny: boolean;
  /** Seats of the first pool that are kept for a user or a group. */
  readonly kept: { readonly type: "user" | "group"; readonly name: string; readonly seats: number } | null;
}

export type Range = readonly [min: number, max: number];

/** How a feature is used. */
export interface UseSpec {
  /** Share of the staff that works with it on a usual day, 0–1. */
  readonly share: number;
  /** Times a day that one of them opens it. */
  readonly sessions: Range;
  readonly minutes: Range;
  /** Seats, or tokens, that one person's session holds; absent = 1. */
  readonly each?: number;
  /** Jobs that start in the evening and hold several seats into the night, on weekends too. */
  readonly batch?: { readonly jobs: Range; readonly seats: Range; readonly hours: Range };
  /** Seats that are held over days or weeks. */
  readonly long?: number;
  /** The long holds are borrowed: taken offline until a set time. */
  readonly borrow?: boolean;
}

export interface PoolSpec {
  /** The version licensed, e.g. `v2026.09`. */
  readonly version: string;
  /** Null is uncounted. */
  readonly seats: number | null;
  readonly vendorString: string | null;
  readonly expires: ExpirySpec;
}

/**
 * When a pool expires, relative to the clock and yet the same from day to day (its date is part of a pool's
 * identity): licenses are renewed every `every` weeks, and expire `days` after the renewal.
 */
export type ExpirySpec = "permanent" | { readonly every: number; readonly days: number };

/** Licenses expire by the real calendar, whatever week the people live in. */
export function expiryOf(spec: ExpirySpec, zone: string, instant: number): Expiry {
  if (spec === "permanent") return PERMANENT;
  const { index } = weekAt({ zone, ahead: 0 }, instant);
  const expiresOn = dateOf(Math.floor(index / spec.every) * spec.every, spec.days);
  const [year = 0, month = 1, day = 1] = expiresOn.split("-").map(Number);
  return { expiresOn, expiresAt: endOfDay(zone, year, month, day), permanent: false };
}
