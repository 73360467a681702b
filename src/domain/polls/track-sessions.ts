import { featureKey, featureOfKey } from "../history.ts";
import type { CheckoutPicture, FeaturePicture, ServerPicture } from "../picture.ts";
import { type CheckoutReading, isSameLine } from "../reading.ts";
import type { MonitoredServer } from "../server.ts";
import {
  beginOf,
  endSession,
  matchSeats,
  type Session,
  type Sight,
  SLICE_ROWS,
  seenAgain,
  shownBegin,
  sightAt,
  startOf,
  WRONG_CLOCK_MS,
} from "../session.ts";
import { DAY_MS } from "../time/clock.ts";
import { secondOccurrence } from "../time/zone.ts";

/** In a partial feature, a seat that is missing from two of the last three readings counts as returned. */
const PARTIAL_READINGS = 3;
const PARTIAL_MISSES = 2;
/**
 * Time for which to remember when the seats of a removed feature were last absent, because the feature may
 * return with the same seats.
 */
const GONE_KNOWN_MS = DAY_MS;

/** Open sessions of one server. Immutable: each poll makes a new one. */
export interface Tracking {
  readonly features: ReadonlyMap<string, FeatureTracking>;
  /**
   * False until the first good reading. Seats in that reading may have been taken long before, so they
   * cause no checkout events.
   */
  readonly begun: boolean;
  /** Configuration at the last poll. */
  readonly server?: MonitoredServer;
}

interface FeatureTracking {
  readonly open: readonly OpenSession[];
  /** Time of the last complete reading of the feature. Seats missing from that reading were absent. */
  readonly readAt: number | null;
  /** Number of consecutive readings that were not cut and in which the feature was partial. */
  readonly partialRun: number;
  /** Whether the server or the daemon was seen down since `readAt`. */
  readonly seenDown: boolean;
  /**
   * Lines of `open` in the last reading; null if that reading was not complete. If set, all open sessions
   * were seen at `readAt`. Their `lastSeenAt` may be older, because most polls find the same lines and make
   * no new session objects.
   */
  readonly shown: readonly CheckoutPicture[] | null;
  /** The lines from which `shown` was made. */
  readonly lines: readonly CheckoutReading[];
}

interface OpenSession {
  readonly session: Session;
  /** Whether the seat was missing, for the last {@link PARTIAL_READINGS} partial readings; newest last. */
  readonly misses: readonly boolean[];
}

export interface SessionChanges {
  readonly opened: readonly Session[];
  readonly closed: readonly Session[];
  /**
   * Open sessions whose stored row is outdated: handle, count or begin changed, or they are missing for the
   * first time.
   */
  readonly changed: readonly Session[];
  readonly announce: boolean;
}

/**
 * Returns new ids for rows in the tool's order. The daemon shuffles them, because a tool may sort rows by
 * user, and keys that may not see users do see ids.
 */
export type NextIds = (count: number) => readonly number[];

export function shuffle(ids: readonly number[], random: () => number): number[] {
  const drawn = ids.map((id) => ({ id, at: random() })).sort((a, b) => a.at - b.at);
  return drawn.map(({ id }) => id);
}

export const NO_TRACKING: Tracking = { features: new Map(), begun: false };

/** When a feature's sessions ended because its server was removed from the config. */
export interface Released {
  readonly daemon: string;
  readonly feature: string;
  readonly endedAt: number;
}

/**
 * Restores the sessions that an earlier process left open, with the features of its last picture.
 * `released` has the features whose sessions ended because the server was removed. If seats of such a
 * feature are still held, new sessions begin, no earlier than the end of the old ones.
 */
export function resumeTracking(
  open: readonly Session[],
  begun: boolean,
  pictured: readonly FeaturePicture[],
  released: readonly Released[] = [],
): Tracking {
  const features = new Map<string, FeatureTracking>();
  for (const { daemon, feature, endedAt } of released)
    features.set(featureKey(daemon, feature), unheld(endedAt));
  for (const feature of pictured) {
    const readAt = wholeAt(feature);
    const key = featureKey(feature.daemon, feature.name);
    if (readAt !== null) features.set(key, unheld(Math.max(readAt, features.get(key)?.readAt ?? 0)));
  }
  for (const [key, sessions] of Map.groupBy(open, ({ daemon, feature }) => featureKey(daemon, feature))) {
    const tracked = sessions.map((session) => ({ session, misses: [] }));
    features.set(key, { ...(features.get(key) ?? unheld(null)), open: tracked });
  }
  return { features, begun };
}

/**
 * Returns when a stored feature was last complete. Adds up its lines, because its stored state may be
 * `stale`.
 */
function wholeAt({ used, checkouts, reserved, collectedAt }: FeaturePicture): number | null {
  const held = checkouts.reduce((sum, { count }) => sum + count, reserved ?? 0);
  return used !== null && held >= used ? collectedAt : null;
}

function unheld(readAt: number | null): FeatureTracking {
  return { open: [], readAt, partialRun: 0, seenDown: false, shown: null, lines: [] };
}

/** Returns a feature's open sessions, each with the time at which it was last seen. */
function openOf({ open, readAt, shown }: FeatureTracking): readonly OpenSession[] {
  if (shown === null || readAt === null) return open;
  return open.map((each) => {
    const { session } = each;
    return session.lastSeenAt < readAt ? { ...each, session: { ...session, lastSeenAt: readAt } } : each;
  });
}

export function openSessions(tracking: Tracking): Session[] {
  return [...tracking.features.values()].flatMap((feature) => openOf(feature).map(({ session }) => session));
}

/** Ends the open sessions of a removed server, each when it was last seen. */
export function releaseAll(tracking: Tracking): SessionChanges {
  const closed = openSessions(tracking).map(
    (session): Session => ({ ...session, endedAt: session.lastSeenAt, endReason: "unobserved" }),
  );
  return { opened: [], closed, changed: [], announce: false };
}

export interface Tracked {
  readonly tracking: Tracking;
  readonly changes: SessionChanges;
  /** The picture, with session times added to its checkouts. */
  readonly picture: ServerPicture;
}

/**
 * Compares a poll's picture with the open sessions. A feature that was not read closes no sessions. A
 * partial feature closes seats that are missing from two of its last three complete readings. An `ok`
 * feature closes every missing seat. `aheadMs` is how far the clock may be ahead, see {@link sightAt}.
 * Yields regularly, because a site may hold 50,000 seats.
 */
export function* trackSessions(
  before: Tracking,
  picture: ServerPicture,
  nextIds: NextIds,
  aheadMs: number | null = null,
): Generator<void, Tracked> {
  const { server, collectedAt, lastPollAt } = picture;
  const isRead = collectedAt !== null && collectedAt === lastPollAt && picture.error === null;
  const sight = isRead ? sightAt(collectedAt, aheadMs) : null;
  const features = new Map<string, FeatureTracking>();
  const changes: Changes = { opened: [], closed: [], changed: [] };
  const gone = new Map(before.features);
  const seen: FeaturePicture[] = [];
  let rows = 0;

  for (const feature of picture.features) {
    const key = featureKey(feature.daemon, feature.name);
    const known = before.features.get(key);
    gone.delete(key);
    if (sight === null || feature.collectedAt !== collectedAt || feature.state === "failed") {
      if (known !== undefined) features.set(key, unread(known, picture, feature.daemon));
      seen.push(feature);
      continue;
    }
    rows += feature.checkouts.length + (known?.open.length ?? 0);
    if (rows > SLICE_ROWS) {
      rows = 0;
      yield;
    }
    if (known !== undefined && before.server === server && isUnchanged(known, feature, sight.at)) {
      features.set(key, { ...known, readAt: sight.at, seenDown: false, lines: feature.checkouts });
      seen.push({ ...feature, checkouts: known.shown });
      continue;
    }
    const tracked = yield* trackFeature(known ?? unheld(null), feature, picture, sight, nextIds, changes);
    const checkouts = withTimes(feature.checkouts, tracked.open, server);
    const shown = feature.state === "ok" ? checkouts : null;
    features.set(key, { ...tracked, shown, lines: feature.checkouts });
    const missing = tracked.open.slice(feature.checkouts.length);
    seen.push({
      ...feature,
      checkouts,
      ...(missing.length > 0 && {
        alsoHeldBy: missing.map(({ session: { user, host } }) => ({ user, host })),
      }),
    });
  }

  for (const [key, known] of gone) {
    const [daemon] = featureOfKey(key);
    // A feature leaves the picture only after two good readings without it, so the second one ends its
    // sessions.
    if (sight === null) {
      features.set(key, unread(known, picture, daemon));
      continue;
    }
    for (const { session } of openOf(known)) changes.closed.push(end(session, sight, known, server));
    const absentAt = known.open.length > 0 ? sight.at : known.readAt;
    if (absentAt !== null && sight.at - absentAt < GONE_KNOWN_MS) features.set(key, unheld(absentAt));
  }
  // Sort by id, because ids do not reveal the tool's order (see `NextIds`), but the order of rows would.
  const byId = (a: Session, b: Session) => a.id - b.id;
  changes.opened.sort(byId);
  changes.closed.sort(byId);
  return {
    tracking: { features, begun: before.begun || sight !== null, server },
    changes: { ...changes, announce: before.begun },
    picture: { ...picture, features: seen },
  };
}

type Changes = Record<"opened" | "closed" | "changed", Session[]>;

/**
 * Reports whether a complete reading has the same lines as the last one, in the same order. Returns false
 * after a clock jump, because each session must then be checked.
 */
function isUnchanged(
  known: FeatureTracking,
  { state, checkouts }: FeaturePicture,
  at: number,
): known is FeatureTracking & { readonly shown: readonly CheckoutPicture[] } {
  const { shown, lines, readAt } = known;
  return (
    state === "ok" &&
    shown !== null &&
    lines.length === checkouts.length &&
    at >= (readAt ?? at) &&
    at - (readAt ?? at) <= WRONG_CLOCK_MS &&
    checkouts.every((row, index) => isSameLine(row, lines[index] as CheckoutReading))
  );
}

/** Expects the sessions of `rows` at the start of `open`, in the same order. */
function withTimes(
  rows: readonly CheckoutReading[],
  open: readonly OpenSession[],
  { intervalMs, timezone }: MonitoredServer,
): CheckoutPicture[] {
  return rows.map((row, index) => {
    const session = open[index]?.session;
    if (session === undefined) return row;
    const { id, startedAt, firstSeenAt } = session;
    const isOther = startedAt !== null && row.startedAt !== null && startedAt !== row.startedAt;
    const isSecond = isOther && startedAt === secondOccurrence(timezone, row.startedAt);
    const start = isSecond ? startedAt : row.startedAt;
    return {
      ...row,
      user: sameText(session.user, row.user),
      host: sameText(session.host, row.host),
      display: sameText(session.display, row.display),
      qualifier: sameText(session.qualifier, row.qualifier),
      version: sameText(session.version, row.version),
      handle: sameText(session.handle, row.handle),
      startedAt: start,
      session: id,
      firstSeenAt,
      beganAt: shownBegin(session, intervalMs),
    };
  });
}

/**
 * Returns the session's own string if both are equal. Sessions live for weeks, and the line's string would
 * keep tool output in memory.
 */
function sameText<T extends string | null>(own: T, line: T): T {
  return own === line ? own : line;
}

function* trackFeature(
  known: FeatureTracking,
  feature: FeaturePicture,
  { server, cut }: ServerPicture,
  sight: Sight,
  nextIds: NextIds,
  changes: Changes,
): Generator<void, Omit<FeatureTracking, "shown" | "lines">> {
  const matched = yield* matchSeats(openOf(known), feature.checkouts, server.timezone);
  const partial = feature.state === "partial";
  const whole = partial && !cut;
  const open: OpenSession[] = [];
  const ids = nextIds(matched.held.filter(({ held }) => held === null).length).values();
  for (const { row, held } of matched.held) {
    if (held === null) {
      const id = ids.next().value;
      if (id === undefined) throw new Error("The store gave no id to a session");
      const session = openSession(id, server, feature, row, sight, known.readAt);
      changes.opened.push(session);
      open.push({ session, misses: [] });
      continue;
    }
    const { session: before, misses } = held;
    const { count, handle } = row;
    const session = seenAgain(before, row, sight);
    const differs =
      before.count !== count || before.handle !== handle || before.firstSeenAt !== session.firstSeenAt;
    if (differs || misses.at(-1) === true) changes.changed.push(session);
    open.push({ session, misses: whole ? pushMiss(misses, false) : partial ? misses : [] });
    if (open.length % SLICE_ROWS === 0) yield;
  }

  const partialRun = partial ? known.partialRun + (whole ? 1 : 0) : 0;
  for (const { session, misses: before } of matched.missing) {
    const misses = whole ? pushMiss(before, true) : before;
    const enough = partialRun >= PARTIAL_READINGS && misses.filter(Boolean).length >= PARTIAL_MISSES;
    if (!partial || (whole && enough)) {
      changes.closed.push(end(session, sight, known, server));
    } else {
      if (before.at(-1) !== true) changes.changed.push(session);
      open.push({ session, misses });
    }
  }
  return { open, readAt: partial ? known.readAt : sight.at, partialRun, seenDown: false };
}

function openSession(
  id: number,
  { id: server, intervalMs, timezone }: MonitoredServer,
  { daemon, name }: FeaturePicture,
  row: CheckoutReading,
  { at: readAt, doubtMs }: Sight,
  absentAt: number | null,
): Session {
  const { user, host, display, qualifier, version, count, handle } = row;
  // Copy texts: sessions live for weeks, and a slice keeps the 16 KB of output that it was cut from (7 MB
  // for 350 seats).
  const texts = { user: copyOf(user), host: copyOf(host), display: copyOf(display) };
  const words = { qualifier: copyOf(qualifier), version: copyOf(version), handle: copyOf(handle) };
  const startedAt = startOf(row.startedAt, readAt, absentAt, timezone);
  const beganAt = beginOf(startedAt, readAt, absentAt, intervalMs);
  const times = { startedAt, beganAt, firstSeenAt: readAt, lastSeenAt: readAt };
  const what = { id, server, daemon: copyOf(daemon), feature: copyOf(name), count };
  return { ...what, ...texts, ...words, ...times, endedAt: null, endReason: null, doubtMs };
}

/** Copies a string that may be a slice of a larger one. */
function copyOf<T extends string | null>(text: T): T {
  return (text === null ? null : Buffer.from(text).toString()) as T;
}

function end(session: Session, at: Sight, { seenDown }: FeatureTracking, server: MonitoredServer): Session {
  return endSession(session, at, { down: seenDown, intervalMs: server.intervalMs });
}

/**
 * Updates a feature that was not read. Notes whether its server or daemon is down, because that explains
 * seats that are missing later.
 */
function unread(known: FeatureTracking, picture: ServerPicture, daemon: string): FeatureTracking {
  const down =
    picture.status === "down" ||
    picture.daemons.some(({ name, status }) => name === daemon && status === "down");
  return down && !known.seenDown ? { ...known, seenDown: true } : known;
}

function pushMiss(misses: readonly boolean[], missed: boolean): readonly boolean[] {
  if (!missed && misses.length === 0) return misses;
  return [...misses.slice(-(PARTIAL_READINGS - 1)), missed];
}
