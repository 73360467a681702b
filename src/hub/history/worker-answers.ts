import type { CountedFeature } from "../../domain/history.ts";
import { siteOf } from "../../domain/server.ts";
import type { HistorySource, Range } from "../../history/reader.ts";
import { openScratch } from "../../history/scratch.ts";
import type { Seen } from "../../history/sessions/people.ts";
import { createPseudonyms, namesFor, type Pseudonyms } from "../../http/anonymous/anonymous.ts";
import type { Answer } from "../../http/answers/answer.ts";
import { type HistoryAnswers, peopleAnswer } from "../../http/history-answers/answers.ts";
import { outagesAnswer, waitsAnswer } from "../../http/history-answers/outages.ts";
import {
  efficiencyAnswer,
  heatmapAnswer,
  statsAnswer,
  usageAnswer,
} from "../../http/history-answers/statistics.ts";
import type { Named } from "../../store/conditions.ts";
import { ofSites, peopleIn, personConditions } from "../answers/people.ts";
import type { Question } from "../database/transaction.ts";
import { createConditions } from "../lists/conditions.ts";
import { logStats, logs } from "../logs.ts";
import { storedSecret } from "../secret.ts";
import { createFleetSource } from "./fleet-source.ts";
import { readRows } from "./pages.ts";
import { type SiteMarks, sitesOf } from "./sites.ts";

type Params<Name extends keyof HistoryAnswers> = Parameters<HistoryAnswers[Name]>[1];
type OfRange = Range & { readonly filter: Named };

/**
 * Returns the time up to which facts are known: that of a single connected site, otherwise the hub's time.
 */
const nowOf = ([only, ...others]: readonly SiteMarks[], now: number) =>
  only !== undefined && others.length === 0 && !only.isSilent ? only.knownAt : now;

const over =
  <Asked extends OfRange, Made>(
    make: (
      source: HistorySource,
      asked: Asked,
      question: Question,
      sites: readonly SiteMarks[],
    ) => Promise<Made>,
  ) =>
  async (question: Question, asked: Asked): Promise<Made> => {
    const sites = await sitesOf(question.sql, asked.filter, question.now);
    const source = createFleetSource(question, sites, asked);
    try {
      return await make(source, { ...asked, now: nowOf(sites, question.now) }, question, sites);
    } finally {
      source.close();
    }
  };

/**
 * Answers history questions in the hub's worker. The code is the daemon's; the data comes from PostgreSQL.
 */
export const HUB_ANSWERS = {
  stats: over<Params<"stats">, Awaited<ReturnType<HistoryAnswers["stats"]>>>(async (source, asked, { sql }) =>
    statsAnswer(source, { ...asked, uncounted: await uncountedOf(sql, asked) }),
  ),
  heatmap: over<Params<"heatmap">, Answer>(heatmapAnswer),
  efficiency: over<Params<"efficiency">, Answer>(efficiencyAnswer),
  waits: over<Params<"waits">, Answer>(waitsAnswer),
  usage: over<Params<"usage">, Answer>(async (source, asked, { sql }, sites) => {
    const pseudonyms = asked.anonymize ? await pseudonymsOf(sql) : null;
    const stored = await peopleIn(sql, asked.filter, pseudonyms, ["open_sessions", "sessions"]);
    // A site that sends only counts names no users.
    const unseen = new Set(sites.flatMap(({ site, people }) => (people === "counts" ? [site] : [])));
    const readMs: HistorySource["readMs"] = (server, ...range) =>
      unseen.has(siteOf(server)) ? 0 : source.readMs(server, ...range);
    return usageAnswer(
      { ...source, readMs },
      asked,
      namesFor(pseudonyms, () => stored),
    );
  }),
  outages,
  people,
  logs,
  logStats,
};
export type HubAnswers = typeof HUB_ANSWERS;

/** The secret must not cross threads, so the worker reads it from the database. */
async function pseudonymsOf(sql: Question["sql"]): Promise<Pseudonyms> {
  return createPseudonyms(await storedSecret(sql));
}

/** Finds features without counts by name, as the daemon does in its pictures. */
async function uncountedOf(
  sql: Question["sql"],
  { filter, product }: Params<"stats">,
): Promise<CountedFeature[]> {
  if (filter.features === null || product !== null) return [];
  const conditions = createConditions();
  ofSites(conditions, filter);
  conditions.oneOf("daemon", filter.daemons);
  conditions.oneOf("name", filter.features);
  return sql.unsafe(
    `SELECT site || ':' || server AS server, daemon, name AS feature, unit, seat_group AS "seatGroup"
     FROM current_features f JOIN servers s USING (site, server)
     WHERE ${conditions.where()} AND unlimited AND used IS NULL ORDER BY site, s.place, f.place`,
    conditions.values,
  );
}

const STATUSES = "server_id, from_at, status, reason, read_at, until_at, next_by";

async function outages(
  question: Question,
  asked: Params<"outages"> & { readonly filter?: Named },
): Promise<Answer> {
  const { sql, now: hubNow, checkpoint } = question;
  const { filter = { servers: asked.servers, daemons: null, features: null }, start, end } = asked;
  const now = nowOf(await sitesOf(sql, filter, hubNow), hubNow);
  const conditions = createConditions();
  ofSites(conditions, filter);
  conditions.add(`from_at < ${conditions.use(end)}`);
  // The end of a current period is later than its row says.
  conditions.add(`greatest(until_at, next_by) >= ${conditions.use(start)}`);
  const rows = await readRows(
    question,
    `SELECT site || ':' || server, from_at::float8, status, reason, read_at::float8, until_at::float8, next_by::float8
     FROM statuses WHERE ${conditions.where()}`,
    conditions.values,
  );
  const scratch = openScratch();
  try {
    scratch.fill("server_statuses", STATUSES, rows);
    // The rows are already filtered. With a filter by site they include removed servers, so do not filter
    // by server again.
    const servers = filter.sites === undefined ? asked.servers : null;
    return outagesAnswer(scratch.readerAt(now, checkpoint), { ...asked, servers, now });
  } finally {
    scratch.close();
  }
}

async function people(question: Question, asked: Params<"people">): Promise<Answer> {
  const { sql, now, keptFrom } = question;
  const { filter } = asked;
  const conditions = createConditions();
  ofSites(conditions, filter);
  const where = conditions.where();
  const ask = (text: string, values = conditions.values) =>
    readRows<[kind: Seen["kind"], name: string, at: number]>(question, text, values);
  const before = await ask(
    `SELECT kind, name, max(at)::float8 FROM last_seen WHERE ${where} GROUP BY kind, name`,
  );
  // Polls do not update the rows of open sessions, which were held at the last reading.
  const held = (kind: string, column: string) =>
    `SELECT '${kind}', ${column}, max(greatest(last_seen_at, read_at))::float8 FROM open_sessions
       LEFT JOIN (SELECT site, server, max(read_at) AS read_at FROM coverage WHERE ${where} GROUP BY site, server) c
       USING (site, server)
     WHERE ${where} AND ${column} IS NOT NULL GROUP BY ${column}`;
  const open = await ask(`${held("user", "user_name")} UNION ALL ${held("host", "host")}`);
  const denials = createConditions();
  personConditions(denials, filter);
  const refused = (kind: string, column: string) =>
    `SELECT '${kind}', ${column}, max(until)::float8 FROM denials
     WHERE ${denials.where()} AND ${column} <> '' GROUP BY ${column}`;
  const denied = await ask(
    `${refused("user", "user_name")} UNION ALL ${refused("host", "host")}`,
    denials.values,
  );
  // Queue entries, and checkouts whose session is not stored yet.
  const shown = (kind: string, column: string) =>
    `SELECT '${kind}', ${column}, max(greatest(coalesce(f.collected_at, s.collected_at, 0), 0))::float8
     FROM current_rows r JOIN servers s USING (site, server) JOIN current_features f USING (site, server, daemon)
     WHERE ${where} AND f.name = r.feature AND (r.kind = 'queued' OR r.kind = 'checkout' AND r.session IS NULL) AND ${column} IS NOT NULL
     GROUP BY ${column}`;
  const live = await ask(`${shown("user", "r.user_name")} UNION ALL ${shown("host", "r.host")}`);
  const sites = await sitesOf(sql, filter, now);
  const all = [...before, ...open, ...denied, ...live];
  const seen = all.map(([kind, name, lastSeenAt]) => ({ kind, name, lastSeenAt }));
  const sessionsFrom = Math.max(keptFrom, ...sites.map((site) => site.sessionsFrom));
  return peopleAnswer({ seen, sessionsFrom }, asked, asked.anonymize ? await pseudonymsOf(sql) : null);
}
