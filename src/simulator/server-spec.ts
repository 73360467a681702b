import { type Expiry, PERMANENT, type ReservationType, UNKNOWN_EXPIRY } from "../domain/reading.ts";
import type { ManagerName, PoolKind } from "../domain/words.ts";
import { endOfDay } from "../domain/zone.ts";
import { dateOf, type Week } from "./calendar.ts";
import type { UseSpec } from "./demand.ts";
import type { StaffSpec } from "./people.ts";

/** A simulated license server: what stands still of it. What moves is drawn from seed and clock. */
export interface ServerSpec {
  readonly id: string;
  readonly name: string;
  readonly manager: ManagerName;
  /** What it shows, one line. */
  readonly about: string;
  readonly address: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly members: readonly MemberSpec[];
  readonly daemons: readonly { readonly name: string; readonly version: string }[];
  /** Of the server software, e.g. `v11.19.5`. */
  readonly version: string;
  readonly staff: StaffSpec;
  /** Checkout lines name the client's process. */
  readonly pids: boolean;
  /** Nobody answers for so many minutes of every hour. */
  readonly silentMinutes: number;
  /** Its vendor daemons' debug log can be read. */
  readonly debugLog: boolean;
  /** A job that asks every hour, day and night, for more seats than there are. Its log alone tells of it. */
  readonly greedyJob?: { readonly feature: string; readonly seats: number };
  readonly features: readonly FeatureSpec[];
}

export interface MemberSpec {
  readonly host: string;
  readonly port: number;
  readonly master: boolean;
  readonly down: boolean;
}

export interface FeatureSpec {
  readonly daemon: string;
  readonly name: string;
  readonly pools: readonly PoolSpec[];
  /** Null: nobody uses it. */
  readonly use: UseSpec | null;
  /** Who finds no seat is turned away, also where others of the server may wait: most clients do not queue. */
  readonly deny?: boolean;
  readonly kept: readonly {
    readonly type: Extract<ReservationType, "user" | "host" | "group">;
    readonly name: string;
    readonly seats: number;
  }[];
}

export interface PoolSpec {
  /** The version licensed, e.g. `v2026.09`. */
  readonly version: string;
  /** Null is uncounted. */
  readonly seats: number | null;
  readonly kind: PoolKind;
  readonly vendorString: string | null;
  readonly expires: ExpirySpec;
}

/**
 * When a pool expires, relative to the clock and yet the same from day to day (its date is part of a pool's
 * identity): licenses are renewed every `every` weeks, and expire `days` after the renewal.
 */
export type ExpirySpec = "permanent" | "unknown" | { readonly every: number; readonly days: number };

/** Always within the next 30 days: a lease of four weeks with two days of grace. */
export const LEASED: ExpirySpec = { every: 4, days: 29 };
/** Between two and six months ahead. */
export const SUPPORTED: ExpirySpec = { every: 20, days: 200 };
/** One to two years ahead. */
export const YEARLY: ExpirySpec = { every: 52, days: 730 };
/** Past since some days to half a year: nobody has removed it. */
export const EXPIRED: ExpirySpec = { every: 26, days: -9 };

export function expiryOf(spec: ExpirySpec, zone: string, week: Week): Expiry {
  if (spec === "permanent") return PERMANENT;
  if (spec === "unknown") return UNKNOWN_EXPIRY;
  const renewed = Math.floor(week.index / spec.every) * spec.every;
  const expiresOn = dateOf(renewed, spec.days);
  const [year, month, day] = expiresOn.split("-").map(Number);
  return { expiresOn, expiresAt: endOfDay(zone, year ?? 0, month ?? 1, day ?? 1), permanent: false };
}
