import type { Gaps } from "../../domain/stats/held-seats.ts";
import { NO_ROLLUP, type Rollup } from "../../domain/stats/rollup.ts";
import { DAY_MS } from "../../domain/time/clock.ts";
import type { Unit } from "../../domain/words.ts";
import type { KnownFeature } from "../../history/buckets.ts";
import type { HistorySource, Range } from "../../history/reader.ts";
import { gapsOf } from "../../history/sample-reader.ts";
import { TooMuch } from "../../history/serve.ts";
import type { Named } from "../../store/conditions.ts";
import { ofSites } from "../answers/people.ts";
import type { Question } from "../database/transaction.ts";
import { createConditions, partsOf } from "../lists/conditions.ts";
import { createGarbageCollector, readRows } from "./pages.ts";
import { createSessionSource } from "./sessions.ts";
import { openSiteHistory, type SiteHistory } from "./site-history.ts";
import type { SiteMarks } from "./sites.ts";

/** Maximum number of features per question, since answers are built in memory. */
const MAX_FEATURES = 100_000;
/** Maximum number of open scratch databases, each of up to 1 MB. */
const OPEN_SITES = 64;
const COLLECT_AFTER = 20;

const SERVER = "site || ':' || server";
export type FleetSource = HistorySource & { close(): void };

/**
 * Provides the data of statistics from PostgreSQL. Features and sessions are read for all sites at once;
 * counts are read site by site through the daemon's reader. `range` is the range of the question.
 */
export function createFleetSource(
  question: Question,
  sites: readonly SiteMarks[],
  range: Range,
): FleetSource {
  const { sql, checkpoint, keptFrom } = question;
  const marks = new Map(sites.map((one) => [one.site, one]));
  const window = {
    start: Math.floor(range.start / DAY_MS) * DAY_MS,
    end: Math.ceil(range.end / DAY_MS) * DAY_MS,
  };
  const open = new Map<string, SiteHistory>();
  let current = "";
  const collectSometimes = createGarbageCollector(COLLECT_AFTER);
  let features: ReadonlyMap<string, readonly KnownFeature[]> = new Map();

  /**
   * Returns the history of the site that a server belongs to; null if the question does not cover the site.
   */
  async function siteOf(server: string): Promise<SiteHistory | null> {
    const [site] = partsOf(server);
    const own = marks.get(site);
    if (own === undefined) return null;
    let history = open.get(site);
    if (site !== current) {
      current = site;
      collectSometimes();
    }
    // Reinsert the site at the end, because the map is in order of last use.
    open.delete(site);
    if (history === undefined) {
      const [oldest] = open.keys();
      if (oldest !== undefined && open.size >= OPEN_SITES) close(oldest);
      const deps = { sql, marks: own, window, features: features.get(site) ?? [], checkpoint };
      history = await openSiteHistory(deps);
    }
    open.set(site, history);
    return history;
  }

  function close(site: string): void {
    open.get(site)?.close();
    open.delete(site);
  }

  const at =
    <Asked extends unknown[], Answer>(
      ask: (site: SiteHistory, ...asked: Asked) => Answer,
      otherwise: Awaited<Answer>,
    ) =>
    async (server: string, ...asked: Asked): Promise<Awaited<Answer>> => {
      const site = await siteOf(server);
      return site === null ? otherwise : await ask(site, ...asked);
    };

  const all = createConditions();
  all.oneOf("site", [...marks.keys()]);
  /** Reads coverage of all sites. The condition for the sites replaces the `@` in the text. */
  const readCoverage = (text: string) =>
    readRows(
      question,
      text.replace("@", () => all.where()),
      all.values,
    );

  let known: Promise<Gaps> | null = null;
  const gaps = () => (known ??= readGaps());
  async function readGaps(): Promise<Gaps> {
    const rows = await readCoverage(
      `SELECT server, "from", "to" FROM (
         SELECT ${SERVER} AS server, until_at::float8 AS "from", coalesce(lead(from_at) OVER own, 9e15)::float8 AS "to",
           bool_or(looks IS NULL OR looks > 0) OVER own AS is_own
         FROM coverage WHERE @ WINDOW own AS (PARTITION BY site, server ORDER BY from_at)) spans
       WHERE is_own AND "to" > "from" ORDER BY server, "from"`,
    );
    return gapsOf(
      rows.map(([server, from, to]) => ({ server: String(server), from: Number(from), to: Number(to) })),
    );
  }

  return {
    checkpoint,
    gaps,
    close() {
      for (const site of [...open.keys()]) close(site);
    },
    async reach() {
      const least = (times: readonly (number | null)[]) => {
        const known = times.filter((time) => time !== null);
        return known.length === 0 ? null : Math.min(...known);
      };
      const samplesFrom = least(sites.map((one) => one.samplesFrom));
      return { samplesFrom, rollupsFrom: least(sites.map((one) => one.hoursFrom)) ?? samplesFrom };
    },
    sessionsFrom: () => Math.max(keptFrom, ...sites.map((one) => one.sessionsFrom)),
    async features(named: Partial<Named> = {}) {
      const conditions = createConditions();
      ofSites(conditions, { servers: null, ...named });
      conditions.oneOf("daemon", named.daemons);
      conditions.oneOf("name", named.features);
      const rows = await readRows<[number, string, string, string, Unit, string | null]>(
        question,
        `SELECT id::float8, ${SERVER}, daemon, name, unit, seat_group FROM history_features
         WHERE ${conditions.where()} ORDER BY site, server, daemon, name LIMIT ${MAX_FEATURES + 1}`,
        conditions.values,
      );
      if (rows.length > MAX_FEATURES)
        throw new TooMuch(`The history query would read more than ${MAX_FEATURES} features`);
      const found = rows.map(([id, server, daemon, feature, unit, seatGroup]): KnownFeature => {
        return { id, server, daemon, feature, unit, seatGroup };
      });
      features = Map.groupBy(found, ({ server }) => partsOf(server)[0]);
      return found;
    },
    async rollups(asked, from, to, withUsers = false) {
      const rollups = new Map<number, Rollup>();
      for (const [, own] of Map.groupBy(asked, ({ server }) => partsOf(server)[0])) {
        const site = await siteOf(own[0]?.server ?? "");
        const made = (await site?.rollups(own, from, to, withUsers)) ?? [];
        for (const [index, rollup] of made.entries()) rollups.set(own[index]?.id ?? 0, rollup);
        // Close the site: its 10 MB of input are not needed again.
        if (sites.length > 1) close(partsOf(own[0]?.server ?? "")[0]);
      }
      return asked.map(({ id }) => rollups.get(id) ?? NO_ROLLUP);
    },
    series: (feature, start, end) =>
      at((site) => site.series(feature, start, end), { feature, start, end, steps: [] })(feature.server),
    hours: (feature, start, end) => at((site) => site.hours(feature, start, end), [])(feature.server),
    days: (feature, start, end) => at((site) => site.days(feature, start, end), [])(feature.server),
    // A site that sends only counts names no users, just like imported counts.
    hasOthersCounts: (server, start, end) =>
      at(
        ({ reader, people }) => people === "counts" || reader.hasOthersCounts(server, start, end),
        false,
      )(server),
    readMs: (server, start, end) => at(({ reader }) => reader.readMs(server, start, end), 0)(server),
    loggedMs: (server, start, end) => at(({ reader }) => reader.loggedMs(server, start, end), 0)(server),
    denials: (of, start, end) => at(({ reader }) => reader.denials(of, start, end), null)(of.server),
    queuedRequests: (of, start, end) =>
      at(({ reader }) => reader.queuedRequests(of, start, end), 0)(of.server),
    unmetRequests: (of, start, end) =>
      at(({ reader }) => reader.unmetRequests(of, start, end), [])(of.server),
    async lastReadings() {
      const text = `SELECT ${SERVER}, max(read_at)::float8 FROM coverage WHERE @ GROUP BY site, server`;
      return new Map((await readCoverage(text)).map(([server, at]) => [String(server), Number(at)]));
    },
    ...createSessionSource(question, sites, gaps),
    siteDays: () => new Map(),
  };
}
