import type { ManagerName, PartStatus, PoolKind, Unit } from "./words.ts";

/**
 * Result of one poll of one server, as parsed. Independent of earlier polls. Times are epoch ms. Names are
 * opaque: never trimmed inside, lower-cased or split.
 */
export interface Reading {
  readonly manager: ManagerName;
  /** Time printed in the output, usually from the clock of the host that runs the tool. */
  readonly reportTime: number | null;
  /** As printed, e.g. `v11.14.0.1` or `v12.2`. */
  readonly toolVersion: string | null;
  readonly members: readonly MemberReading[];
  readonly daemons: readonly DaemonReading[];
  /** In printed order. Several blocks may have the same (daemon, name): see `mergeBlocks`. */
  readonly features: readonly FeatureReading[];
  /** Errors of the whole query, not of one member, daemon or feature. */
  readonly errors: readonly ToolError[];
  /** Unrecognized non-blank lines. The count is exact; the list has the first {@link MAX_UNPARSED_KEPT}. */
  readonly unparsedLines: number;
  readonly unparsed: readonly UnparsedLine[];
  /** Whether the text ended inside a block, or before the manager's end mark. */
  readonly cut: boolean;
  /**
   * Set if there is an unrecognized line outside of feature blocks. Any part of the reading may then be
   * incomplete.
   */
  readonly stray?: true;
  /** Whether at least one line belongs to this manager. False means LICENSE_PARSE_ERROR. */
  readonly recognised: boolean;
  /** Reason why nothing could be read: one sentence with a full stop. */
  readonly problem?: string;
}

export const MAX_UNPARSED_KEPT = 200;

export function emptyReading(manager: ManagerName): Reading {
  const nothing = { members: [], daemons: [], features: [], errors: [], unparsedLines: 0, unparsed: [] };
  return { manager, reportTime: null, toolVersion: null, ...nothing, cut: false, recognised: false };
}

export interface UnparsedLine {
  /** Number of the line, from 1. */
  readonly line: number;
  /** Text of the line, cut at 500 characters. */
  readonly text: string;
}

/** FlexNet's `(major,minor:system "text")` is parsed if present. */
export interface ToolError {
  /** As printed, with its code. */
  readonly message: string;
  readonly major: number | null;
  readonly minor: number | null;
  readonly system: number | null;
  /** No answer, or an answer that is an error. */
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
  /** Port of the daemon, if printed (RLM). */
  readonly port?: number;
  /** Counters since the daemon's start, if printed (RLM). */
  readonly totals: DaemonTotals | null;
}

export interface DaemonTotals {
  readonly checkouts: number | null;
  readonly denials: number | null;
  readonly removals: number | null;
}

export interface FeatureReading {
  /** Daemon that owns the feature; empty if the output names none. */
  readonly daemon: string;
  readonly name: string;
  /** Unit of the counts; absent means seats. */
  readonly unit?: Unit;
  /** Group of features of the server that share seats; absent means none. */
  readonly seatGroup?: string;
  /** Number of seats; null if unlimited or unknown. */
  readonly total: number | null;
  /** Number of seats in use as the tool reports it, including reservations. */
  readonly used: number | null;
  readonly unlimited: boolean;
  /** The tool's error for the feature. If set, the counts are null. */
  readonly error: ToolError | null;
  readonly pools: readonly PoolReading[];
  readonly checkouts: readonly CheckoutReading[];
  readonly reservations: readonly ReservationReading[];
  readonly queue: readonly QueueReading[];
  /** People to whom the feature is assigned by name, using it or not. */
  readonly assigned?: readonly AssignedReading[];
  /** Counters since the server's start, or of the manager's own window, if printed per feature (LM-X). */
  readonly totals?: Pick<DaemonTotals, "denials">;
  /** Reserved seats, if the manager prints a sum (RLM); absent means the sum of `reservations`. */
  readonly reserved?: number | null;
  readonly consistency: Consistency;
  /** Whether the text ended inside this block, or one of its lines was not recognized. */
  readonly cut: boolean;
  /**
   * Set if the feature is known only from a license file (the table of `lmstat -i`). If the server answered
   * without the feature, `cut` is true.
   */
  readonly fromFile?: true;
}

/**
 * Whether the lines add up to the printed count. `ok`: they do, or the check does not apply. `short`: lines
 * are missing or wrong, so the numbers are partial. `shared`: there are more lines than seats, because
 * grouped duplicates share a seat.
 */
export type Consistency = "ok" | "short" | "shared";

export interface PoolReading {
  /** The manager's pool number. */
  readonly number: string | null;
  readonly version: string | null;
  readonly vendorString: string | null;
  readonly kind: PoolKind;
  readonly total: number | null;
  readonly used: number | null;
  readonly unlimited: boolean;
  readonly expiry: Expiry;
}

/** If all three fields are null or false, the expiry is unknown, which is not the same as permanent. */
export interface Expiry {
  /** Last day of the license as printed, `YYYY-MM-DD`. */
  readonly expiresOn: string | null;
  /** Last millisecond of `expiresOn` in the server's zone. */
  readonly expiresAt: number | null;
  readonly permanent: boolean;
}

export const UNKNOWN_EXPIRY: Expiry = Object.freeze({ expiresOn: null, expiresAt: null, permanent: false });
export const PERMANENT: Expiry = Object.freeze({ expiresOn: null, expiresAt: null, permanent: true });

export interface CheckoutReading {
  /** User of the seats; null if the tool prints no name. */
  readonly user: string | null;
  readonly host: string | null;
  readonly display: string | null;
  /** Text after the display: product, client PID, `feature=…`. */
  readonly qualifier: string | null;
  /** Version that the client requested, e.g. `v61.9`. */
  readonly version: string | null;
  /** Number of seats held, at least 1. */
  readonly count: number;
  readonly handle: string | null;
  readonly pid: number | null;
  /** Printed start, with the missing year filled in; null if unknown. */
  readonly startedAt: number | null;
  /** Seconds of linger or borrow left; 0 if the checkout can linger but does not linger now. */
  readonly lingerSeconds: number | null;
  readonly borrowed: boolean;
  /** Index in the feature's `pools` of the pool that lists this line. */
  readonly pool: number | null;
}

/** Compares all columns. Written out for speed: each poll compares every line. */
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
/** Types of reservations. With `other`, the name begins with the tool's own word for the type. */
type ReservationType = (typeof RESERVATION_TYPES)[number] | "other";

export interface ReservationReading {
  readonly type: ReservationType;
  readonly name: string;
  readonly count: number;
  readonly pool: number | null;
}

/** An assignment does not use a seat. */
export interface AssignedReading {
  readonly user: string;
  readonly host: string | null;
  /** Start of the assignment; null if the manager does not print it. */
  readonly since: number | null;
}

export interface QueueReading
  extends Pick<CheckoutReading, "user" | "host" | "display" | "qualifier" | "version" | "handle" | "pool"> {
  /** Number of requested seats. */
  readonly count: number;
}
