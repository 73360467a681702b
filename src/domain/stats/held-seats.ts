import type { FeatureId } from "../history.ts";
import type { HeldSession, Holding } from "./holding.ts";

/** Names of sessions, each once; sessions have their places. A feature stands with its server and its daemon. */
export interface HeldNames {
  readonly features: (readonly [server: string, daemon: string, feature: string])[];
  readonly users: string[];
  /** Null = the tool printed none. */
  readonly hosts: (string | null)[];
}

/** Those that hold seats: places of names, and how many seats. */
export interface Holders {
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

/** What was held of each feature in [start, end). */
export function sumsOf(seats: HeldSeats, start: number, end: number): HeldSum[] {
  const { names, holders, whose, from, to } = seats;
  const seatMs = new Float64Array(names.features.length);
  for (let place = 0; place < whose.length; place++) {
    const ms = Math.min(to[place] ?? 0, end) - Math.max(from[place] ?? 0, start);
    const holder = whose[place] ?? 0;
    const feature = holders.feature[holder] ?? 0;
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
  const placeOf = <Name>(key: string, list: Name[], name: Name): number => {
    const known = places.get(key);
    if (known !== undefined) return known;
    places.set(key, list.length);
    return list.push(name) - 1;
  };
  const all: { holding: Holding; holder: number }[] = [];
  for (const session of sessions) {
    const holding = holdingOf(session);
    if (holding === null) continue;
    const { server, daemon, feature, user, host, count } = session;
    const ofFeature = placeOf(`f${server}\0${daemon}\0${feature}`, names.features, [server, daemon, feature]);
    const ofUser = placeOf(`u${user}`, names.users, user);
    const ofHost = placeOf(host === null ? "h" : `h${host}`, names.hosts, host);
    const key = `${ofFeature} ${ofUser} ${ofHost} ${count}`;
    const holder = placeOf(key, holders, [ofFeature, ofUser, ofHost, count]);
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
