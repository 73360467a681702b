import type { Step } from "../../src/domain/history.ts";
import { mergeRollups, rollupOf } from "../../src/domain/stats/rollup.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../src/domain/time/clock.ts";
import { createPackedDays, dayOf, type PackedKind, packedKey } from "../../src/history/buckets.ts";
import { packDayRollup, withHour, withHourRollup } from "../../src/history/codec.ts";
import { type Week, weekAt } from "../../src/simulator/calendar.ts";
import { SERVERS } from "../../src/simulator/servers.ts";
import { createSite } from "../../src/simulator/site.ts";
import type { Store } from "../../src/store/open/open.ts";

/** Size of a site: `servers` license servers with `features` features each, over `days` days up to `end` (UTC midnight). */
export interface YearSize {
  readonly servers: number;
  readonly features: number;
  readonly days: number;
  readonly end: number;
}

/** One checkout, as polls a minute apart see it. */
interface Held {
  readonly user: number;
  readonly from: number;
  readonly until: number;
  readonly count: number;
}

/** A feature's week of simulated use. */
interface FeatureWeek {
  readonly total: number;
  /** Simulated checkouts, ascending by `from`. */
  readonly held: readonly Held[];
  /** Times at which the number of used seats changes; ascending, at most one per minute. */
  readonly changes: readonly { readonly at: number; readonly used: number }[];
  /** Ids of the users in each hour of the week. */
  readonly users: readonly (readonly number[])[];
  /** Denied requests, ascending by `from`. */
  readonly denied: readonly Held[];
}

const ZONE = "UTC";
/** Number of different simulated weeks. Further features repeat these weeks some minutes later. */
const PLAYED = 200;
/** One request is denied per this number of requests. */
const DENIED_EVERY = 200;

const USED = SERVERS.flatMap((server) =>
  server.features.flatMap((feature) =>
    feature.use === null || feature.pools.some((pool) => pool.seats === null) ? [] : [{ server, feature }],
  ),
);

/** Creates the weeks of features; each is simulated at its first use. */
export function createYear() {
  const users = new Map<string, number>();
  /** Weeks in memory. A Monday needs two, because a week ends on Monday at four o'clock. */
  let weeks: { readonly week: Week; readonly played: Map<number, FeatureWeek> }[] = [];

  function userId(name: string): number {
    const id = users.get(name) ?? users.size + 1;
    users.set(name, id);
    return id;
  }

  function simulate(index: number, of: Week): FeatureWeek {
    const { server, feature } = USED[index % USED.length] ?? { server: undefined, feature: undefined };
    if (server === undefined) throw new Error("the simulator has no features");
    const site = createSite({ seed: Math.floor(index / USED.length) + 1, zone: ZONE });
    const { grants } = site.schedule(server, feature, of.startsAt + HOUR_MS);
    const seen = (at: number) => Math.ceil(at / MINUTE_MS) * MINUTE_MS;
    const held = grants
      .map(({ request, startedAt, endsAt }) => ({
        user: userId(request.actor.user),
        count: request.count,
        from: Math.max(seen(startedAt), of.startsAt),
        until: Math.min(seen(endsAt), of.endsAt),
      }))
      .filter(({ from, until }) => from < until)
      .sort((a, b) => a.from - b.from);
    const byMinute = new Map<number, number>([[of.startsAt, 0]]);
    const hours: Set<number>[] = [];
    for (const { user, from, until, count } of held) {
      byMinute.set(from, (byMinute.get(from) ?? 0) + count);
      byMinute.set(until, (byMinute.get(until) ?? 0) - count);
      for (let at = from; at < until; at = (Math.floor(at / HOUR_MS) + 1) * HOUR_MS) {
        const hour = Math.floor((at - of.startsAt) / HOUR_MS);
        const there = hours[hour] ?? new Set();
        hours[hour] = there.add(user);
      }
    }
    let used = 0;
    const changes = [...byMinute]
      .sort((a, b) => a[0] - b[0])
      .flatMap(([at, by]) => {
        used += by;
        return by === 0 && at !== of.startsAt ? [] : [{ at, used }];
      });
    const total = feature.pools.reduce((sum, pool) => sum + (pool.seats ?? 0), 0);
    return {
      total,
      held,
      changes,
      users: Array.from({ length: 169 }, (_, hour) => [...(hours[hour] ?? [])].sort((a, b) => a - b)),
      denied: held.filter((_, at) => at % DENIED_EVERY === 7),
    };
  }

  function weekOf(feature: number, at: number): { readonly week: Week; readonly played: FeatureWeek } {
    let known = weeks.find(({ week }) => at >= week.startsAt && at < week.endsAt);
    if (known === undefined) {
      known = { week: weekAt({ zone: ZONE, ahead: 0 }, at), played: new Map() };
      weeks = [...weeks.slice(-1), known];
    }
    const index = feature % PLAYED;
    const played = known.played.get(index) ?? simulate(index, known.week);
    known.played.set(index, played);
    return { week: known.week, played };
  }

  return {
    users,
    weekOf,
    /** Returns the counts at an instant. */
    countsAt(feature: number, at: number): { readonly total: number; readonly used: number } {
      const { played: of } = weekOf(feature, at);
      const step = of.changes.findLast((change) => change.at <= at - delayOf(feature));
      return { total: of.total, used: step?.used ?? 0 };
    },
    /** Returns the counts at `from`, and every change until `to`. Both times must be in the same week. */
    samples(feature: number, from: number, to: number): Step[] {
      const { played: of } = weekOf(feature, from);
      const { total } = of;
      const delay = delayOf(feature);
      const samples: Step[] = [];
      for (const { at, used } of of.changes) {
        const seen = at + delay + pollMs(feature, at);
        const step = { at: Math.max(seen, from), total, used, reserved: 0, queued: 0, unlimited: false };
        if (seen >= to) break;
        if (seen <= from) samples.length = 0;
        samples.push(step);
      }
      if (samples[0]?.at !== from) {
        samples.unshift({ at: from, total, used: 0, reserved: 0, queued: 0, unlimited: false });
      }
      return samples;
    },
  };
}

export type Year = ReturnType<typeof createYear>;

/** Returns the names of a feature by its index. */
export function nameOf(
  { features }: YearSize,
  index: number,
): { server: string; daemon: string; feature: string } {
  const server = String(Math.floor(index / features)).padStart(3, "0");
  return {
    server: `site-${server}`,
    daemon: "vendord",
    feature: `feature_${String(index % features).padStart(3, "0")}`,
  };
}

/** Writes the sessions that began on a day, with their ends. */
export function writeSessions(store: Store, year: Year, size: YearSize, dayAt: number): void {
  const insert = store.sqlite.query<null, (string | number | null)[]>(
    `INSERT INTO sessions (server_id, daemon, feature, user, host, display, qualifier, version, count, handle, started_at,
       began_at, first_seen_at, last_seen_at, ended_at, end_reason) VALUES (?, ?, ?, ?, ?, ?, NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const begun: { index: number; held: Held }[] = [];
  for (let index = 0; index < size.servers * size.features; index++) {
    for (const at of [dayAt, dayAt + DAY_MS - 1]) {
      const { week, played } = year.weekOf(index, at);
      if (at !== dayAt && week.startsAt <= dayAt) continue;
      for (const held of played.held) {
        if (held.from >= dayAt && held.from < dayAt + DAY_MS) begun.push({ index, held });
      }
    }
  }
  begun.sort((a, b) => a.held.from - b.held.from);
  store.transaction(() => {
    begun.forEach(({ index, held: { user, from, until, count } }, at) => {
      const { server, daemon, feature } = nameOf(size, index);
      const delay = delayOf(index);
      const first = from + delay + pollMs(index, from);
      const end = until + delay + pollMs(index, until);
      insert.run(
        ...[server, daemon, feature, userName(user), `ws-${user}`, ":0", "v2026.09"],
        ...[count, String(at), from, from, first, end - MINUTE_MS, end, "checkin"],
      );
    });
  });
}

/** Writes the denials of a day, matching the rollups of `writeDay`. */
export function writeDenials(store: Store, year: Year, size: YearSize, dayAt: number): void {
  const insert = store.sqlite.query<null, (string | number | null)[]>(
    `INSERT INTO denials (server_id, daemon, feature, user, host, at, until, count, attempts, reason, code, outcome, told)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, 'Licensed number of users already reached', -4, 'denied', 1)`,
  );
  store.transaction(() => {
    for (let index = 0; index < size.servers * size.features; index++) {
      const { server, daemon, feature } = nameOf(size, index);
      for (const { at, of } of deniedIn(year, index, dayAt, dayAt + DAY_MS))
        insert.run(server, daemon, feature, userName(of.user), `ws-${of.user}`, at, at, of.count);
    }
  });
}

/** Returns the denials of a feature in [from, to). */
function deniedIn(year: Year, index: number, from: number, to: number): { at: number; of: Held }[] {
  const plays = [year.weekOf(index, from), year.weekOf(index, to - 1)];
  return plays.flatMap(({ played, week }, place) => {
    if (place === 1 && week === plays[0]?.week) return [];
    const found: { at: number; of: Held }[] = [];
    for (const of of played.denied) {
      // Add a millisecond per user, so that all denials of a feature have different times: a user has at
      // most one at a time.
      const at = of.from + (of.user % 1000);
      if (at >= from && at < to) found.push({ at, of });
    }
    return found;
  });
}

export function userName(id: number): string {
  return `user${String(id).padStart(5, "0")}`;
}

/** Features that repeat a week do so some minutes later. */
function delayOf(feature: number): number {
  return (Math.floor(feature / PLAYED) % 30) * MINUTE_MS;
}

/**
 * Returns when a server is polled, in ms after the start of the minute: polls are spread over the minute,
 * and tools take time.
 */
function pollMs(feature: number, at: number): number {
  const mixed = Math.imul((at / MINUTE_MS) ^ Math.imul(feature + 1, 0x9e3779b1), 0x85ebca6b);
  return ((Math.floor(feature / 50) * 577) % 50_000) + (((mixed ^ (mixed >>> 15)) >>> 0) % 400);
}

/**
 * Writes one day of every feature as the daemon packs it: samples and rollups. Feature ids start at 1. Uses the functions of
 * the daemon's packer, without the hourly steps.
 */
export function writeDay(store: Store, year: Year, { servers, features }: YearSize, dayAt: number): void {
  const days = createPackedDays(store);
  store.transaction(() => {
    for (let index = 0; index < servers * features; index++) {
      const { week } = year.weekOf(index, dayAt);
      // A week ends on Monday at four o'clock, so a Monday takes samples from two weeks.
      const cut = Math.min(week.endsAt, dayAt + DAY_MS);
      const samples = year.samples(index, dayAt, cut);
      let users = year.weekOf(index, dayAt).played.users;
      let usersFrom = week.startsAt;
      const keyOf = (kind: PackedKind) => packedKey(kind, dayOf(dayAt), index + 1);
      let packed: Uint8Array | null = null;
      let rolled: Uint8Array | null = null;
      const rollups = [];
      let at = 0;
      const all = cut < dayAt + DAY_MS ? [...samples, ...year.samples(index, cut, dayAt + DAY_MS)] : samples;
      const series = { steps: all, end: dayAt + DAY_MS };
      const denied = new Uint32Array(24);
      for (const { at: when } of deniedIn(year, index, dayAt, dayAt + DAY_MS)) {
        const hour = Math.floor((when - dayAt) / HOUR_MS);
        denied[hour] = (denied[hour] ?? 0) + 1;
      }
      for (let hour = 0; hour < 24; hour++) {
        const from = dayAt + hour * HOUR_MS;
        if (from >= cut && usersFrom === week.startsAt) {
          const next = year.weekOf(index, from);
          users = next.played.users;
          usersFrom = next.week.startsAt;
        }
        const begun = at;
        while (all[at] !== undefined && (all[at]?.at ?? 0) < from + HOUR_MS) at++;
        if (at > begun) packed = withHour(dayAt, packed, { hour, samples: all.slice(begun, at) });
        const rollup = rollupOf(series, from, from + HOUR_MS, {
          users: users[Math.floor((from - usersFrom) / HOUR_MS)] ?? [],
          denials: denied[hour] ?? 0,
        });
        rollups.push(rollup);
        rolled = withHourRollup(dayAt, rolled, { at: from, rollup });
      }
      if (packed !== null) days.put(keyOf("samples"), packed);
      if (rolled !== null) days.put(keyOf("hours"), rolled);
      days.put(keyOf("rollups"), packDayRollup(dayAt, mergeRollups(rollups)));
    }
  });
}
