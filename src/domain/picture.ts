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
 * What licmond believes of one server: the last good reading with the outcome of the last poll laid over it
 * (`apply-poll.ts` makes it, `store` keeps it, `http` shows it). Immutable: a poll makes a new one.
 * Times are epoch milliseconds.
 */
export interface ServerPicture
  extends Pick<Reading, "members" | "daemons" | "toolVersion" | "unparsedLines" | "unparsed"> {
  readonly server: MonitoredServer;
  readonly status: ServerStatus;
  /** Outcome of the last poll: `failed` also means never polled. */
  readonly state: DataState;
  readonly error: PollError | null;
  /** Time of the last good reading. */
  readonly collectedAt: number | null;
  readonly lastPollAt: number | null;
  readonly nextPollAt: number | null;
  readonly pollDurationMs: number | null;
  /** The text of the last good reading ended inside a block, or at the collector's cap. */
  readonly cut: boolean;
  readonly reachability: readonly MemberReachability[];
  /** In the order in which the tool prints them; identity is (daemon, name). */
  readonly features: readonly FeaturePicture[];
}

export interface FeaturePicture
  extends Pick<FeatureReading, "daemon" | "name" | "total" | "used" | "unlimited" | "reservations">,
    Pick<FeatureReading, "unit" | "seatGroup" | "assigned" | "totals"> {
  /** Of a member of a seat group no more than the group has left. */
  readonly available: number | null;
  /** Seats kept by reservations; part of `used` where the manager counts them so. */
  readonly reserved: number | null;
  /** Seats asked for by requests that wait. */
  readonly queued: number | null;
  /** 0–100, two decimals; null when unlimited or unknown. */
  readonly utilization: number | null;
  readonly shared: boolean;
  /** The earliest of the pools. */
  readonly expiry: Expiry;
  readonly pools: readonly PoolPicture[];
  readonly state: DataState;
  /** The tool's error for this feature, in its own words, or `NOT_SERVED`. */
  readonly error: string | null;
  readonly collectedAt: number | null;
  readonly checkouts: readonly CheckoutPicture[];
  /** Who holds seats by sessions that are open although this reading, which is cut, lacks their lines. */
  readonly alsoHeldBy?: readonly Holder[];
  readonly queue: readonly QueuePicture[];
  /** Good readings in a row that lacked this feature; the second removes it. */
  readonly missed: number;
  /** 1 while `pools` are lent from the reading before, because this one printed none. */
  readonly missedPools: number;
}

/** A checkout with what licmond itself knows of it: absent until its session is known. */
export interface CheckoutPicture extends CheckoutReading {
  /** Id of its open session. */
  readonly session?: number;
  /** At a hub: the id of that session at its site, which is known before the hub has the session itself. */
  readonly siteSession?: number;
  /** Epoch ms of the first reading that had it. */
  readonly firstSeenAt?: number;
  /** Epoch ms from which its duration counts, see `shownBegin` in `session.ts`. */
  readonly beganAt?: number;
}

/** A request that waits; the tool does not say since when. */
export interface QueuePicture extends QueueReading {
  /** Epoch ms of the first reading that had it; absent in pictures of before this was kept. */
  readonly firstSeenAt?: number;
}

export interface PoolPicture extends PoolReading {
  /** The manager's pool number, else a stable id made of version, expiry, vendor string, kind and ordinal. */
  readonly id: string;
}

/** All servers at one moment. */
export interface Snapshot {
  /** Grows by one with every change; equal versions of one process are equal snapshots. */
  readonly version: number;
  /** In the order of the config. */
  readonly servers: readonly ServerPicture[];
}

/** What a feature's array holds behind its key: fields of the feature's record. */
export const FEATURE_COLUMNS = [
  ...(["daemon", "name", "total", "used", "available", "reserved", "queued", "unlimited"] as const),
  ...(["utilization", "shared", "expiresOn", "expiresAt", "permanent"] as const),
  ...(["state", "error", "collectedAt", "unit", "seatGroup", "assigned"] as const),
] as const satisfies readonly (keyof FeatureRecord)[];

/** A checkout, reservation, queue entry or assigned person: fields of a row of `users[]`, the key of its feature, and `since`. */
interface SlimRow
  extends Pick<UserRecord, "feature" | "kind" | "user" | "host" | "count" | "session" | "display">,
    Pick<UserRecord, "version" | "handle" | "borrowed" | "reservedFor"> {
  /** From when its duration counts; null when that is not known. */
  readonly since: string | null;
}

/** What a row's array holds behind its key. */
export const ROW_COLUMNS = [
  ...(["feature", "kind", "user", "host", "count", "since", "session"] as const),
  ...(["display", "version", "handle", "borrowed", "reservedFor"] as const),
] as const satisfies readonly (keyof SlimRow)[];

type Values<R, C extends readonly (keyof R)[]> = { readonly [I in keyof C]: R[C[I]] };
export type FeatureValues = readonly [key: string, ...Values<FeatureRecord, typeof FEATURE_COLUMNS>];
export type RowValues = readonly [key: string, ...Values<SlimRow, typeof ROW_COLUMNS>];
