import type { ManagerName, PartStatus, PoolKind, Unit } from "./words.ts";

/**
 * The result of one poll of one server, as its manager's parser read it. Pure: a reading does not know
 * earlier polls; `picture.ts` merges it with the last good one. Times are epoch milliseconds UTC. Names are
 * opaque: never trimmed inside, lower-cased or split.
 */
export interface Reading {
  readonly manager: ManagerName;
  /**
   * Time printed in the output, mostly from the clock of the host that runs the tool; null without one.
   */
  readonly reportTime: number | null;
  /** Version of the tool as printed, e.g. `v11.14.0.1` or `v12.2`. */
  readonly toolVersion: string | null;
  readonly members: readonly MemberReading[];
  readonly daemons: readonly DaemonReading[];
  /** Blocks in printed order. Several blocks may have the same identity (daemon, name): see `mergeBlocks`. */
  readonly features: readonly FeatureReading[];
  /** Errors of the whole query, not of one member, daemon or feature. */
  readonly errors: readonly ToolError[];
  /** Unrecognized non-blank lines. The count is exact; the list holds the first {@link MAX_UNPARSED_KEPT}. */
  readonly unparsedLines: number;
  readonly unparsed: readonly UnparsedLine[];
  /** The text ended inside a block, or before the manager's own end mark. */
  readonly cut: boolean;
  /** A line outside all feature blocks was not recognized, so any part of the reading may be incomplete. */
  readonly stray?: true;
  /** At least one line was understood as this manager's; false means LICENSE_PARSE_ERROR. */
  readonly recognised: boolean;
  /** Why nothing could be read, if the parser knows: one sentence with a full stop. */
  readonly problem?: string;
}

export const MAX_UNPARSED_KEPT = 200;

export interface UnparsedLine {
  /** Line number in the tool's output, from 1. */
  readonly line: number;
  /** The line, cut at 500 characters. */
  readonly text: string;
}

/** An error in the tool's own words. FlexNet's `(major,minor:system "text")` is parsed if present. */
export interface ToolError {
  /** The whole message as printed, code suffix included. */
  readonly message: string;
  readonly major: number | null;
  readonly minor: number | null;
  readonly system: number | null;
  /** Meaning for the poll: no answer, or an answer that is an error. */
  readonly kind: "unreachable" | "query";
}

export interface MemberReading {
  readonly host: string;
  readonly port: number | null;
  readonly status: PartStatus;
  readonly master: boolean;
  /** As printed, e.g. `v11.7`. */
  readonly version: string | null;
  readonly error: ToolError | null;
}

export interface DaemonReading {
  readonly name: string;
  readonly status: PartStatus;
  readonly version: string | null;
  readonly error: ToolError | null;
  /** Port of the daemon, if the manager prints it (RLM). */
  readonly port?: number;
  /**
   * Counters since the daemon's start, if the manager prints them (RLM). Differences between polls are rates.
   */
  readonly totals: DaemonTotals | null;
}

export interface DaemonTotals {
  readonly checkouts: number | null;
  readonly denials: number | null;
  readonly removals: number | null;
}

export interface FeatureReading {
  /** Name of the daemon that owns the feature; "" if the output names none. */
  readonly daemon: string;
  readonly name: string;
  /** Unit of the counts; absent means seats. */
  readonly unit?: Unit;
  /** Name of the seat group that this feature shares with others of its server; absent means none. */
  readonly seatGroup?: string;
  /** Seats issued; null when unlimited or unknown. */
  readonly total: number | null;
  /** Seats in use as the tool reports them, reservations included; null if unknown. */
  readonly used: number | null;
  readonly unlimited: boolean;
  /** The tool's error for this feature; the counts are null then. */
  readonly error: ToolError | null;
  readonly pools: readonly PoolReading[];
  readonly checkouts: readonly CheckoutReading[];
  readonly reservations: readonly ReservationReading[];
  readonly queue: readonly QueueReading[];
  /** People to whom the feature is assigned by name, using it or not; absent if the manager names none. */
  readonly assigned?: readonly AssignedReading[];
  /** Counters since the server's start, or of the manager's own window, if printed per feature (LM-X). */
  readonly totals?: Pick<DaemonTotals, "denials">;
  /** Reserved seats, if the manager prints a sum (RLM); absent means the sum of `reservations`. */
  readonly reserved?: number | null;
  /** Result of the manager's consistency check of this block, see `ConsistencyCheck`. */
  readonly consistency: Consistency;
  /** The text ended inside this block, or one of its lines was not recognized. */
  readonly cut: boolean;
  /**
   * Known only from a license file (the table of `lmstat -i`). `cut` if its server answered without the
   * feature.
   */
  readonly fromFile?: true;
}

/**
 * Whether the printed lines add up to the printed count. `ok`: they do, or the check does not apply. `short`:
 * lines are missing or wrong, so numbers are partial. `shared`: more lines than seats, because grouped
 * duplicates share a seat.
 */
export type Consistency = "ok" | "short" | "shared";

export interface PoolReading {
  /** The manager's own pool number, else null (the picture then numbers equal pools). */
  readonly number: string | null;
  readonly version: string | null;
  readonly vendorString: string | null;
  readonly kind: PoolKind;
  readonly total: number | null;
  readonly used: number | null;
  readonly unlimited: boolean;
  readonly expiry: Expiry;
}

/** An expiry date. All three null or false means unknown, which is not permanent. */
export interface Expiry {
  /** `YYYY-MM-DD` as printed; null when permanent or unknown. */
  readonly expiresOn: string | null;
  /** Last millisecond of that day in the server's zone, epoch ms. */
  readonly expiresAt: number | null;
  readonly permanent: boolean;
}

export const UNKNOWN_EXPIRY: Expiry = Object.freeze({ expiresOn: null, expiresAt: null, permanent: false });
export const PERMANENT: Expiry = Object.freeze({ expiresOn: null, expiresAt: null, permanent: true });

export interface CheckoutReading {
  /** Null if the tool prints a holder without a name. */
  readonly user: string | null;
  readonly host: string | null;
  readonly display: string | null;
  /** Text after the display that is not part of it: product, client PID, `feature=…`. */
  readonly qualifier: string | null;
  /** Version requested by the client, as printed, e.g. `v61.9`. */
  readonly version: string | null;
  /** Seats held, at least 1. */
  readonly count: number;
  readonly handle: string | null;
  readonly pid: number | null;
  /** Printed start with the year filled in, in UTC; null if it cannot be known. */
  readonly startedAt: number | null;
  /**
   * Seconds of linger or borrow left; null if the line prints none, 0 if able to linger but not lingering.
   */
  readonly lingerSeconds: number | null;
  readonly borrowed: boolean;
  /** Index in the feature's `pools` of the pool under which the line is printed; null if none. */
  readonly pool: number | null;
}

/**
 * Reports whether two lines are equal in every column. Written out, because each poll compares every line.
 */
export function isSameLine(a: CheckoutReading, b: CheckoutReading): boolean {
  return (
    a === b ||
    (a.handle === b.handle &&
      a.user === b.user &&
      a.host === b.host &&
      a.startedAt === b.startedAt &&
      a.count === b.count &&
      a.version === b.version &&
      a.display === b.display &&
      a.qualifier === b.qualifier &&
      a.pid === b.pid &&
      a.lingerSeconds === b.lingerSeconds &&
      a.borrowed === b.borrowed &&
      a.pool === b.pool)
  );
}

export const RESERVATION_TYPES = [
  "user",
  "host",
  "host_group",
  "group",
  "display",
  "internet",
  "project",
] as const;
/** `other`: the name begins with the tool's own type word. */
export type ReservationType = (typeof RESERVATION_TYPES)[number] | "other";

export interface ReservationReading {
  readonly type: ReservationType;
  readonly name: string;
  readonly count: number;
  readonly pool: number | null;
}

/** A person to whom a named license is assigned. An assignment does not use a seat. */
export interface AssignedReading {
  readonly user: string;
  readonly host: string | null;
  /** Epoch ms; null if the manager does not print it. */
  readonly since: number | null;
}

export interface QueueReading
  extends Pick<CheckoutReading, "user" | "host" | "display" | "qualifier" | "version" | "handle" | "pool"> {
  /** Seats asked for. */
  readonly count: number;
}
