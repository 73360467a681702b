import { type FeatureId, featureIdKey } from "../history.ts";
import { type Session, shownBegin, userKey } from "../session.ts";
import { firstWhere } from "./spans.ts";

export type HeldSession = Omit<Session, "id" | "display" | "qualifier" | "version" | "handle" | "startedAt">;

/** A span [from, to) in which seats are known to have been held. Times are epoch ms. */
export interface Holding {
  readonly from: number;
  readonly to: number;
}

/**
 * Returns when a session is known to have held its seats, from polls or an imported log. The time begins
 * when the session was first seen, because the reported start was not observed, and ends with the session.
 * After a gap in observation of more than two intervals, the time ends one interval after the session was
 * last seen. With the `gaps` of the server, the time then ends where the coverage of the server ended, as
 * for the server's counts. `readAt` is the last good reading of the feature, because polls do not update an
 * open session's row. `now` is the time of the request.
 */
export function holdingOf(
  session: Pick<Session, "firstSeenAt" | "lastSeenAt" | "endedAt" | "endReason">,
  readAt: number | null,
  now: number,
  intervalMs: number,
  gaps: readonly Holding[] | null = null,
): Holding {
  const { firstSeenAt, endedAt } = session;
  const seen = endedAt === null ? Math.max(session.lastSeenAt, readAt ?? 0) : session.lastSeenAt;
  const end = endedAt ?? now;
  // Do not judge a checkin again: its end reason was chosen with the interval of that time, which may have
  // changed.
  const late = session.endReason !== "checkin" && end - seen > 2 * intervalMs;
  const to = late ? ((gaps && coveredUntil(gaps, seen, end, intervalMs)) ?? seen + intervalMs) : end;
  return { from: firstSeenAt, to: Math.max(firstSeenAt, to) };
}

/**
 * Returns when the server's coverage ended after `seen`. Returns null if coverage continued for long,
 * because then only the feature was not read.
 */
function coveredUntil(
  gaps: readonly Holding[],
  seen: number,
  end: number,
  intervalMs: number,
): number | null {
  const gap = gaps[firstWhere(gaps.length, (at) => (gaps[at]?.from ?? 0) >= seen)];
  const until = Math.min(gap?.from ?? end, end);
  return until - seen <= 3 * intervalMs ? until : null;
}

export interface Asked {
  readonly now: number;
  readonly intervals: Readonly<Record<string, number>>;
}

/** Assumed poll interval of servers that are no longer in the config. */
export const DEFAULT_INTERVAL_MS = 60_000;

export type Holdings = ReturnType<typeof holdingsAt>;

/** Returns functions for the holdings of sessions: for displayed durations, or with `gaps` for seat-hours. */
export function holdingsAt(
  lastReadings: ReadonlyMap<string, number>,
  { now, intervals }: Asked,
  gaps: Gaps | null = null,
) {
  /** Returns the server's last reading, because polls do not update an open session's row. */
  const lastReading = (server: string) => lastReadings.get(server) ?? null;
  const intervalOf = (server: string) => intervals[server] ?? DEFAULT_INTERVAL_MS;
  return {
    lastReading,
    shownBegin: (session: Pick<Session, "server" | "startedAt" | "beganAt" | "firstSeenAt">): number =>
      shownBegin(session, intervalOf(session.server)),
    holdingOf: (session: Parameters<typeof holdingOf>[0] & Pick<HeldSession, "server">): Holding =>
      // A checkin needs no lookups, which would take longer than everything else.
      session.endReason === "checkin"
        ? holdingOf(session, null, now, 0)
        : holdingOf(
            session,
            lastReading(session.server),
            now,
            intervalOf(session.server),
            gaps && (gaps.get(session.server) ?? []),
          ),
  };
}

/**
 * Returns the part of a holding in [start, end); null if the holding lies outside. A holding of zero length
 * counts at its moment.
 */
export function clip({ from, to }: Holding, start: number, end: number): Holding | null {
  if (from === to) return from >= start && from < end ? { from, to } : null;
  const clipped = { from: Math.max(from, start), to: Math.min(to, end) };
  return clipped.from < clipped.to ? clipped : null;
}

/** Distinct names of sessions, which refer to them by index. A feature includes its server and daemon. */
export interface HeldNames {
  readonly features: (readonly [server: string, daemon: string, feature: string])[];
  readonly users: (string | null)[];
  readonly hosts: (string | null)[];
}

interface Holders {
  readonly feature: Uint32Array;
  readonly user: Uint32Array;
  readonly host: Uint32Array;
  readonly count: Uint32Array;
}

/** Held seats in columns: a large site has ten million sessions a year. */
export interface HeldSeats {
  readonly names: HeldNames;
  readonly holders: Holders;
  /** Index of the holder; the earliest start first. */
  readonly whose: Uint32Array;
  readonly from: Float64Array;
  readonly to: Float64Array;
  /** Indices of all rows, the earliest end first. */
  readonly byEnd: Uint32Array;
}

export interface HeldSum extends FeatureId {
  readonly seatMs: number;
}

/** Times without readings, by server, ascending, after the first reading. The last may have no end. */
export type Gaps = ReadonlyMap<string, readonly Holding[]>;

/**
 * Returns the part of [from, to) that counts for seat-hours: the time in which the server was read, as for
 * its counts. Time before its first reading counts too, for imported logs.
 */
export function countedMs(gaps: Gaps, server: string, from: number, to: number): number {
  const list = gaps.get(server);
  let ms = Math.max(0, to - from);
  if (list === undefined || ms === 0) return ms;
  for (let place = firstWhere(list.length, (at) => (list[at]?.to ?? 0) > from); ; place++) {
    const gap = list[place];
    if (gap === undefined || gap.from >= to) return ms;
    ms -= Math.min(gap.to, to) - Math.max(gap.from, from);
  }
}

export function sumsOf(seats: HeldSeats, start: number, end: number, gaps: Gaps): HeldSum[] {
  const { names, holders, whose, from, to } = seats;
  const seatMs = new Float64Array(names.features.length);
  for (let place = 0; place < whose.length; place++) {
    const holder = whose[place] ?? 0;
    const feature = holders.feature[holder] ?? 0;
    const [server = ""] = names.features[feature] ?? [];
    const ms = countedMs(gaps, server, Math.max(from[place] ?? 0, start), Math.min(to[place] ?? 0, end));
    if (ms > 0) seatMs[feature] = (seatMs[feature] ?? 0) + ms * (holders.count[holder] ?? 0);
  }
  return names.features.map(([server, daemon, feature], place) => {
    return { server, daemon, feature, seatMs: seatMs[place] ?? 0 };
  });
}

export function heldSeatsOf(
  sessions: readonly HeldSession[],
  holdingOf: (session: HeldSession) => Holding | null,
): HeldSeats {
  const names: HeldNames = { features: [], users: [], hosts: [] };
  const holders: (readonly [feature: number, user: number, host: number, count: number])[] = [];
  const places = new Map<string, number>();
  const placeOf = <Name>(key: string, list: Name[], name: Name): number =>
    places.getOrInsertComputed(key, () => list.push(name) - 1);
  const rows: { holding: Holding; holder: number }[] = [];
  for (const session of sessions) {
    const holding = holdingOf(session);
    if (holding === null) continue;
    const { server, daemon, feature, user, host, count } = session;
    const ofFeature = `f${featureIdKey(session)}`;
    const ofUser = `u${userKey(user)}`;
    const ofHost = host === null ? "h" : `h${host}`;
    const key = `${ofFeature}\0${ofUser}\0${ofHost}\0${count}`;
    // Most sessions belong to a known holder, for which one lookup is enough.
    const holder =
      places.get(key) ??
      placeOf(key, holders, [
        placeOf(ofFeature, names.features, [server, daemon, feature]),
        placeOf(ofUser, names.users, user),
        placeOf(ofHost, names.hosts, host),
        count,
      ]);
    rows.push({ holding, holder });
  }
  // Sort holders by feature, so that the sums of a feature use adjacent memory.
  const order = [...holders.entries()].sort(([, [a]], [, [b]]) => a - b);
  const placeIn = new Uint32Array(order.length);
  order.forEach(([holder], place) => {
    placeIn[holder] = place;
  });
  const column = (which: 0 | 1 | 2 | 3) => Uint32Array.from(order, ([, holder]) => holder[which]);
  return inOrder({
    names,
    holders: { feature: column(0), user: column(1), host: column(2), count: column(3) },
    whose: Uint32Array.from(rows, ({ holder }) => placeIn[holder] ?? 0),
    from: Float64Array.from(rows, ({ holding }) => holding.from),
    to: Float64Array.from(rows, ({ holding }) => holding.to),
  });
}

function inOrder({ names, holders, whose, from, to }: Omit<HeldSeats, "byEnd">): HeldSeats {
  const order = Uint32Array.from(whose.keys()).sort((a, b) => (from[a] ?? 0) - (from[b] ?? 0));
  const ends = Float64Array.from(order, (place) => to[place] ?? 0);
  return {
    names,
    holders,
    whose: Uint32Array.from(order, (place) => whose[place] ?? 0),
    from: Float64Array.from(order, (place) => from[place] ?? 0),
    to: ends,
    byEnd: Uint32Array.from(ends.keys()).sort((a, b) => (ends[a] ?? 0) - (ends[b] ?? 0)),
  };
}

export function joinedSeats(parts: readonly HeldSeats[]): HeldSeats {
  const [only] = parts;
  if (only !== undefined && parts.length === 1) return only;
  /** Joins a column of all parts. Indices are raised by the number of names, or holders, of the parts before. */
  const column = (
    of: (part: HeldSeats) => Uint32Array,
    count: (part: HeldSeats) => number = () => 0,
  ): Uint32Array => {
    const joined = new Uint32Array(parts.reduce((sum, part) => sum + of(part).length, 0));
    let at = 0;
    let before = 0;
    for (const part of parts) {
      for (const value of of(part)) joined[at++] = value + before;
      before += count(part);
    }
    return joined;
  };
  const times = (of: "from" | "to") => {
    const joined = new Float64Array(parts.reduce((sum, part) => sum + part[of].length, 0));
    let at = 0;
    for (const part of parts) {
      joined.set(part[of], at);
      at += part[of].length;
    }
    return joined;
  };
  return inOrder({
    names: {
      features: parts.flatMap(({ names }) => names.features),
      users: parts.flatMap(({ names }) => names.users),
      hosts: parts.flatMap(({ names }) => names.hosts),
    },
    holders: {
      feature: column(
        ({ holders }) => holders.feature,
        ({ names }) => names.features.length,
      ),
      user: column(
        ({ holders }) => holders.user,
        ({ names }) => names.users.length,
      ),
      host: column(
        ({ holders }) => holders.host,
        ({ names }) => names.hosts.length,
      ),
      count: column(({ holders }) => holders.count),
    },
    whose: column(
      ({ whose }) => whose,
      ({ holders }) => holders.feature.length,
    ),
    from: times("from"),
    to: times("to"),
  });
}
