import type { MemberReachability, PollError } from "./poll.ts";
import type {
  CheckoutReading,
  Expiry,
  FeatureReading,
  PoolReading,
  QueueReading,
  Reading,
} from "./reading.ts";
import type { FeatureRecord, UserRecord } from "./records.ts";
import type { MonitoredServer } from "./server.ts";
import type { Holder } from "./session.ts";
import type { DataState, ServerStatus } from "./words.ts";

/**
 * State of one server: the last good reading, updated with the outcome of the last poll. Immutable: each poll
 * makes a new picture. Times are epoch ms.
 */
export interface ServerPicture
  extends Pick<Reading, "members" | "daemons" | "toolVersion" | "unparsedLines" | "unparsed"> {
  readonly server: MonitoredServer;
  readonly status: ServerStatus;
  /** Outcome of the last poll; `failed` also before the first poll. */
  readonly state: DataState;
  readonly error: PollError | null;
  readonly collectedAt: number | null;
  readonly lastPollAt: number | null;
  readonly nextPollAt: number | null;
  readonly pollDurationMs: number | null;
  /** Whether the last good reading ended inside a block, or at the size limit. */
  readonly cut: boolean;
  readonly reachability: readonly MemberReachability[];
  /** In the tool's order; (daemon, name) is unique. */
  readonly features: readonly FeaturePicture[];
}

export interface FeaturePicture
  extends Pick<FeatureReading, "daemon" | "name" | "total" | "used" | "unlimited" | "reservations">,
    Pick<FeatureReading, "unit" | "seatGroup" | "assigned" | "totals"> {
  /** Free seats; in a seat group, at most as many as the group has left. */
  readonly available: number | null;
  /** Reserved seats; part of `used` if the manager counts reserved seats as used. */
  readonly reserved: number | null;
  /** Number of requested seats in the queue. */
  readonly queued: number | null;
  /** Percent with two decimals; null if unlimited or unknown. */
  readonly utilization: number | null;
  readonly shared: boolean;
  /** Earliest expiry of the feature's pools. */
  readonly expiry: Expiry;
  readonly pools: readonly PoolPicture[];
  readonly state: DataState;
  /** The tool's error for this feature, or `NOT_SERVED`. */
  readonly error: string | null;
  readonly collectedAt: number | null;
  readonly checkouts: readonly CheckoutPicture[];
  /** Holders of open sessions that are missing from the last reading, because it was cut. */
  readonly alsoHeldBy?: readonly Holder[];
  readonly queue: readonly QueuePicture[];
  /** Number of consecutive good readings without this feature. The second removes the feature. */
  readonly missed: number;
  /** 1 while `pools` come from the previous reading, because the last reading has none; else 0. */
  readonly missedPools: number;
}

/** A checkout. The fields of its session are set once the session is known. */
export interface CheckoutPicture extends CheckoutReading {
  /** Id of the open session. */
  readonly session?: number;
  /** Id of the session at its site; only set at a hub. */
  readonly siteSession?: number;
  /** Time of the first reading with this checkout, epoch ms. */
  readonly firstSeenAt?: number;
  /** Start of the displayed duration, epoch ms; see `shownBegin`. */
  readonly beganAt?: number;
}

/** Tools do not print when a request was queued. */
export interface QueuePicture extends QueueReading {
  /** Time of the first reading with this entry, epoch ms; absent in pictures from older versions. */
  readonly firstSeenAt?: number;
}

export interface PoolPicture extends PoolReading {
  /** The manager's pool number, or an id made of version, expiry, vendor string, kind and ordinal. */
  readonly id: string;
}

export interface Snapshot {
  /** Increases by one with every change. */
  readonly version: number;
  readonly servers: readonly ServerPicture[];
}

/** Columns of a feature's row, after its key. */
export const FEATURE_COLUMNS = [
  ...(["daemon", "name", "total", "used", "available", "reserved", "queued", "unlimited"] as const),
  ...(["utilization", "shared", "expiresOn", "expiresAt", "permanent"] as const),
  ...(["state", "error", "collectedAt", "unit", "seatGroup", "assigned"] as const),
] as const satisfies readonly (keyof FeatureRecord)[];

/** A row of `users[]` with the key of its feature, and `since`. */
interface SlimRow
  extends Pick<UserRecord, "feature" | "kind" | "user" | "host" | "count" | "session" | "display">,
    Pick<UserRecord, "version" | "handle" | "borrowed" | "reservedFor"> {
  /** Start of the duration; null if unknown. */
  readonly since: string | null;
}

export const ROW_COLUMNS = [
  ...(["feature", "kind", "user", "host", "count", "since", "session"] as const),
  ...(["display", "version", "handle", "borrowed", "reservedFor"] as const),
] as const satisfies readonly (keyof SlimRow)[];

type Values<R, C extends readonly (keyof R)[]> = { readonly [I in keyof C]: R[C[I]] };
export type FeatureValues = readonly [key: string, ...Values<FeatureRecord, typeof FEATURE_COLUMNS>];
export type RowValues = readonly [key: string, ...Values<SlimRow, typeof ROW_COLUMNS>];
