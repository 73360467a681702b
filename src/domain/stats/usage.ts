import type { FeatureId } from "../history.ts";
import { userKey } from "../session.ts";
import { wallClock } from "../time/zone.ts";
import { dayEdges } from "./calendar.ts";
import { seatHours } from "./figures.ts";
import { countedMs, type Gaps, type HeldSeats } from "./held-seats.ts";

export const USAGE_KEYS = ["user", "host", "feature", "daemon", "server", "product", "day"] as const;
export const FLEET_USAGE_KEYS = [...USAGE_KEYS, "site"] as const;
export type UsageKey = (typeof FLEET_USAGE_KEYS)[number] | `label:${string}`;
type NameKey = Exclude<UsageKey, "day">;
type FeatureKey = Exclude<NameKey, "user" | "host">;
type OfFeature = (key: FeatureKey, feature: FeatureId) => string | null;

export interface UsageGroup {
  /**
   * One value per key: a name, or `YYYY-MM-DD` for a day. Null: a user or host that no tool printed, or a
   * product or label that the feature does not have. A feature also has its server and daemon, because its
   * name alone is not unique.
   */
  readonly keys: Readonly<Partial<Record<UsageKey, string | null>>>;
  readonly heldSeatHours: number;
  readonly sessions: number;
  /** Maximum number of seats held at one moment. Seats returned at a moment are free at that moment. */
  readonly peakHeld: number;
  readonly uniqueUsers: number;
  /** When seats were last held, at most the end of the range. Epoch ms. */
  readonly lastUsedAt: number;
}

type UsageNames = Readonly<Record<NameKey, string | null>>;

interface Group {
  /** Names from the latest session, because hosts that differ only in case are one host. */
  names: Partial<UsageNames>;
  readonly day: number;
  seatMs: number;
  sessions: number;
  peak: number;
  lastAt: number;
  readonly users: Set<number> | null;
  held: number;
  /** Holder of the latest session in the current part. */
  latest: number;
}

const NOTHING_HELD = { seatMs: 0, sessions: 0, peak: 0, lastAt: 0, held: 0, latest: -1 };

/** Returns the server, daemon or name of a feature; null for other keys. */
export const nameOf: OfFeature = (key, feature) => feature[key as keyof FeatureId] ?? null;

/** Returns the names that identify a group. A feature is identified by server, daemon and name. */
export function groupNames(by: readonly UsageKey[]): NameKey[] {
  const names = by.includes("feature") ? ["server", "daemon", ...by] : by;
  return [...new Set(names)].filter((key): key is NameKey => key !== "day");
}

/**
 * Groups the sessions of a range, which come in parts in time order without a gap. `zone` is the zone of
 * the days; `ofFeature` returns the group of a feature. Features that are not `isCounted` add sessions but
 * no seats. Features that are `isLeftOut` add nothing, because their seats are also seats of another
 * feature. If these functions are null, all features count and none is left out. Seat-hours exclude `gaps`.
 */
export function createUsage(
  by: readonly UsageKey[],
  start: number,
  end: number,
  zone: string,
  ofFeature: OfFeature = nameOf,
  isCounted: ((feature: FeatureId) => boolean) | null = null,
  isLeftOut: ((feature: FeatureId) => boolean) | null = null,
  gaps: Gaps = new Map(),
) {
  const columns = groupNames(by);
  const byDay = by.includes("day");
  const days = byDay ? daysOf(start, end, zone) : [{ name: null, from: start, to: end }];
  const groupsOf = days.map(() => new Map<number | string, Group>());
  /** Sessions of one group have equal names, but the case of their hosts may differ. */
  const hostsDiffer = columns.includes("host");
  const featureKeys = columns.filter((key): key is FeatureKey => key !== "user" && key !== "host");
  const ids = {
    feature: new Map<string, number>(),
    user: new Map<string, number>(),
    host: new Map<string, number>(),
  };

  const idOf = (of: keyof typeof ids, key: string) =>
    ids[of].get(key) ?? ids[of].set(key, ids[of].size).size - 1;

  function namesOf({ names, holders }: HeldSeats, holder: number): Partial<UsageNames> {
    // Read names of features only if they are needed: a packed day decodes them on access.
    const features = featureKeys.length > 0 ? names.features : [];
    const [server = "", daemon = "", feature = ""] = features[holders.feature[holder] ?? 0] ?? [];
    const user = names.users[holders.user[holder] ?? 0] ?? null;
    const host = hostsDiffer ? (names.hosts[holders.host[holder] ?? 0] ?? null) : null;
    const nameBy = (key: NameKey) =>
      key === "user" ? user : key === "host" ? host : ofFeature(key, { server, daemon, feature });
    return Object.fromEntries(columns.map((key) => [key, nameBy(key)]));
  }

  function addPart(
    seats: HeldSeats,
    userIds: readonly number[],
    groupOf: (holder: number) => Group,
    low: number,
    high: number,
  ): void {
    const { names, holders, whose, from, to, byEnd } = seats;
    const counts = isCounted === null ? holders.count : countsOf(seats, isCounted);
    const leftOut =
      isLeftOut && names.features.map(([server, daemon, feature]) => isLeftOut({ server, daemon, feature }));
    const groups: (Group | undefined)[] = new Array(holders.feature.length);
    const isFirst = days.some((day) => day.from === low);
    const hasGaps = [...gaps.values()].some((list) => list.some((gap) => gap.from < high && gap.to > low));
    const heldMs = (holder: number, at: number, end: number) => {
      if (!hasGaps) return end - at;
      const [server = ""] = names.features[holders.feature[holder] ?? 0] ?? [];
      return countedMs(gaps, server, at, end);
    };
    let ended = 0;
    for (let place = 0; place < whose.length; place++) {
      const began = from[place] ?? 0;
      const until = to[place] ?? 0;
      if (began >= high) break;
      // Skip sessions that ended before this part. A session of zero length held its seats at that moment,
      // so keep it.
      if (until <= low && (began < low || until > began)) continue;
      const at = Math.max(began, low);
      const end = Math.min(until, high);
      // First release the seats that were returned by now, because they are free at that moment.
      for (; ended < byEnd.length; ended++) {
        const other = byEnd[ended] ?? 0;
        const otherEnd = to[other] ?? 0;
        if (otherEnd > at) break;
        if (otherEnd <= low || (from[other] ?? 0) === otherEnd) continue;
        const holder = whose[other] ?? 0;
        const group = groups[holder];
        if (group !== undefined) group.held -= counts[holder] ?? 0;
      }
      const holder = whose[place] ?? 0;
      if (leftOut?.[holders.feature[holder] ?? 0] === true) continue;
      const count = counts[holder] ?? 0;
      let group = groups[holder];
      if (group === undefined) {
        group = groupOf(holder);
        groups[holder] = group;
      }
      // Do not count a session again that began before this part, unless this part begins a day: each day
      // counts it.
      if (began >= low || isFirst) group.sessions++;
      group.seatMs += count * heldMs(holder, at, end);
      // A session of zero length cannot overlap others, so it is not added to `held`.
      if (at === end) group.peak = Math.max(group.peak, count);
      else {
        group.held += count;
        if (group.held > group.peak) group.peak = group.held;
      }
      if (end < group.lastAt) continue;
      group.lastAt = end;
      group.latest = holder;
    }
    for (let holder = 0; holder < groups.length; holder++) {
      const group = groups[holder];
      if (group === undefined) continue;
      group.held = 0;
      const user = holders.user[holder] ?? 0;
      if (names.users[user] !== null) group.users?.add(userIds[user] ?? 0);
      if (hostsDiffer && group.latest >= 0) group.names = namesOf(seats, group.latest);
      group.latest = -1;
    }
  }

  return {
    add(seats: HeldSeats, from: number, to: number): void {
      const { names, holders } = seats;
      const userIds = names.users.map((user) => idOf("user", userKey(user)));
      const parts: { readonly places: Uint32Array; readonly ids: readonly number[] }[] = [];
      if (featureKeys.length > 0) {
        const keys = names.features.map(([server, daemon, feature]) =>
          featureKeys.map((key) => ofFeature(key, { server, daemon, feature }) ?? "\0").join("\0"),
        );
        parts.push({ places: holders.feature, ids: keys.map((key) => idOf("feature", key)) });
      }
      if (columns.includes("user")) parts.push({ places: holders.user, ids: userIds });
      if (hostsDiffer) {
        const hostIds = names.hosts.map((host) => idOf("host", host?.toLowerCase() ?? "\0"));
        parts.push({ places: holders.host, ids: hostIds });
      }
      const idAt = ({ places, ids: ofPlaces }: (typeof parts)[number], holder: number) =>
        ofPlaces[places[holder] ?? 0] ?? 0;
      const [only] = parts;
      const keyOf = (holder: number): number | string =>
        only === undefined || parts.length > 1
          ? parts.map((part) => idAt(part, holder)).join(" ")
          : idAt(only, holder);
      for (const [day, { from: dayFrom, to: dayTo }] of days.entries()) {
        const [low, high] = [Math.max(from, dayFrom), Math.min(to, dayTo)];
        const ofDay = groupsOf[day];
        if (low >= high || ofDay === undefined) continue;
        // `getOrInsertComputed` would take longer than everything else, because this runs once per holder
        // and day.
        const groupOf = (holder: number): Group => {
          const key = keyOf(holder);
          const known = ofDay.get(key);
          if (known !== undefined) return known;
          const names = namesOf(seats, holder);
          const users = columns.includes("user") ? null : new Set<number>();
          const group = { ...NOTHING_HELD, names, day, users };
          ofDay.set(key, group);
          return group;
        };
        addPart(seats, userIds, groupOf, low, high);
      }
    },
    groups: (): UsageGroup[] =>
      groupsOf
        .flatMap((ofDay) => [...ofDay.values()])
        .map((group) => ({
          keys: { ...group.names, ...(byDay && { day: days[group.day]?.name ?? null }) },
          heldSeatHours: seatHours(group.seatMs),
          sessions: group.sessions,
          peakHeld: group.peak,
          // An unknown user may be any number of people and is not counted.
          uniqueUsers: group.users?.size ?? (group.names.user === null ? 0 : 1),
          lastUsedAt: group.lastAt,
        })),
  };
}

function countsOf({ names, holders }: HeldSeats, isCounted: (feature: FeatureId) => boolean): Uint32Array {
  const counted = names.features.map(([server, daemon, feature]) => isCounted({ server, daemon, feature }));
  return holders.count.map((count, holder) => (counted[holders.feature[holder] ?? 0] ? count : 0));
}

interface Day {
  readonly name: string;
  readonly from: number;
  readonly to: number;
}

function daysOf(start: number, end: number, zone: string): Day[] {
  const edges = dayEdges(start, end, zone);
  return edges.slice(0, -1).map((from, index) => ({
    name: new Date(wallClock(zone, from)).toISOString().slice(0, 10),
    from: Math.max(start, from),
    to: Math.min(end, edges[index + 1] ?? end),
  }));
}
