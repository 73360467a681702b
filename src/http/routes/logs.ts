import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { iso } from "../../domain/clock.ts";
import { ApiError } from "../../domain/errors.ts";
import { LogEvent } from "../../domain/events.ts";
import { permits } from "../../domain/keys.ts";
import { nullable, Timestamp } from "../../domain/records.ts";
import { LOG_LEVELS } from "../../domain/words.ts";
import { wordsOf } from "../../store/log-words.ts";
import { chooseFormat } from "../answers/format.ts";
import { listDoc } from "../answers/list.ts";
import type { Audit } from "../audit.ts";
import { jsonBody } from "../body.ts";
import type { HttpDeps } from "../deps.ts";
import { documented } from "../documented.ts";
import { type Exchange, gated } from "../exchange.ts";
import { answerOf } from "../history.ts";
import { FORMAT, integer, names, STORED_PAGE, text, wordList } from "../parameters.ts";
import { type Parameter, type QueryOf, queryOf, REFUSED } from "../query.ts";
import { checkRange, endTime, parseTime, startTime, TIME_FORM } from "../query-time.ts";
import { HIDDEN_FROM_VIEWERS } from "../streams/stream-filter.ts";

/** Different words of one search: each of them costs a look at every line. */
const MAX_WORDS = 20;

/** `q`; absent = null. */
const searchWords: Parameter<string | null> = {
  ...text(
    `At most ${MAX_WORDS} different words that must all occur, in the message or in values of the metadata.`,
    "connection refused",
  ),
  takes: `at most ${MAX_WORDS} different words`,
  read: ([value = ""]) => (wordsOf(value).length > MAX_WORDS ? REFUSED : value),
};

const FILTER = {
  levels: wordList(LOG_LEVELS, "Levels."),
  sources: names("Components that wrote the lines.", "collector"),
  server_ids: names("Ids of license servers that the lines are about.", "eda"),
  start_time: startTime("Lines from this time on."),
  end_time: endTime("Lines before this time."),
  q: searchWords,
};
const RECENT = queryOf({
  lines: integer("How many of the last matching lines to answer.", {
    minimum: 1,
    maximum: 10_000,
    absent: 100,
  }),
  ...FILTER,
  ...FORMAT,
});
const SEARCH = queryOf({ ...FILTER, ...STORED_PAGE, ...FORMAT });

const CLEAR = jsonBody(
  Type.Object({
    before: Type.Optional(
      Type.String({ description: "Only lines before this time (now, -7d, ISO 8601 or epoch milliseconds)" }),
    ),
  }),
  { before: "2026-01-31T00:00:00Z" },
);

const Count = Type.Integer({ minimum: 0 });
const Stats = Type.Object({
  total: Count,
  byLevel: Type.Record(Type.String(), Count),
  bySource: Type.Record(Type.String(), Count),
  byHour: Type.Array(Type.Object({ hour: Timestamp, count: Count })),
  oldest: nullable(Timestamp),
  newest: nullable(Timestamp),
  sizeBytes: Count,
});

/** Reading and clearing the service's own log. */
export function logRoutes(
  { clock, history, logs, settings }: Pick<HttpDeps, "clock" | "history" | "logs" | "settings">,
  audit: Audit,
) {
  return new Elysia({ name: "routes/logs" })
    .use(gated)
    .get(
      "/api/logs/recent",
      async ({ request, exchange }) => {
        const query = RECENT.parse(exchange.query, clock.now());
        return answerOf(history, { request, caller: exchange.caller }, "logs", {
          ...filterOf(query, exchange),
          limit: query.lines,
          offset: 0,
          oldestFirst: true,
          format: chooseFormat(query, request.headers.get("accept")),
        });
      },
      documented({
        access: "logs",
        tag: "Logs",
        summary: "The last lines, oldest first",
        query: RECENT,
        answers: { 200: listDoc("logs", LogEvent, "Log events") },
        errors: ["TIMEOUT"],
      }),
    )
    .get(
      "/api/logs/search",
      async ({ request, exchange }) => {
        const query = SEARCH.parse(exchange.query, clock.now());
        return answerOf(history, { request, caller: exchange.caller }, "logs", {
          ...filterOf(query, exchange),
          limit: query.limit,
          offset: query.offset,
          oldestFirst: false,
          format: chooseFormat(query, request.headers.get("accept")),
        });
      },
      documented({
        access: "logs",
        tag: "Logs",
        summary: "Search the stored lines, newest first",
        description:
          "`q` is words, never a query language: quotes, operators and brackets are looked for as they stand. Case and accents do not count, and a word that begins or ends with a letter or digit does so in the line too.",
        query: SEARCH,
        answers: { 200: listDoc("logs", LogEvent, "Log events") },
        errors: ["TIMEOUT"],
      }),
    )
    .get(
      "/api/logs/stats",
      async ({ request, exchange }) => {
        return answerOf(history, { request, caller: exchange.caller }, "logStats", hiddenFrom(exchange));
      },
      documented({
        access: "logs",
        tag: "Logs",
        summary: "How many lines are stored, by level, source and hour",
        answers: { 200: { description: "Counts", schema: Stats } },
        errors: ["TIMEOUT"],
      }),
    )
    .post(
      "/api/logs/clear",
      async ({ request, exchange, server }) => {
        const { before } = await CLEAR.read(request, settings().maxBodyBytes);
        const at = before === undefined ? null : timeOf(before, clock.now());
        // Many lines take many small steps, so that nobody waits for them.
        server?.timeout(request, 0);
        const of = { before: iso(at) };
        try {
          const cleared = await logs.clear(at);
          audit.done(exchange, "Logs were cleared", { ...of, cleared });
          return Response.json({ cleared });
        } catch (error) {
          // Some may be gone all the same.
          audit.refused(exchange, "Logs were cleared", error, of);
          throw error;
        }
      },
      documented({
        access: "clear_logs",
        tag: "Logs",
        summary: "Delete stored lines",
        description: "Never lines of the source audit. The clearing is itself logged.",
        body: CLEAR,
        answers: { 200: { description: "How many were deleted", schema: Type.Object({ cleared: Count }) } },
      }),
    );
}

type Filter = Pick<QueryOf<typeof SEARCH>, keyof typeof FILTER>;

function filterOf(query: Filter, exchange: Exchange) {
  const { levels, sources, server_ids: serverIds, start_time: start, end_time: end, q } = query;
  checkRange(start, end, { start: "start_time", end: "end_time" });
  return { levels, sources, serverIds, start, end, q, hiddenSources: hiddenFrom(exchange) };
}

function hiddenFrom({ caller }: Exchange) {
  return caller !== null && permits(caller, "protected_logs") ? [] : HIDDEN_FROM_VIEWERS;
}

function timeOf(text: string, now: number): number {
  const time = parseTime(text, now);
  if (time !== null) return time.at;
  throw new ApiError("INVALID_FIELD", `before takes ${TIME_FORM}.`);
}
