import { type Static, Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { LogEvent } from "../../domain/events.ts";
import { permits } from "../../domain/keys.ts";
import { Count, nullable, record, Timestamp } from "../../domain/records.ts";
import { text } from "../../domain/text-types.ts";
import { iso } from "../../domain/time/clock.ts";
import { HIDDEN_FROM_VIEWERS } from "../../domain/words.ts";
import { formOf } from "../answers/answer.ts";
import { listDoc } from "../answers/list.ts";
import { fields } from "../body.ts";
import { documented } from "../docs/documented.ts";
import { type Exchange, gated } from "../exchange.ts";
import { type CheckSites, SITE } from "../lists/lists.ts";
import { LOG_FILTER, searchWords, union } from "../log-filter.ts";
import { FORMAT, integer, queryOf, STORED_LIST, storedPage } from "../query.ts";
import { endTime, openRange, parseTime, startTime, TIME_FORM } from "../query-time.ts";
import type { RouteDeps } from "./deps.ts";

const FILTER = {
  ...LOG_FILTER,
  start_time: startTime("Lines at or after this time."),
  end_time: endTime("Lines before this time."),
  q: searchWords("the message or in values of the metadata"),
};
const LINES = queryOf({ ...FILTER, ...SITE, ...FORMAT }).schema;

/** Returns the queries of the log. Only logs of several sites take `site`. */
function logQueries(ofSites: boolean) {
  const site = (ofSites ? SITE : {}) as typeof SITE;
  const lines = integer("Number of last matching lines.", { minimum: 1, maximum: 10_000 }, 100);
  return {
    recent: queryOf({ lines, ...FILTER, ...FORMAT, ...site }),
    search: queryOf({ ...FILTER, ...STORED_LIST, ...site }),
  };
}

const Clear = fields({
  before: Type.Optional(
    text(
      { takes: TIME_FORM, read: (value) => parseTime(value, Date.now()) ?? undefined },
      { description: "Only lines before this time (now, -7d, ISO 8601 or epoch milliseconds)" },
    ),
  ),
});

const Stats = record("LogStats", {
  total: Count,
  byLevel: Type.Record(Type.String(), Count),
  bySource: Type.Record(Type.String(), Count),
  byHour: Type.Array(Type.Object({ hour: Timestamp, count: Count })),
  oldest: nullable(Timestamp),
  newest: nullable(Timestamp),
  sizeBytes: Count,
});

/** Serves and clears the service's own log. With `checkSites`, the log is that of several sites. */
export function logRoutes({ clock, logs, audit, reader }: RouteDeps, checkSites: CheckSites | null = null) {
  const queries = logQueries(checkSites !== null);

  function lines(
    exchange: Exchange,
    query: Static<typeof LINES>,
    page: { readonly limit: number; readonly offset: number; readonly oldestFirst: boolean },
  ): Promise<Response> {
    const { site: sites = null, server_ids: serverIds = null, q = null } = query;
    const levels = union(query.level, query.levels);
    const sources = union(query.source, query.sources);
    const names = { start: "start_time", end: "end_time" };
    const range = openRange(query.start_time, query.end_time, clock.now(), names);
    if (sites !== null) checkSites?.(sites);
    const filter = { sites, levels, sources, serverIds, ...range, q, hiddenSources: hiddenFrom(exchange) };
    return reader.answer(exchange, "logs", { ...filter, ...page, ...formOf(query, exchange) });
  }

  return new Elysia({ name: "routes/logs" })
    .use(gated)
    .get(
      "/api/logs/recent",
      ({ exchange, query }) =>
        lines(exchange, query, { limit: query.lines ?? 100, offset: 0, oldestFirst: true }),
      documented("logs", "Logs", "The last lines, oldest first", {
        query: queries.recent,
        answers: { 200: listDoc("logs", LogEvent, "Log events") },
        errors: ["TIMEOUT"],
      }),
    )
    .get(
      "/api/logs/search",
      ({ exchange, query }) => lines(exchange, query, { ...storedPage(query), oldestFirst: false }),
      documented("logs", "Logs", "Search the stored lines, newest first", {
        description:
          "`q` is words, never a query language: quotes, operators and brackets are matched literally. Case and accents are ignored. Only whole words match.",
        query: queries.search,
        answers: { 200: listDoc("logs", LogEvent, "Log events") },
        errors: ["TIMEOUT"],
      }),
    )
    .get(
      "/api/logs/stats",
      ({ exchange }) => reader.answer(exchange, "logStats", hiddenFrom(exchange)),
      documented("logs", "Logs", "Number of stored lines by level, source and hour", {
        answers: { 200: { description: "Counts", schema: Stats } },
        errors: ["TIMEOUT"],
      }),
    )
    .post(
      "/api/logs/clear",
      async ({ request, exchange, body }) => {
        const at = body.before === undefined ? null : (parseTime(body.before, clock.now())?.at ?? null);
        // Lift the time limit of silent connections, because many lines are deleted in many small steps so
        // that other requests do not wait.
        exchange.listener?.timeout(request, 0);
        // If it fails, some lines may already be deleted.
        exchange.acting = { message: "Logs were cleared", fields: { before: iso(at) } };
        const cleared = await logs.clear(at);
        audit.done(exchange, "Logs were cleared", { before: iso(at), cleared });
        return { cleared };
      },
      documented("clear_logs", "Logs", "Delete stored lines", {
        description: "Lines of the source audit are kept. The deletion is logged.",
        body: Clear,
        example: { before: "2026-01-31T00:00:00Z" },
        answers: { 200: { description: "Number of deleted lines", schema: Type.Object({ cleared: Count }) } },
      }),
    );
}

function hiddenFrom({ caller }: Exchange) {
  return caller !== null && permits(caller, "protected_logs") ? [] : HIDDEN_FROM_VIEWERS;
}
