import type { CheckoutReading } from "./reading.ts";
import { DAY_MS, MINUTE_MS } from "./time/clock.ts";
import { secondOccurrence, wallClock } from "./time/zone.ts";

export const END_REASONS = ["checkin", "server_restart", "unobserved"] as const;
/**
 * `checkin`: a reading showed that the seat was returned. `server_restart`: the server or its daemon was
 * seen down before that reading. `unobserved`: the session had not been seen for more than two intervals
 * before that reading.
 */
export type EndReason = (typeof END_REASONS)[number];

/**
 * A stored checkout. Times are epoch ms. The exact end is unknown: the session was open at `lastSeenAt`, and
 * `endedAt` is the first good reading without it.
 */
export interface Session
  extends Pick<CheckoutReading, "user" | "host" | "display" | "qualifier" | "version" | "count" | "handle"> {
  readonly id: number;
  readonly server: string;
  readonly daemon: string;
  readonly feature: string;
  /** Start of the checkout as the tool reports it. */
  readonly startedAt: number | null;
  /** When the seats of the session begin to count, see {@link beginOf}. */
  readonly beganAt: number;
  readonly firstSeenAt: number;
  readonly lastSeenAt: number;
  readonly endedAt: number | null;
  readonly endReason: EndReason | null;
  /**
   * Set if the clock was in doubt when the session began or ended: the ms to subtract from times that turn
   * out to be in the future.
   */
  readonly doubtMs?: number | null;
}

/** Time of a reading. */
export interface Sight {
  /** Time of the reading, epoch ms. */
  readonly at: number;
  /** Doubt about the clock, see {@link Session.doubtMs}; null means that the clock is trusted. */
  readonly doubtMs: number | null;
}

/**
 * Returns the time of a reading. `aheadMs` is how far the clock is ahead of the stored time: negative if it
 * is behind, null if the clock is trusted. A clock that is behind is corrected, because time does not go
 * back. A clock that is ahead is not corrected, because it may be right: the host may have been off.
 */
export function sightAt(clockMs: number, aheadMs: number | null): Sight {
  if (aheadMs === null) return { at: clockMs, doubtMs: null };
  return { at: clockMs + Math.max(0, -aheadMs), doubtMs: Math.abs(aheadMs) };
}

/** Precision of printed starts: FlexNet prints no seconds. */
export const START_RESOLUTION_MS = MINUTE_MS;

/**
 * Returns when a session's seats begin to count. If the reading before the first one did not show the
 * session, the seats count from the first reading, as the feature's counts do. The old session of a seat
 * that changes hands lasts until the reading without it, so the reported start of the new session would
 * count the seat twice. After a gap in the readings, the old session counts until one interval after it was
 * last seen, and the new one from then on. If no reading showed an absence, the reported start is used
 * unless it is later than the first reading.
 */
export function beginOf(
  startedAt: number | null,
  firstSeenAt: number,
  absentAt: number | null,
  intervalMs: number,
): number {
  if (startedAt === null || startedAt > firstSeenAt) return firstSeenAt;
  if (absentAt === null) return startedAt;
  // The start belongs to an earlier checkout: a seat that is returned and taken again keeps its old start.
  if (startedAt + START_RESOLUTION_MS <= absentAt) return firstSeenAt;
  return firstSeenAt - absentAt > 2 * intervalMs ? Math.max(startedAt, absentAt + intervalMs) : firstSeenAt;
}

/**
 * Returns when a session started. When summer time ends, one hour occurs twice, and parsers assume the
 * first time. If a later reading did not show the seat, the session started when the hour occurred again.
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
 * Returns the start for displayed durations: the reported start if it is within two intervals of the first
 * reading, else {@link Session.beganAt}.
 */
export function shownBegin(
  { startedAt, beganAt, firstSeenAt }: Pick<Session, "startedAt" | "beganAt" | "firstSeenAt">,
  intervalMs: number,
): number {
  if (startedAt === null || startedAt > firstSeenAt) return beganAt;
  return beganAt - startedAt <= 2 * intervalMs + START_RESOLUTION_MS ? startedAt : beganAt;
}

/** Difference above which a clock counts as wrong. */
export const WRONG_CLOCK_MS = DAY_MS;

/**
 * Corrects a session by the clock of a reading at `at`. A reported start days after the first reading shows
 * that the clock was behind then, so the session counts from the reported start. A first reading days after
 * `at` shows that the clock was ahead then, so the session's times move back to `at` or earlier. No session
 * ends before it begins.
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

/** Updates a session that a good reading shows again. */
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
 * Returns how many seconds a session lasted, until `now` if it is open. If it was not seen for more than
 * two intervals, it counts until one interval after it was last seen.
 */
export function durationSeconds(session: Session, now: number, intervalMs: number): number {
  const end = session.endedAt ?? now;
  const known = end - session.lastSeenAt > 2 * intervalMs ? session.lastSeenAt + intervalMs : end;
  return Math.max(0, Math.floor((known - shownBegin(session, intervalMs)) / 1000));
}

/** User and host of a seat; null if the manager does not name them. */
export type Holder = Pick<CheckoutReading, "user" | "host">;

/** Returns a user as part of a key. NUL, which no tool prints in a name, means an unknown user. */
export function userKey(user: string | null): string {
  return user ?? "\0";
}

/** Formats a holder for messages: `ada on ws01`. */
export function holderName({ user, host }: Holder): string {
  const who = user ?? "an unknown user";
  return host === null ? who : `${who} on ${host}`;
}

type Seat = Pick<CheckoutReading, "user" | "host" | "version" | "handle">;
type Line = Seat & Pick<CheckoutReading, "display">;

/**
 * Returns a key that is equal in two readings of the same seat. Hosts are compared without case, because
 * lines of one client may differ in it. Lines with equal keys are distinguished by their order.
 */
export function seatKey(row: Seat): string {
  return `${row.handle ?? ""}\0${userKey(row.user)}\0${row.host?.toLowerCase() ?? ""}\0${row.version ?? ""}`;
}

/** Returns `seatKey` plus the display, which tells apart checkouts by one user on one host. */
function lineKey(row: Line): string {
  return `${seatKey(row)}\0${row.display ?? ""}`;
}

/**
 * Returns `seatKey`, for tools that print another display each time. Returns null if the row has neither a
 * handle nor a start.
 */
function anyDisplayKey(row: Seat & Pick<Session, "startedAt">): string | null {
  return row.handle === null && row.startedAt === null ? null : seatKey(row);
}

/**
 * Returns a key with the start instead of the handle: a restarted server gives new handles to old seats. The
 * start is the server's wall-clock time, see {@link startOf}.
 */
function restartKey(row: Line & Pick<Session, "startedAt">, zone: string): string | null {
  if (row.startedAt === null) return null;
  return `${wallClock(zone, row.startedAt)}${lineKey({ ...row, handle: null })}`;
}

/**
 * Reports whether a line with another handle or display can continue a session: it must have started before
 * the last reading of the session. Starts have no seconds, so a line from the minute of that reading may be
 * a new checkout.
 */
function isOlderThanSight(
  { lastSeenAt }: Pick<Session, "lastSeenAt">,
  { startedAt }: Pick<CheckoutReading, "startedAt">,
): boolean {
  return startedAt === null || startedAt + START_RESOLUTION_MS <= lastSeenAt;
}

/** Reports whether a line with a known key is a new checkout: it started after the session was last seen. */
function isTakenAnew(session: Session, row: Pick<CheckoutReading, "startedAt">): boolean {
  if (row.startedAt === null || session.startedAt === null || row.startedAt === session.startedAt)
    return false;
  return row.startedAt >= session.lastSeenAt - START_RESOLUTION_MS && row.startedAt > session.startedAt;
}

/** Number of rows to handle before the event loop gets a turn. */
export const SLICE_ROWS = 1_000;

/** A line and the open session that it continues; null if it starts a new one. */
interface Held<S> {
  readonly row: CheckoutReading;
  readonly held: S | null;
}

/**
 * Matches lines with open sessions: first those with equal handle and display, then those whose handle or
 * display changed. `zone`: zone of the server's clock.
 */
export function* matchSeats<S extends { readonly session: Session }>(
  open: readonly S[],
  rows: readonly CheckoutReading[],
  zone: string,
): Generator<void, { held: readonly Held<S>[]; missing: readonly S[] }> {
  const byLine = group(open, ({ session }) => lineKey(session));
  let held: Held<S>[] = [];
  const left = new Set(open);
  for (const row of rows) {
    const found = take(byLine.get(lineKey(row)), ({ session }) => !isTakenAnew(session, row));
    if (found !== null) left.delete(found);
    held.push({ row, held: found });
    if (held.length % SLICE_ROWS === 0) yield;
  }
  for (const keyOf of [anyDisplayKey, restartKey]) {
    if (left.size === 0) break;
    const byKey = group([...left], ({ session }) => keyOf(session, zone));
    held = held.map((entry) => {
      const { row } = entry;
      const key = entry.held === null ? keyOf(row, zone) : null;
      const fits = ({ session }: S) => !isTakenAnew(session, row) && isOlderThanSight(session, row);
      const found = key === null ? null : take(byKey.get(key), fits);
      if (found !== null) left.delete(found);
      return found === null ? entry : { row, held: found };
    });
  }
  return { held, missing: [...left] };
}

/** Groups items in reverse order, so that {@link take} usually removes the last one. */
function group<T>(items: readonly T[], keyOf: (item: T) => string | null): Map<string | null, T[]> {
  return Map.groupBy(items.toReversed(), keyOf);
}

/** Removes and returns the first fitting item. */
function take<T>(group: T[] = [], fits: (item: T) => boolean): T | null {
  const index = group.findLastIndex(fits);
  if (index === -1) return null;
  return (index === group.length - 1 ? group.pop() : group.splice(index, 1)[0]) ?? null;
}
