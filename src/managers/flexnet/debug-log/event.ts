/**
 * What a FlexNet debug log tells. Grammar and examples: FlexNet Publisher License Administration Guide, "Debug Log
 * File" (https://docs.revenera.com/fnp/2024r1/LicAdmin_Guide/Content/helplibrary/Informational_Messages.htm).
 */
export const LICENSE_EVENTS = [
  "OUT",
  "IN",
  "DENIED",
  "QUEUED",
  "DEQUEUED",
  "UNSUPPORTED",
  "EXPIRED",
  "UPGRADE",
] as const;
export type LicenseEventKind = (typeof LICENSE_EVENTS)[number];

/** A line about seats. Names are as printed. */
export interface LicenseEvent {
  readonly kind: LicenseEventKind;
  /** Epoch ms, to the second. */
  readonly at: number;
  /** Name of the vendor daemon, without the number of a fork (`acmed_2` is `acmed`). */
  readonly daemon: string;
  readonly feature: string;
  /** Null where the line names nobody (`EXPIRED: feature`). */
  readonly user: string | null;
  readonly host: string | null;
  /** Checkout data: the text in brackets. */
  readonly data: string | null;
  /** Seats; 1 where the line does not say. */
  readonly count: number;
  /** Words in parentheses: why a request was denied, or how seats came back (`SHUTDOWN`, `INACTIVE`). */
  readonly reason: string | null;
  /** FlexNet's error number, e.g. -4 of `(-4,342:10054 "")`. */
  readonly code: number | null;
  /** Only printed by daemons with verbose logging. */
  readonly handle: string | null;
  readonly version: string | null;
}

/** A daemon began anew or ended: seats that it had given out are gone. `daemon` null = all of the log. */
export interface DaemonEvent {
  readonly kind: "DAEMON_UP" | "DAEMON_DOWN";
  readonly at: number;
  readonly daemon: string | null;
}

export type DebugLogEvent = LicenseEvent | DaemonEvent;

/** What the reader saw, and what of it it did not understand. */
export interface DebugLogCounts {
  lines: number;
  events: Record<LicenseEventKind, number>;
  timestamps: number;
  /** Lines with a time and a daemon that tell of other things. */
  otherMessages: number;
  /** Lines without a time and a daemon that continue no event. */
  withoutHead: number;
  /** Lines that begin like an event and cannot be read. */
  malformed: number;
  /** Times such as `12:49:3a9`; the event stands at the time of the line before. */
  brokenTimes: number;
  /** Days found missing when a date was printed: quiet days, or lines that are gone. */
  dateJumps: number;
  /** Events moved to the next day, because the next printed date showed that a midnight lay before them. */
  redated: number;
  /** Events before the first printed date, dated by the time of the file. */
  inferredDates: number;
  /** First lines that were malformed, cut at 200 characters, with their number. */
  samples: { readonly line: number; readonly text: string }[];
}

export function noCounts(): DebugLogCounts {
  const events = Object.fromEntries(LICENSE_EVENTS.map((kind) => [kind, 0])) as Record<
    LicenseEventKind,
    number
  >;
  return {
    lines: 0,
    events,
    timestamps: 0,
    otherMessages: 0,
    withoutHead: 0,
    malformed: 0,
    brokenTimes: 0,
    dateJumps: 0,
    redated: 0,
    inferredDates: 0,
    samples: [],
  };
}
