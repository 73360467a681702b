export interface DebugLog {
  readonly title: string;
  /** Set if the reader was never tested with a real log; `check` shows it. */
  readonly experimental?: true;
  createReader(options: ReaderOptions): DebugLogReader;
  createFirstDay(zone: string): FirstDay;
}

/** Position of a reader, stored as JSON. */
export interface ReaderState {
  /** Days since 1970-01-01 in the server's zone. */
  readonly day: number;
  /** Second of the day of the last line; -1 at the start. */
  readonly second: number;
  /** Daemons seen, to distinguish `acmed_2` (a fork of `acmed`) from a daemon of that name. */
  readonly daemons: readonly string[];
}

export interface ReaderOptions {
  readonly zone: string;
  /** Day of the first line, or the state of an earlier reader. */
  readonly start: ReaderState;
  readonly inferred?: boolean;
  /** Events after an uncertain midnight wait for the next printed date, which may take hours of log. */
  readonly hold: boolean;
  readonly onEvent: (event: DebugLogEvent) => void;
  readonly onNotice?: (notice: DaemonNotice) => void;
}

export interface DaemonNotice {
  readonly about: "exit" | "shutdown" | "clock";
  /** Epoch ms, to the second. */
  readonly at: number;
  readonly daemon: string | null;
  /** As printed, without time and daemon. */
  readonly text: string;
}

/** Never throws and takes linear time. Reports an event once the next line shows that it is complete. */
export interface DebugLogReader {
  line(text: string): void;
  /** Sets the approximate time of the next lines; their day is the closest one. Null = unknown. */
  near(at: number | null): void;
  flush(): void;
  readonly counts: DebugLogCounts;
  state(): ReaderState;
  /** Times of the first and the last line with a time and a daemon; null before the first. */
  readonly firstAt: number | null;
  readonly lastAt: number | null;
}

/** Counts the midnights up to the first printed date; without one, up to the file's modification time. */
export interface FirstDay {
  /** Returns true once the day is known and the rest can be skipped. */
  line(text: string): boolean;
  result(lastWrite: number): { readonly day: number; readonly inferred: boolean };
}

/** https://docs.revenera.com/fnp/2024r1/LicAdmin_Guide/Content/helplibrary/Informational_Messages.htm */
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

export interface LicenseEvent {
  readonly kind: LicenseEventKind;
  /** Epoch ms, to the second. */
  readonly at: number;
  /** Name of the vendor daemon without the number of a fork (`acmed_2` becomes `acmed`). */
  readonly daemon: string;
  readonly feature: string;
  /** Null if the line has no user (`EXPIRED: feature`). */
  readonly user: string | null;
  readonly host: string | null;
  /** Checkout data: the text in brackets. */
  readonly data: string | null;
  readonly count: number;
  /** Text in parentheses: why a request was denied, or why seats were returned (`SHUTDOWN`, `INACTIVE`). */
  readonly reason: string | null;
  /** The manager's error number, e.g. -4 in FlexNet's `(-4,342:10054 "")`. */
  readonly code: number | null;
  /** Only printed by daemons with verbose logging. */
  readonly handle: string | null;
  readonly version: string | null;
}

/** Both end the daemon's checkouts. `daemon` null = all daemons of the log. */
export interface DaemonEvent {
  readonly kind: "DAEMON_UP" | "DAEMON_DOWN";
  readonly at: number;
  readonly daemon: string | null;
}

export type DebugLogEvent = LicenseEvent | DaemonEvent;

export type DebugLogCounts = ReturnType<typeof noCounts>;

export function noCounts() {
  return {
    lines: 0,
    events: Object.fromEntries(LICENSE_EVENTS.map((kind) => [kind, 0])) as Record<LicenseEventKind, number>,
    timestamps: 0,
    otherMessages: 0,
    withoutHead: 0,
    malformed: 0,
    /** Malformed times such as `12:49:3a9`; the event gets the time of the previous line. */
    brokenTimes: 0,
    /** Days missing before a printed date: quiet days or lost lines. */
    dateJumps: 0,
    /** Events moved to the next day because the next printed date showed a midnight before them. */
    redated: 0,
    /** Events before the first printed date, dated by the file's modification time. */
    inferredDates: 0,
    samples: [] as { readonly line: number; readonly text: string }[],
  };
}
