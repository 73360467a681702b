/** The log in which a manager's daemons write checkouts, check-ins and denials. */
export interface DebugLog {
  /** For people: `FlexNet debug log`. */
  readonly title: string;
  /** Set where no real log was seen: `check` says so. */
  readonly experimental?: true;
  createReader(options: ReaderOptions): DebugLogReader;
  createFirstDay(zone: string): FirstDay;
}

/** Where a reader stands, for one that goes on later. Plain JSON. */
export interface ReaderState {
  /** Days since 1970-01-01 in the server's zone. */
  readonly day: number;
  /** Second of the day of the last line; -1 before the first. */
  readonly second: number;
  /** Daemons seen, to distinguish `acmed_2` (a fork of `acmed`) from a daemon of that name. */
  readonly daemons: readonly string[];
}

export interface ReaderOptions {
  /** IANA zone in which the server prints its times. */
  readonly zone: string;
  /** The day of the first line, or where an earlier reader stood. */
  readonly start: ReaderState;
  /** The day is a guess until a date is printed. */
  readonly inferred?: boolean;
  /**
   * Whether events after a doubtful midnight may wait for the next printed date (hours of log). Who follows a log as
   * it grows does not wait: it says when it read the lines, see {@link DebugLogReader.near}.
   */
  readonly hold: boolean;
  readonly onEvent: (event: DebugLogEvent) => void;
  /** Takes lines about the daemons themselves, at once; whoever reads old logs needs none. */
  readonly onNotice?: (notice: DaemonNotice) => void;
}

/** A line about a daemon itself that administrators should see. */
export interface DaemonNotice {
  readonly about: "exit" | "shutdown" | "clock";
  /** Epoch ms, to the second. */
  readonly at: number;
  /** Null if the line is about the whole license server. */
  readonly daemon: string | null;
  /** The line without its time and daemon, as printed. */
  readonly text: string;
}

/**
 * Reads a debug log line by line. It never throws, whatever the lines hold, and takes time linear in their length.
 * It reports an event when the next line shows that nothing more belongs to it.
 */
export interface DebugLogReader {
  /** One line without its line end. */
  line(text: string): void;
  /** The next lines were written at about this time (epoch ms): their day is the one that comes closest. Null = not known. */
  near(at: number | null): void;
  /** Reports the event that still waits. Lines may follow all the same. */
  flush(): void;
  readonly counts: DebugLogCounts;
  state(): ReaderState;
  /** Time of the first and the last line with a time and a daemon, epoch ms; null before. */
  readonly firstAt: number | null;
  readonly lastAt: number | null;
}

/**
 * Finds the day of a log's first line, which prints only its time: counts the midnights to the first date that is
 * printed, and goes back by as many. A log without any date ends at the time of its file.
 */
export interface FirstDay {
  /** One line; true once the day is known, and the rest need not be read. */
  line(text: string): boolean;
  /** `lastWrite`: when the file was written last, epoch ms. */
  result(lastWrite: number): { readonly day: number; readonly inferred: boolean };
}

/**
 * The contents of a FlexNet debug log. Grammar and examples: FlexNet Publisher License Administration Guide, "Debug Log
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
  /** Null where the line names no user (`EXPIRED: feature`). */
  readonly user: string | null;
  readonly host: string | null;
  /** Checkout data: the text in brackets. */
  readonly data: string | null;
  /** Seats; 1 where the line does not say. */
  readonly count: number;
  /** Words in parentheses: why a request was denied, or how seats came back (`SHUTDOWN`, `INACTIVE`). */
  readonly reason: string | null;
  /** The manager's error number, e.g. -4 of FlexNet's `(-4,342:10054 "")`. */
  readonly code: number | null;
  /** Only printed by daemons with verbose logging. */
  readonly handle: string | null;
  readonly version: string | null;
}

/** A daemon started or ended: seats that it had given out are gone. `daemon` null = all of the log. */
export interface DaemonEvent {
  readonly kind: "DAEMON_UP" | "DAEMON_DOWN";
  readonly at: number;
  readonly daemon: string | null;
}

export type DebugLogEvent = LicenseEvent | DaemonEvent;

/** What a reader saw, and what of it it did not understand. */
export type DebugLogCounts = ReturnType<typeof noCounts>;

export function noCounts() {
  return {
    lines: 0,
    events: Object.fromEntries(LICENSE_EVENTS.map((kind) => [kind, 0])) as Record<LicenseEventKind, number>,
    timestamps: 0,
    /** Lines with a time and a daemon that are about other things. */
    otherMessages: 0,
    /** Lines without a time and a daemon that continue no event. */
    withoutHead: 0,
    /** Lines that begin like an event and cannot be read. */
    malformed: 0,
    /** Times such as `12:49:3a9`; the event stands at the time of the line before. */
    brokenTimes: 0,
    /** Days found missing when a date was printed: quiet days, or lines that are gone. */
    dateJumps: 0,
    /** Events moved to the next day, because the next printed date showed that a midnight lay before them. */
    redated: 0,
    /** Events before the first printed date, dated by the time of the file. */
    inferredDates: 0,
    /** First lines that were malformed, cut at 200 characters, with their number. */
    samples: [] as { readonly line: number; readonly text: string }[],
  };
}
