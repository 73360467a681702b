import type { FeatureId } from "../history.ts";
import { type Session, shownBegin, userKey } from "../session.ts";
import { firstWhere } from "./spans.ts";

/** What the statistics need of a session. */
export type HeldSession = Omit<Session, "id" | "display" | "qualifier" | "version" | "handle" | "startedAt">;

/** When seats were held by our evidence: [from, to), epoch ms. */
export interface Holding {
  readonly from: number;
  readonly to: number;
}

/**
 * When a session held its seats as far as licmond saw it, or an imported log says: from when it was first seen (the
 * start that the tool reports was not observed) to its end; past a gap in observation of more than two intervals
 * to one interval after it was last seen.
 * `readAt` is the last good reading of its feature (an open session's row does not follow each poll), `now` the time
 * of asking.
 */
export function holdingOf(
  session: Pick<Session, "firstSeenAt" | "lastSeenAt" | "endedAt" | "endReason">,
  readAt: number | null,
  now: number,
  intervalMs: number,
): Holding {
  const { firstSeenAt, endedAt } = session;
  const seen = endedAt === null ? Math.max(session.lastSeenAt, readAt ?? 0) : session.lastSeenAt;
  const end = endedAt ?? now;
  // A checkin was seen in time, by the interval of its day, which may not be today's.
  const late = session.endReason !== "checkin" && end - seen > 2 * intervalMs;
  const to = late ? seen + intervalMs : end;
  return { from: firstSeenAt, to: Math.max(firstSeenAt, to) };
}

/** What the caller knows and the database does not. */
export interface Asked {
  /** Epoch ms. */
  readonly now: number;
  /** Interval of the polls by server, ms. */
  readonly intervals: Readonly<Record<string, number>>;
}

/** Of a server that is no longer in the config. */
export const DEFAULT_INTERVAL_MS = 60_000;

export type Holdings = ReturnType<typeof holdingsAt>;

export function holdingsAt(lastReadings: ReadonlyMap<string, number>, { now, intervals }: Asked) {
  /** The last reading of a server that was kept, epoch ms: an open session's row does not follow each poll. */
  const lastReading = (server: string) => lastReadings.get(server) ?? null;
  const intervalOf = (server: string) => intervals[server] ?? DEFAULT_INTERVAL_MS;
  return {
    lastReading,
    /** The instant from which people count how long a session lasts, epoch ms. */
    shownBegin: (session: Pick<Session, "server" | "startedAt" | "beganAt" | "firstSeenAt">): number =>
      shownBegin(session, intervalOf(session.server)),
    /** When a session held its seats. */
    holdingOf: (session: Parameters<typeof holdingOf>[0] & Pick<HeldSession, "server">): Holding =>
      // A checkin needs neither: looking them up takes longer than all the rest.
      session.endReason === "checkin"
        ? holdingOf(session, null, now, 0)
        : holdingOf(session, lastReading(session.server), now, intervalOf(session.server)),
  };
}

/** The part of a holding in [start, end); null when there is none. A session that never lasted still held at its moment. */
export function clip({ from, to }: Holding, start: number, end: number): Holding | null {
  if (from === to) return from >= start && from < end ? { from, to } : null;
  const clipped = { from: Math.max(from, start), to: Math.min(to, end) };
  return clipped.from < clipped.to ? clipped : null;
}

/** Names of sessions, each once; sessions have their places. A feature stands with its server and its daemon. */
export interface HeldNames {
  readonly features: (readonly [server: string, daemon: string, feature: string])[];
  /** Null = holders whose user is not known. */
  readonly users: (string | null)[];
  /** Null = the tool printed none. */
  readonly hosts: (string | null)[];
}

/** Those that hold seats: places of names, and how many seats. */
interface Holders {
  readonly feature: Uint32Array;
  readonly user: Uint32Array;
  readonly host: Uint32Array;
  readonly count: Uint32Array;
}

/** Seats that were held, in columns: of a large site there are ten millions of sessions a year. */
export interface HeldSeats {
  readonly names: HeldNames;
  readonly holders: Holders;
  /** Place of the holder; the earliest begin first. */
  readonly whose: Uint32Array;
  readonly from: Float64Array;
  readonly to: Float64Array;
  /** The places of all, the earliest end first. */
  readonly byEnd: Uint32Array;
}

/** What was held of a feature. */
export interface HeldSum extends FeatureId {
  /** Seats × ms. */
  readonly seatMs: number;
}

/** By server, ascending: the times in which it was not read, although it was read before and after. */
export type Gaps = ReadonlyMap<string, readonly Holding[]>;

/**
 * Returns the part of [from, to) that counts for a server, ms. Seat-hours cover the time in which the server was read, as
 * its counts do. Of the time before its first reading, logs that were imported tell.
 */
export function countedMs(gaps: Gaps, server: string, from: number, to: number): number {
  const list = gaps.get(server);
  let ms = Math.max(0, to - from);
  if (list === undefined) return ms;
  for (let place = firstWhere(list.length, (at) => (list[at]?.to ?? 0) > from); ; place++) {
    const gap = list[place];
    if (gap === undefined || gap.from >= to) return ms;
    ms -= Math.min(gap.to, to) - Math.max(gap.from, from);
  }
}

/** What was held of each feature in [start, end). */
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

/** Sessions with their holdings, in any order. */
export function heldSeatsOf(
  sessions: readonly HeldSession[],
  holdingOf: (session: HeldSession) => Holding | null,
): HeldSeats {
  const names: HeldNames = { features: [], users: [], hosts: [] };
  const holders: (readonly [feature: number, user: number, host: number, count: number])[] = [];
  const places = new Map<string, number>();
  const placeOf = <Name>(key: string, list: Name[], name: Name): number =>
    places.getOrInsertComputed(key, () => list.push(name) - 1);
  const all: { holding: Holding; holder: number }[] = [];
  for (const session of sessions) {
    const holding = holdingOf(session);
    if (holding === null) continue;
    const { server, daemon, feature, user, host, count } = session;
    const ofFeature = `f${server}\0${daemon}\0${feature}`;
    const ofUser = `u${userKey(user)}`;
    const ofHost = host === null ? "h" : `h${host}`;
    const key = `${ofFeature}\0${ofUser}\0${ofHost}\0${count}`;
    // Most sessions are of a holder that is known: one look is enough.
    const holder =
      places.get(key) ??
      placeOf(key, holders, [
        placeOf(ofFeature, names.features, [server, daemon, feature]),
        placeOf(ofUser, names.users, user),
        placeOf(ofHost, names.hosts, host),
        count,
      ]);
    all.push({ holding, holder });
  }
  all.sort((a, b) => a.holding.from - b.holding.from);
  // Holders of a feature stand together: what is added up of a feature is at hand then.
  const order = [...holders.entries()].sort(([, [a]], [, [b]]) => a - b);
  const placeIn = new Uint32Array(order.length);
  order.forEach(([holder], place) => {
    placeIn[holder] = place;
  });
  const column = (which: 0 | 1 | 2 | 3) => Uint32Array.from(order, ([, holder]) => holder[which]);
  const to = Float64Array.from(all, ({ holding }) => holding.to);
  return {
    names,
    holders: { feature: column(0), user: column(1), host: column(2), count: column(3) },
    whose: Uint32Array.from(all, ({ holder }) => placeIn[holder] ?? 0),
    from: Float64Array.from(all, ({ holding }) => holding.from),
    to,
    byEnd: Uint32Array.from(to.keys()).sort((a, b) => (to[a] ?? 0) - (to[b] ?? 0)),
  };
}

/** Seats of several sites as one. */
export function joinedSeats(parts: readonly HeldSeats[]): HeldSeats {
  const [only] = parts;
  if (only !== undefined && parts.length === 1) return only;
  const names: HeldNames = {
    features: parts.flatMap((part) => part.names.features),
    users: parts.flatMap((part) => part.names.users),
    hosts: parts.flatMap((part) => part.names.hosts),
  };
  /** A column of all parts; `shift` of a part is added to its values. */
  const column = (
    of: (part: HeldSeats) => Uint32Array,
    shift: ((part: HeldSeats) => number) | null,
  ): Uint32Array => {
    const joined = new Uint32Array(parts.reduce((sum, part) => sum + of(part).length, 0));
    let at = 0;
    let by = 0;
    for (const part of parts) {
      for (const value of of(part)) joined[at++] = value + by;
      by += shift?.(part) ?? 0;
    }
    return joined;
  };
  const holders = {
    feature: column(
      (part) => part.holders.feature,
      (part) => part.names.features.length,
    ),
    user: column(
      (part) => part.holders.user,
      (part) => part.names.users.length,
    ),
    host: column(
      (part) => part.holders.host,
      (part) => part.names.hosts.length,
    ),
    count: column((part) => part.holders.count, null),
  };
  const whose = column(
    (part) => part.whose,
    (part) => part.holders.feature.length,
  );
  const times = (of: (part: HeldSeats) => Float64Array) => {
    const joined = new Float64Array(whose.length);
    let at = 0;
    for (const part of parts) {
      joined.set(of(part), at);
      at += part.whose.length;
    }
    return joined;
  };
  const [from, to] = [times((part) => part.from), times((part) => part.to)];
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
