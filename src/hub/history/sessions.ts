import { type FeatureId, featureIdKey } from "../../domain/history.ts";
import { serverAt } from "../../domain/server.ts";
import {
  type Gaps,
  type HeldSeats,
  type HeldSession,
  type HeldSum,
  type Holding,
  heldSeatsOf,
  joinedSeats,
  sumsOf,
} from "../../domain/stats/held-seats.ts";
import { DAY_MS } from "../../domain/time/clock.ts";
import { dayOf } from "../../history/buckets.ts";
import { oncePerRange } from "../../history/feature-counts.ts";
import { TooMuch } from "../../history/serve.ts";
import { unpackSessionDay } from "../../history/session-day.ts";
import type { SessionFilter } from "../../store/conditions.ts";
import { arrayText, personConditions } from "../answers/people.ts";
import type { Question } from "../database/transaction.ts";
import { createConditions, partsOf } from "../lists/conditions.ts";
import { createGarbageCollector, inPages, type Row, readRows } from "./pages.ts";
import type { SiteMarks } from "./sites.ts";

/** Maximum number of sessions in memory, some hundred bytes each. */
const MAX_SESSIONS = 200_000;

const COLLECT_AFTER = 4;

const HELD = `site || ':' || server, daemon, feature, user_name, host, count::float8, began_at::float8, first_seen_at::float8,
  last_seen_at::float8`;
/**
 * Packed days that are over by the site's clock. If a fast clock packed a day too early, the day is not
 * over.
 */
const PACKED_DAYS = "packed_days JOIN sites USING (site) WHERE kind = 'held' AND day < known_at / 86400000";
/** Must match the index `sessions_long` word for word, or PostgreSQL ignores the index. */
const IS_LONG = "ended_at - least(began_at, first_seen_at) > 86400000";

/**
 * Selects sessions that overlap [from, to): those that ended until a day after `to`, long sessions that
 * ended later, and open sessions. `begin` is the column of their start. Times are literals, so that
 * PostgreSQL can skip partitions.
 */
export function overlapping(
  columns: string,
  where: string,
  begin: "began_at" | "first_seen_at",
  from: number,
  to: number,
): string {
  const began = `${begin} < ${to} AND ${where}`;
  const ended = (which: string) =>
    `SELECT ${columns}, ended_at::float8, end_reason FROM sessions WHERE ${which} AND ${began}`;
  return `${ended(`ended_at >= ${from} AND ended_at <= ${to + DAY_MS}`)}
    UNION ALL ${ended(`ended_at > ${to + DAY_MS} AND ${IS_LONG}`)}
    UNION ALL SELECT ${columns}, NULL, NULL FROM open_sessions WHERE ${began}`;
}

export function createSessionSource(
  question: Question,
  sites: readonly SiteMarks[],
  gaps: () => Promise<Gaps>,
) {
  const { sql, checkpoint } = question;
  const marks = new Map(sites.map((one) => [one.site, one]));
  const collectSometimes = createGarbageCollector(COLLECT_AFTER);
  const names = new Map<string, string>();
  const text = (value: Row[number] | undefined) => {
    const name = String(value ?? "");
    return names.getOrInsert(name, name);
  };
  const nullable = (value: Row[number] | undefined) => (value == null ? null : text(value));

  function sessionOf([server, daemon, feature, user, host, count, ...times]: Row): HeldSession {
    const [beganAt, firstSeenAt, lastSeenAt, endedAt, endReason] = times;
    return {
      server: text(server),
      daemon: text(daemon),
      feature: text(feature),
      user: nullable(user),
      host: nullable(host),
      count: Number(count),
      beganAt: Number(beganAt),
      firstSeenAt: Number(firstSeenAt),
      lastSeenAt: Number(lastSeenAt),
      endedAt: endedAt == null ? null : Number(endedAt),
      endReason: nullable(endReason) as HeldSession["endReason"],
    };
  }

  async function sessionsBy(
    begin: "began_at" | "first_seen_at",
    start: number,
    end: number,
    filter: SessionFilter,
  ): Promise<HeldSession[]> {
    const conditions = createConditions();
    personConditions(conditions, filter);
    // Filter by site even if servers are named, because the index begins with the site.
    const asked = filter.sites ?? sitesIn(filter.servers) ?? [...marks.keys()];
    conditions.add(`site = ANY(${conditions.use(arrayText(asked))}::text::text[])`);
    const statement = overlapping(HELD, conditions.where(), begin, start, end);
    const found: HeldSession[] = [];
    for await (const rows of inPages(question, statement, conditions.values)) {
      for (const row of rows) found.push(sessionOf(row));
      if (found.length > MAX_SESSIONS)
        throw new TooMuch(`The history query would read more than ${MAX_SESSIONS} sessions at once`);
    }
    return found;
  }

  const sessions = (start: number, end: number, filter: SessionFilter | null) =>
    sessionsBy("first_seen_at", start, end, filter ?? EVERYTHING);

  async function packedDay(day: number, asked: readonly string[]) {
    const text = `SELECT site, data FROM ${PACKED_DAYS} AND day = $1 AND site = ANY($2::text::text[])`;
    return new Map(await readRows<[string, Uint8Array]>(question, text, [day, arrayText(asked)]));
  }

  /** Counts the sessions of each feature of a site that overlap a range. */
  const countsIn = ({ site, knownAt }: SiteMarks) =>
    oncePerRange(async (start, end) => {
      checkpoint();
      // No sessions are known for a range in the future.
      if (start >= knownAt) return new Map<string, number>();
      const counted = overlapping("server, daemon, feature", "site = $1", "began_at", start + 1, end);
      const rows: (FeatureId & { readonly count: number })[] = await sql.unsafe(
        `SELECT server, daemon, feature, count(*)::int AS count FROM (${counted}) s GROUP BY server, daemon, feature`,
        [site],
      );
      return new Map(
        rows.map((row) => [featureIdKey({ ...row, server: serverAt(site, row.server) }), row.count] as const),
      );
    });
  /**
   * Sessions of a server's features, by server. One query reads all features, because they are usually
   * requested next.
   */
  const serverSessions = new Map<string, Promise<ReadonlyMap<string, HeldSession[]>>>();
  let kept = 0;
  async function ofServer(server: string, start: number, end: number) {
    const found = await sessionsBy("began_at", start, end, { ...EVERYTHING, servers: [server] });
    kept += found.length;
    if (kept > MAX_SESSIONS) {
      serverSessions.clear();
      kept = found.length;
    }
    return Map.groupBy(found, featureIdKey);
  }

  async function daysPacked(first: number, behind: number): Promise<ReadonlySet<number>> {
    const all = [...marks.keys()];
    const rows = await readRows<number[]>(
      question,
      `SELECT day FROM ${PACKED_DAYS} AND site = ANY($1::text::text[]) AND day >= $2 AND day < $3
       GROUP BY day HAVING count(*) = $4`,
      [arrayText(all), first, behind, all.length],
    );
    return new Set(rows.flat());
  }

  async function sumsIn(first: number, behind: number): Promise<ReadonlyMap<string, HeldSum>> {
    const sums = new Map<string, HeldSum>();
    for (const day of await daysPacked(first, behind)) {
      const [from, to] = [day * DAY_MS, (day + 1) * DAY_MS];
      const packed = await packedDay(day, [...marks.keys()]);
      for (const [site, data] of packed) {
        checkpoint();
        const seats = ofSite(site, unpackSessionDay(day, data, EVERYTHING));
        for (const sum of sumsOf(seats, from, to, await gaps())) {
          const { seatMs = 0 } = sums.get(featureIdKey(sum)) ?? {};
          sums.set(featureIdKey(sum), { ...sum, seatMs: seatMs + sum.seatMs });
        }
      }
    }
    return sums;
  }
  const heldSums = oncePerRange(sumsIn);

  const counts = new Map<string, ReturnType<typeof countsIn>>();

  return {
    sessions,
    async featureSessions(of: FeatureId, start: number, end: number): Promise<HeldSession[]> {
      const found = await serverSessions.getOrInsertComputed(`${start} ${end} ${of.server}`, () =>
        ofServer(of.server, start, end),
      );
      return found.get(featureIdKey(of)) ?? [];
    },
    async sessionCount(of: FeatureId, start: number, end: number): Promise<number> {
      const site = marks.get(partsOf(of.server)[0]);
      if (site === undefined) return 0;
      const found = await counts.getOrInsertComputed(site.site, () => countsIn(site))(start, end);
      return found.get(featureIdKey(of)) ?? 0;
    },
    daysPacked,
    async heldSums(first: number, behind: number, of?: FeatureId): Promise<HeldSum[]> {
      const sums = await heldSums(first, behind);
      return of === undefined ? [...sums.values()] : [sums.get(featureIdKey(of)) ?? { ...of, seatMs: 0 }];
    },
    async held(
      from: number,
      to: number,
      filter: SessionFilter,
      holdingOf: (session: HeldSession) => Holding,
    ): Promise<HeldSeats> {
      collectSometimes();
      const day = dayOf(from);
      const asked = filter.sites ?? sitesIn(filter.servers) ?? [...marks.keys()];
      const packed = await packedDay(day, asked);
      const parts = [...packed].map(([site, data]) => {
        checkpoint();
        return ofSite(site, unpackSessionDay(day, data, atSite(site, filter)));
      });
      const rest = asked.filter((site) => !packed.has(site) && marks.has(site));
      if (rest.length > 0) {
        const narrowed = isWhole(filter) ? { ...filter, sites: rest } : onlyAt(rest, filter);
        parts.push(heldSeatsOf(await sessions(from, to, narrowed), holdingOf));
      }
      return joinedSeats(parts);
    },
  };
}

const EVERYTHING: SessionFilter = { servers: null, daemons: null, features: null, users: null, hosts: null };

const sitesIn = (servers: readonly string[] | null) =>
  servers && [...new Set(servers.map((id) => partsOf(id)[0]))];

const isWhole = ({ sites, servers }: SessionFilter) => sites !== undefined || servers === null;

const onlyAt = (sites: readonly string[], filter: SessionFilter): SessionFilter => ({
  ...filter,
  servers: filter.servers?.filter((id) => sites.includes(partsOf(id)[0])) ?? null,
});

function atSite(site: string, filter: SessionFilter): SessionFilter {
  if (isWhole(filter)) return { ...filter, servers: null };
  const own = filter.servers?.map(partsOf).filter(([of]) => of === site) ?? [];
  return { ...filter, servers: own.map(([, server]) => server) };
}

function ofSite(site: string, seats: HeldSeats): HeldSeats {
  const { users, hosts } = seats.names;
  const features = seats.names.features.map(
    ([server, daemon, name]) => [serverAt(site, server), daemon, name] as const,
  );
  return { ...seats, names: { features, users, hosts } };
}
