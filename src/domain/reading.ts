import type { ManagerName, PartStatus, PoolKind, Unit } from "./words.ts";

/**
 * What one poll of one server yielded, as the tool said it: the pure result of a manager's parser.
 * A Reading knows nothing of earlier polls; `picture.ts` lays it over the last good one.
 * Times are epoch milliseconds UTC, names are opaque (never trimmed inside, lower-cased or split).
 */
export interface Reading {
  readonly manager: ManagerName;
  /** Time stated in the output: mostly the clock of the host that runs the tool; null when the output states none. */
  readonly reportTime: number | null;
  /** Version of the tool as printed, e.g. `v11.14.0.1` or `v12.2`. */
  readonly toolVersion: string | null;
  readonly members: readonly MemberReading[];
  readonly daemons: readonly DaemonReading[];
  /** Blocks in the order printed. One identity (daemon, name) may occur in several blocks: see `mergeBlocks`. */
  readonly features: readonly FeatureReading[];
  /** Errors of the whole query, i.e. not of one member, daemon or feature. */
  readonly errors: readonly ToolError[];
  /** Non-blank lines that no rule knew. The count is exact, the list holds the first {@link MAX_UNPARSED_KEPT}. */
  readonly unparsedLines: number;
  readonly unparsed: readonly UnparsedLine[];
  /** The text ended inside a block (or, by the manager's own marks, before its end). */
  readonly cut: boolean;
  /** A line outside all features' blocks was not understood: any part of the reading may lack what it said. */
  readonly stray?: true;
  /** At least one line was understood as this manager's; false means LICENSE_PARSE_ERROR. */
  readonly recognised: boolean;
  /** Why nothing could be read, where the parser can say it: one sentence with its full stop. */
  readonly problem?: string;
}

export const MAX_UNPARSED_KEPT = 200;

export interface UnparsedLine {
  /** 1-based number of the line in the tool's output. */
  readonly line: number;
  /** The line, cut at 500 characters. */
  readonly text: string;
}

/** An error in the tool's own words, with FlexNet's `(major,minor:system "text")` taken apart where it is printed. */
export interface ToolError {
  /** The whole message as printed, code suffix included. */
  readonly message: string;
  readonly major: number | null;
  readonly minor: number | null;
  readonly system: number | null;
  /** What the error means for the poll: no answer came, or an answer that is an error. */
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
  /** Its own port, where the manager prints one (RLM). */
  readonly port?: number;
  /** Counters since the daemon's start, where the manager prints them (RLM); differences between polls are rates. */
  readonly totals: DaemonTotals | null;
}

export interface DaemonTotals {
  readonly checkouts: number | null;
  readonly denials: number | null;
  readonly removals: number | null;
}

export interface FeatureReading {
  /** Name of the daemon that owns the feature; "" where the output names none. */
  readonly daemon: string;
  readonly name: string;
  /** What the counts count; absent = seats. */
  readonly unit?: Unit;
  /** Name of the common set of seats that this feature draws on with others of its server; absent = its own. */
  readonly seatGroup?: string;
  /** Seats issued; null when unlimited or unknown. */
  readonly total: number | null;
  /** Seats in use as the tool says it (reservations included); null when unknown. */
  readonly used: number | null;
  readonly unlimited: boolean;
  /** The tool's error for this feature; counts are null then. */
  readonly error: ToolError | null;
  readonly pools: readonly PoolReading[];
  readonly checkouts: readonly CheckoutReading[];
  readonly reservations: readonly ReservationReading[];
  readonly queue: readonly QueueReading[];
  /** People who may use the feature by name, whether they do or not; absent = the manager names none. */
  readonly assigned?: readonly AssignedReading[];
  /** Counters since the server's start, or of the manager's own window, where it prints them per feature (LM-X). */
  readonly totals?: Pick<DaemonTotals, "denials">;
  /** Seats kept by reservations where the manager prints a sum of its own (RLM); absent = the sum of `reservations`. */
  readonly reserved?: number | null;
  /** The manager's own consistency check of this block, see `ConsistencyCheck`. */
  readonly consistency: Consistency;
  /** The text ended inside this block, or a line of it was not understood. */
  readonly cut: boolean;
  /** Known from a license file alone (the table of `lmstat -i`). `cut` when its server answered without it. */
  readonly fromFile?: true;
}

/**
 * Outcome of a manager's check that the printed lines add up to the printed count.
 * `ok` they do or the check does not apply · `short` lines are missing or wrong (numbers are partial) ·
 * `shared` more lines than seats (grouped duplicates share a seat).
 */
export type Consistency = "ok" | "short" | "shared";

export interface PoolReading {
  /** The manager's own pool number where it has one, else null (the picture then numbers equal pools). */
  readonly number: string | null;
  readonly version: string | null;
  readonly vendorString: string | null;
  readonly kind: PoolKind;
  readonly total: number | null;
  readonly used: number | null;
  readonly unlimited: boolean;
  readonly expiry: Expiry;
}

/** An expiry date. All three null/false = unknown, which is not the same as permanent. */
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
  /** Null where the tool prints a holder without a name. */
  readonly user: string | null;
  readonly host: string | null;
  readonly display: string | null;
  /** Words after the display that are no part of it: product, client PID, `feature=…`. */
  readonly qualifier: string | null;
  /** Version the client asked for, as printed, e.g. `v61.9`. */
  readonly version: string | null;
  /** Seats held, at least 1. */
  readonly count: number;
  readonly handle: string | null;
  readonly pid: number | null;
  /** What the tool says, resolved to a year and to UTC; null when it cannot be known. */
  readonly startedAt: number | null;
  /** Seconds of linger or borrow left; null when the line prints none, 0 when capable but not lingering. */
  readonly lingerSeconds: number | null;
  readonly borrowed: boolean;
  /** Index into the feature's `pools` of the pool this line stands under; null when it stands under none. */
  readonly pool: number | null;
}

/** Whether two lines say the same in every column. Written out, because each poll asks it of every line. */
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
/** `other`: the name begins with the tool's own word for the type. */
export type ReservationType = (typeof RESERVATION_TYPES)[number] | "other";

export interface ReservationReading {
  readonly type: ReservationType;
  readonly name: string;
  readonly count: number;
  readonly pool: number | null;
}

/** A person to whom a named license is assigned: no seat is in use by that. */
export interface AssignedReading {
  readonly user: string;
  readonly host: string | null;
  /** Epoch ms; null when the manager does not say. */
  readonly since: number | null;
}

export interface QueueReading
  extends Pick<CheckoutReading, "user" | "host" | "display" | "qualifier" | "version" | "handle" | "pool"> {
  /** Seats asked for. */
  readonly count: number;
}
