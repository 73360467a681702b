import type { CheckoutReading } from "./reading.ts";
import { DAY_MS, MINUTE_MS } from "./time/clock.ts";
import { secondOccurrence, wallClock } from "./time/zone.ts";

export const END_REASONS = ["checkin", "server_restart", "unobserved"] as const;
/**
 * How a session ended: `checkin` seen gone · `server_restart` the server or its daemon was seen down before it was
 * gone · `unobserved` it was not seen for more than two intervals before it was gone.
 */
export type EndReason = (typeof END_REASONS)[number];

/**
 * A checkout over its life: one stored row. Times are epoch ms. Its end is an interval: it held at `lastSeenAt`,
 * and `endedAt` is the first good reading without it.
 */
export interface Session
  extends Pick<CheckoutReading, "user" | "host" | "display" | "qualifier" | "version" | "count" | "handle"> {
  readonly id: number;
  readonly server: string;
  readonly daemon: string;
  readonly feature: string;
  /** What the tool says. */
  readonly startedAt: number | null;
  /** From when its seats count, see {@link beginOf}. */
  readonly beganAt: number;
  readonly firstSeenAt: number;
  readonly lastSeenAt: number;
  readonly endedAt: number | null;
  readonly endReason: EndReason | null;
  /**
   * Set if the clock was doubted when the session began or ended: the ms to subtract from times that turn out to be in
   * the future.
   */
  readonly doubtMs?: number | null;
}

/** When a reading was made. */
export interface Sight {
  /** Epoch ms. */
  readonly at: number;
  /** Null while nothing speaks against the clock, see {@link Session.doubtMs}. */
  readonly doubtMs: number | null;
}

/**
 * Returns the time of a reading by the clock, which is `aheadMs` ahead of the stored time (negative = behind, null = not
 * doubted). Time does not go back, so a clock that is behind is corrected. One that is ahead may be right: the host may
 * have been off.
 */
export function sightAt(clockMs: number, aheadMs: number | null): Sight {
  if (aheadMs === null) return { at: clockMs, doubtMs: null };
  return { at: clockMs + Math.max(0, -aheadMs), doubtMs: Math.abs(aheadMs) };
}

/** FlexNet prints starts by the minute. */
export const START_RESOLUTION_MS = MINUTE_MS;

/**
 * From when a session's seats count. One that was absent from the reading before counts from the one that has it, as the
 * counts of its feature do: a seat that goes from hand to hand between two readings would count twice if the new
 * session began at its reported start, for the old one lasts to the reading that lacks it. Past a gap in observation
 * the old one counts to one interval after it was seen, and the new one from there on. Where no reading proves an
 * absence, the reported start counts when it can be true.
 */
export function beginOf(
  startedAt: number | null,
  firstSeenAt: number,
  absentAt: number | null,
  intervalMs: number,
): number {
  if (startedAt === null || startedAt > firstSeenAt) return firstSeenAt;
  if (absentAt === null) return startedAt;
  // A seat that was removed and taken again keeps an old start.
  if (startedAt + START_RESOLUTION_MS <= absentAt) return firstSeenAt;
  return firstSeenAt - absentAt > 2 * intervalMs ? Math.max(startedAt, absentAt + intervalMs) : firstSeenAt;
}

/**
 * When a session started. Of a start in the hour that occurs twice at the end of summer time the parsers take the first:
 * a reading after that which lacks the seat shows that it is the second.
 */
export function startOf(
  startedAt: number | null,
  firstSeenAt: number,
  absentAt: number | null,
  zone: string,
): number | null {
  if (startedAt === null || absentAt === null || startedAt + START_RESOLUTION_MS > absentAt) return startedAt;
  const second = secondOccurrence(zone, startedAt);
  return second !== null && second <= firstSeenAt ? second : startedAt;
}

/**
 * From when people count how long it lasts: its reported start where that agrees with when it was first seen, to within two
 * intervals; else {@link Session.beganAt}.
 */
export function shownBegin(
  { startedAt, beganAt, firstSeenAt }: Pick<Session, "startedAt" | "beganAt" | "firstSeenAt">,
  intervalMs: number,
): number {
  if (startedAt === null || startedAt > firstSeenAt) return beganAt;
  return beganAt - startedAt <= 2 * intervalMs + START_RESOLUTION_MS ? startedAt : beganAt;
}

/** A clock that was off by more than this was wrong, and so are the times that it gave. */
export const WRONG_CLOCK_MS = DAY_MS;

/**
 * Returns a session by the clock of a reading at `at`. A start that is days later than the first sight proves that the
 * clock was behind then: the session counts from its start. Times that are days after `at` come from a clock that was
 * ahead. Nothing ends before it begins.
 */
function byClock(session: Session, at: number): Session {
  const { startedAt, beganAt, firstSeenAt, lastSeenAt, doubtMs } = session;
  if (startedAt !== null && startedAt - firstSeenAt > WRONG_CLOCK_MS && startedAt <= at) {
    const times = { beganAt: startedAt, firstSeenAt: startedAt, lastSeenAt: Math.max(startedAt, lastSeenAt) };
    return byClock({ ...session, ...times }, at);
  }
  if (at >= lastSeenAt) return session;
  if (firstSeenAt - at <= WRONG_CLOCK_MS) return { ...session, lastSeenAt: Math.max(at, firstSeenAt) };
  const first = doubtMs ? Math.min(at, firstSeenAt - doubtMs) : at;
  return { ...session, beganAt: Math.min(beganAt, first), firstSeenAt: first, lastSeenAt: at, doubtMs: null };
}

/** A session whose line stands in a good reading. */
export function seenAgain(session: Session, { count, handle }: CheckoutReading, { at }: Sight): Session {
  const known = byClock(session, at);
  return { ...known, lastSeenAt: Math.max(at, known.firstSeenAt), count, handle };
}

/** Ends a session at the first good reading without it. */
export function endSession(
  before: Session,
  { at, doubtMs }: Sight,
  seen: { readonly down: boolean; readonly intervalMs: number },
): Session {
  const session = byClock(before, at);
  const gap = at - session.lastSeenAt > 2 * seen.intervalMs;
  return {
    ...session,
    endedAt: Math.max(at, session.firstSeenAt),
    endReason: seen.down ? "server_restart" : gap ? "unobserved" : "checkin",
    doubtMs: doubtMs ?? session.doubtMs ?? null,
  };
}

/**
 * Seconds that a session lasted, at `now` (the reading's time) while it is open. Past a gap in observation of more
 * than two intervals it is counted to one interval after it was last seen: no more is known.
 */
export function durationSeconds(session: Session, now: number, intervalMs: number): number {
  const end = session.endedAt ?? now;
  const known = end - session.lastSeenAt > 2 * intervalMs ? session.lastSeenAt + intervalMs : end;
  return Math.max(0, Math.floor((known - shownBegin(session, intervalMs)) / 1000));
}

/** Who holds a seat, and on which host; null where the manager does not say. */
export type Holder = Pick<CheckoutReading, "user" | "host">;

/** A user as a part of keys. An unknown user gets a text with NUL, which no tool prints as a name. */
export function userKey(user: string | null): string {
  return user ?? "\0";
}

/** `ada on ws01`, for messages. */
export function holderName({ user, host }: Holder): string {
  const who = user ?? "an unknown user";
  return host === null ? who : `${who} on ${host}`;
}

type Seat = Pick<CheckoutReading, "user" | "host" | "version" | "handle">;
type Line = Seat & Pick<CheckoutReading, "display">;

/**
 * Returns the key under which two readings show the same seat: handle, user, host, version. Hosts differ in case only
 * between lines of one client. Lines with equal keys are told apart by their ordinal.
 */
export function seatKey(row: Seat): string {
  return `${row.handle ?? ""}\0${userKey(row.user)}\0${row.host?.toLowerCase() ?? ""}\0${row.version ?? ""}`;
}

/** Returns the same key with the display, which distinguishes checkouts of one user and host. */
export function lineKey(row: Line): string {
  return `${seatKey(row)}\0${row.display ?? ""}`;
}

/** Returns the key without the display, for tools that print it differently each time; null without handle and start. */
export function anyDisplayKey(row: Seat & Pick<Session, "startedAt">): string | null {
  return row.handle === null && row.startedAt === null ? null : seatKey(row);
}

/**
 * Returns the key without the handle, with the start: a server that restarts gives new handles to old seats. The start
 * is the wall-clock time of the server, see {@link startOf}.
 */
export function restartKey(row: Line & Pick<Session, "startedAt">, zone: string): string | null {
  if (row.startedAt === null) return null;
  return `${wallClock(zone, row.startedAt)}${lineKey({ ...row, handle: null })}`;
}

/**
 * Reports whether a line with another handle or display can continue a session: it started before the reading that
 * showed the session. If it started within that minute, it may be a new checkout with the same start.
 */
export function isOlderThanSight(
  { lastSeenAt }: Pick<Session, "lastSeenAt">,
  { startedAt }: Pick<CheckoutReading, "startedAt">,
): boolean {
  return startedAt === null || startedAt + START_RESOLUTION_MS <= lastSeenAt;
}

/** True when a line under a known key is a seat that was taken again: it started after its forerunner was last seen. */
export function isTakenAnew(session: Session, row: Pick<CheckoutReading, "startedAt">): boolean {
  if (row.startedAt === null || session.startedAt === null || row.startedAt === session.startedAt)
    return false;
  return row.startedAt >= session.lastSeenAt - START_RESOLUTION_MS && row.startedAt > session.startedAt;
}
