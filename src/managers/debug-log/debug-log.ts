export interface DebugLog {
  readonly title: string;
  /** True if the reader was never tested with a real log, which `check` shows. */
  readonly experimental?: true;
  createReader(options: ReaderOptions): DebugLogReader;
  createFirstDay(zone: string): FirstDay;
}

/** Position of a reader, stored as JSON. */
export interface ReaderState {
  /** Day of the last line, in days since 1970-01-01 in the server's zone. */
  readonly day: number;
  /** Second of the day of the last line; -1 at the start. */
  readonly second: number;
  /** Daemons seen, to distinguish `acmed_2` (a fork of `acmed`) from a daemon of that name. */
  readonly daemons: readonly string[];
}

export interface ReaderOptions {
  readonly zone: string;
  /** State to start with: that of an earlier reader, or a new state with the day of the first line. */
  readonly start: ReaderState;
  readonly inferred?: boolean;
  /**
   * Whether to hold events after an uncertain midnight back until the next printed date, which may be hours
   * later.
   */
  readonly hold: boolean;
  readonly onEvent: (event: DebugLogEvent) => void;
  readonly onNotice?: (notice: DaemonNotice) => void;
}

export interface DaemonNotice {
  readonly about: "exit" | "shutdown" | "clock";
  /** Epoch ms, to the second. */
  readonly at: number;
  readonly daemon: string | null;
  /** Text of the line as printed, without time and daemon. */
  readonly text: string;
}

/**
 * Reads a log line by line. Never throws and takes linear time. Reports an event only once the next line
 * shows that the event is complete.
 */
export interface DebugLogReader {
  line(text: string): void;
  /**
   * Sets the approximate time of the next lines; each of them gets the day that brings it closest to this
   * time. Null = unknown.
   */
  near(at: number | null): void;
  flush(): void;
  readonly counts: DebugLogCounts;
  state(): ReaderState;
  /** Times of the first and the last line that have a time and a daemon; null before such a line. */
  readonly firstAt: number | null;
  readonly lastAt: number | null;
}

/**
 * Finds the day of a log's first line, by counting the midnights up to the first printed date. Without a
 * printed date, counts up to the file's modification time.
 */
export interface FirstDay {
  /** Returns true once the day is known and the rest can be skipped. */
  line(text: string): boolean;
  result(lastWrite: number): { readonly day: number; readonly inferred: boolean };
}

/**
 * Kinds of events about licenses:
 * https://docs.revenera.com/fnp/2024r1/LicAdmin_Guide/Content/helplibrary/Informational_Messages.htm
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
  /** Text in brackets, which is the checkout data. */
  readonly data: string | null;
  readonly count: number;
  /** Text in parentheses: why a request was denied, or why seats were returned (`SHUTDOWN`, `INACTIVE`). */
  readonly reason: string | null;
  /** The manager's error number, e.g. -4 in FlexNet's `(-4,342:10054 "")`. */
  readonly code: number | null;
  /** Handle of the checkout, which only daemons with verbose logging print. */
  readonly handle: string | null;
  readonly version: string | null;
}

/** Start or exit of a daemon. Both end the daemon's checkouts. `daemon` null = all daemons of the log. */
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
    /** Number of malformed times such as `12:49:3a9`. The event gets the time of the previous line. */
    brokenTimes: 0,
    /** Number of days missing before a printed date, either quiet days or lost lines. */
    dateJumps: 0,
    /** Number of events moved to the next day because the next printed date showed a midnight before them. */
    redated: 0,
    /** Number of events before the first printed date, dated by the file's modification time. */
    inferredDates: 0,
    samples: [] as { readonly line: number; readonly text: string }[],
  };
}

/** Times are epoch ms. */
export interface PairedSession
  extends Pick<LicenseEvent, "daemon" | "feature" | "host" | "data" | "version" | "handle" | "count"> {
  readonly user: string;
  /** Index among the checkouts with the same names in the same second. */
  readonly ordinal: number;
  /** Index among the check-ins that returned these seats. */
  readonly part: number;
  readonly startedAt: number;
  readonly endedAt: number;
  /** `unobserved`: the log has no check-in; `endedAt` is the last time known. */
  readonly endReason: "checkin" | "server_restart" | "unobserved";
}

interface OpenOut {
  readonly event: LicenseEvent;
  readonly ordinal: number;
  left: number;
  parts: number;
}

/**
 * Pairs OUT and IN events by handle, or by daemon, feature, user, host and checkout data, oldest OUT first.
 * An IN may end several OUTs or a part of one OUT. A daemon that exits or restarts ends its checkouts.
 */
export function createPairing(onSession: (session: PairedSession) => void) {
  const open = new Map<string, Map<string, OpenOut[]>>();
  /** Seats that ended with their daemon, by daemon. The daemon may still print check-ins for these seats. */
  const takenBack = new Map<string, Map<string, number>>();
  const sameSecond = new Map<string, number>();
  let second = Number.NaN;
  const counts = {
    /** Number of check-ins whose checkout was before the start of the log. */
    orphanIns: 0,
    openOuts: 0,
    ambiguous: 0,
  };

  function end(out: OpenOut, count: number, at: number, reason: PairedSession["endReason"]): void {
    const { daemon, feature, user, host, data, version, handle } = out.event;
    const startedAt = out.event.at;
    // Fields are listed one by one, because an object spread takes a second longer per million sessions.
    onSession({
      daemon,
      feature,
      user: user ?? "",
      host,
      data,
      version,
      handle,
      count,
      ordinal: out.ordinal,
      part: out.parts++,
      startedAt,
      endedAt: Math.max(at, startedAt),
      endReason: reason,
    });
  }

  function endAll(seats: Map<string, OpenOut[]>, at: number, reason: PairedSession["endReason"]): void {
    for (const list of seats.values()) for (const out of list) end(out, out.left, at, reason);
    seats.clear();
  }

  function ordinalOf({ at, daemon }: LicenseEvent, key: string): number {
    if (at !== second) sameSecond.clear();
    second = at;
    const what = `${daemon}\0${key}`;
    const ordinal = sameSecond.get(what) ?? 0;
    sameSecond.set(what, ordinal + 1);
    return ordinal;
  }

  function checkout(event: LicenseEvent): void {
    const key = keyOf(event);
    const seats = open.getOrInsertComputed(event.daemon, () => new Map());
    const list = seats.getOrInsertComputed(key, () => []);
    list.push({ event, ordinal: ordinalOf(event, key), left: event.count, parts: 0 });
  }

  function checkin(event: LicenseEvent): void {
    const key = keyOf(event);
    const list = open.get(event.daemon)?.get(key) ?? [];
    const reason = event.reason?.includes("SHUTDOWN") === true ? "server_restart" : "checkin";
    let left = event.count;
    for (let [first] = list; left > 0 && first !== undefined; [first] = list) {
      const chosen = chooseOut(list, event, left) ?? first;
      if (event.handle === null && list.length > 1) counts.ambiguous++;
      const taken = Math.min(chosen.left, left);
      end(chosen, taken, event.at, reason);
      chosen.left -= taken;
      left -= taken;
      if (chosen.left === 0) list.splice(list.indexOf(chosen), 1);
    }
    if (list.length === 0) open.get(event.daemon)?.delete(key);
    // Ignore surplus seats, because a check-in after a linger prints no count or a different one.
    if (left < event.count) return;
    if (reason !== "server_restart" || !wasTakenBack(event, key)) counts.orphanIns++;
  }

  /**
   * Reports whether the daemon's exit already ended these seats. Daemons print `(SHUTDOWN)` check-ins after
   * the line of their exit.
   */
  function wasTakenBack({ daemon, count }: LicenseEvent, key: string): boolean {
    const seats = takenBack.get(daemon);
    const left = seats?.get(key) ?? 0;
    if (left > 0) seats?.set(key, left - count);
    return left > 0;
  }

  function daemonEvent({ daemon, at }: DaemonEvent): void {
    for (const [name, seats] of open) {
      if ((daemon !== null && daemon !== name) || seats.size === 0) continue;
      const held = [...seats].map(
        ([key, list]) => [key, list.reduce((sum, { left }) => sum + left, 0)] as const,
      );
      takenBack.set(name, new Map(held));
      endAll(seats, at, "server_restart");
    }
  }

  return {
    take(event: DebugLogEvent): void {
      if (!("feature" in event)) daemonEvent(event);
      else if (event.kind === "IN") checkin(event);
      else if (event.kind === "OUT") checkout(event);
    },
    /** Ends all open checkouts as unobserved at `lastAt`, because the following lines are missing. */
    gap(lastAt: number): void {
      for (const seats of open.values()) {
        for (const list of seats.values()) counts.openOuts += list.length;
        endAll(seats, lastAt, "unobserved");
      }
    },
    counts,
  };
}

function chooseOut(list: readonly OpenOut[], { handle }: LicenseEvent, left: number): OpenOut | undefined {
  if (handle !== null) return list.find(({ event }) => event.handle === handle);
  return list[0]?.left === left ? list[0] : list.find((out) => out.left === left);
}

function keyOf({ feature, user, host, data }: LicenseEvent): string {
  return `${feature}\0${user ?? ""}\0${host?.toLowerCase() ?? ""}\0${data ?? ""}`;
}
