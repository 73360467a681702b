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
 * Current state of one server: the last good reading, updated with the outcome of the last poll
 * (`apply-poll.ts` makes it, `store` keeps it, `http` shows it). Immutable: each poll makes a new picture.
 * Times are epoch ms.
 */
export interface ServerPicture
  extends Pick<Reading, "members" | "daemons" | "toolVersion" | "unparsedLines" | "unparsed"> {
  readonly server: MonitoredServer;
  readonly status: ServerStatus;
  /** Outcome of the last poll; `failed` also means never polled. */
  readonly state: DataState;
  readonly error: PollError | null;
  /** Time of the last good reading. */
  readonly collectedAt: number | null;
  readonly lastPollAt: number | null;
  readonly nextPollAt: number | null;
  readonly pollDurationMs: number | null;
  /** The text of the last good reading ended inside a block, or at the collector's limit. */
  readonly cut: boolean;
  readonly reachability: readonly MemberReachability[];
  /** In the order in which the tool prints them; (daemon, name) is unique. */
  readonly features: readonly FeaturePicture[];
}

export interface FeaturePicture
  extends Pick<FeatureReading, "daemon" | "name" | "total" | "used" | "unlimited" | "reservations">,
    Pick<FeatureReading, "unit" | "seatGroup" | "assigned" | "totals"> {
  /** For a member of a seat group, at most the number of seats left in the group. */
  readonly available: number | null;
  /** Reserved seats; part of `used` if the manager counts them so. */
  readonly reserved: number | null;
  /** Seats requested in the queue. */
  readonly queued: number | null;
  /** 0–100, two decimals; null when unlimited or unknown. */
  readonly utilization: number | null;
  readonly shared: boolean;
  /** The earliest expiry of its pools. */
  readonly expiry: Expiry;
  readonly pools: readonly PoolPicture[];
  readonly state: DataState;
  /** The tool's own error text for this feature, or `NOT_SERVED`. */
  readonly error: string | null;
  readonly collectedAt: number | null;
  readonly checkouts: readonly CheckoutPicture[];
  /** Holders with open sessions whose lines are missing because this reading is cut. */
  readonly alsoHeldBy?: readonly Holder[];
  readonly queue: readonly QueuePicture[];
  /** Number of consecutive good readings without this feature; the second removes it. */
  readonly missed: number;
  /** 1 while `pools` are carried over from the previous reading because this one printed none. */
  readonly missedPools: number;
}

/** A checkout with the fields of its session, which are absent until the session is known. */
export interface CheckoutPicture extends CheckoutReading {
  /** Id of its open session. */
  readonly session?: number;
  /** At a hub: the session's id at its site, known before the hub has the session itself. */
  readonly siteSession?: number;
  /** Time of the first reading with this checkout, epoch ms. */
  readonly firstSeenAt?: number;
  /** Start of its displayed duration, epoch ms; see `shownBegin` in `session.ts`. */
  readonly beganAt?: number;
}

/** A queued request; tools do not print since when it waits. */
export interface QueuePicture extends QueueReading {
  /** Time of the first reading with this entry, epoch ms; absent in pictures from older versions. */
  readonly firstSeenAt?: number;
}

export interface PoolPicture extends PoolReading {
  /** The manager's pool number, else a stable id made of version, expiry, vendor string, kind and ordinal. */
  readonly id: string;
}

/** The pictures of all servers at one moment. */
export interface Snapshot {
  /** Increases by one with every change; within a process, equal versions mean equal snapshots. */
  readonly version: number;
  /** In the order of the config. */
  readonly servers: readonly ServerPicture[];
}

/** Columns of a feature's array after its key: fields of the feature record. */
export const FEATURE_COLUMNS = [
  ...(["daemon", "name", "total", "used", "available", "reserved", "queued", "unlimited"] as const),
  ...(["utilization", "shared", "expiresOn", "expiresAt", "permanent"] as const),
  ...(["state", "error", "collectedAt", "unit", "seatGroup", "assigned"] as const),
] as const satisfies readonly (keyof FeatureRecord)[];

/**
 * A checkout, reservation, queue entry or assigned person: fields of a `users[]` row, the key of its feature,
 * and `since`.
 */
interface SlimRow
  extends Pick<UserRecord, "feature" | "kind" | "user" | "host" | "count" | "session" | "display">,
    Pick<UserRecord, "version" | "handle" | "borrowed" | "reservedFor"> {
  /** Start of its duration; null if unknown. */
  readonly since: string | null;
}

/** Columns of a row's array after its key. */
export const ROW_COLUMNS = [
  ...(["feature", "kind", "user", "host", "count", "since", "session"] as const),
  ...(["display", "version", "handle", "borrowed", "reservedFor"] as const),
] as const satisfies readonly (keyof SlimRow)[];

type Values<R, C extends readonly (keyof R)[]> = { readonly [I in keyof C]: R[C[I]] };
export type FeatureValues = readonly [key: string, ...Values<FeatureRecord, typeof FEATURE_COLUMNS>];
export type RowValues = readonly [key: string, ...Values<SlimRow, typeof ROW_COLUMNS>];
