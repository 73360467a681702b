import { type Clock, DAY_MS, HOUR_MS, iso, repeat } from "../domain/time/clock.ts";
import type { LogSource } from "../domain/words.ts";
import type { LogFilter } from "../history/log-queries.ts";
import { type LogsAsked, logStatsAnswerOf, logsAnswerOf } from "../http/history-answers/answers.ts";
import { lineMatcher, wordsOf } from "../store/log-words.ts";
import type { LogLine, LogSink } from "../system/log.ts";
import type { Pool } from "./database/connect.ts";
import type { Question } from "./database/transaction.ts";
import { type Conditions, createConditions, readPage } from "./lists/conditions.ts";

const WRITE_MS = 1_000;
/** Maximum number of waiting lines; further ones are dropped and counted. */
const MAX_WAITING = 5_000;
const AT_ONCE = 1_000;

/** Stores the hub's own log lines as events without a site, so that any hub finds them. */
export function createOwnLines(pool: Pool, clock: Clock) {
  let waiting: LogLine[] = [];
  let leftOut = 0;
  let running: Promise<void> | null = null;

  const sink: LogSink = (line) => {
    if (waiting.length < MAX_WAITING) waiting.push(line);
    else leftOut++;
  };

  function leftOutLine(count: number): LogLine {
    const message = "Log lines were dropped while the database was not available";
    return { at: clock.now(), level: "warn", source: "store", message, fields: { lines: count } };
  }

  async function write(): Promise<void> {
    while (waiting.length > 0) {
      const lines = waiting.slice(0, AT_ONCE);
      const rows = lines.map(({ at, level, source, message, fields }) => {
        const body = JSON.stringify({ timestamp: iso(at), level, message, source, metadata: fields });
        return { at, level, source, body };
      });
      await pool.unsafe(NEW_LINES, [clock.now(), JSON.stringify(rows)]);
      waiting = waiting.slice(lines.length);
      if (leftOut > 0) waiting.push(leftOutLine(leftOut));
      leftOut = 0;
    }
  }

  // Ignore errors here; the watch logs that the database does not answer.
  const tryToWrite = () =>
    (running ??= write()
      .catch(() => {})
      .finally(() => {
        running = null;
      }));

  const end = repeat(WRITE_MS, () => void tryToWrite());
  return {
    sink,
    async stop(): Promise<void> {
      end();
      await tryToWrite();
    },
  };
}

const NEW_LINES = `
  WITH lines AS (
    INSERT INTO new_events (received_at, at, site, type, level, source, server, body)
    SELECT $1, r.at, '', 'log', r.level, r.source, NULL, r.body
    FROM json_to_recordset($2::text::json) AS r(at bigint, level text, source text, body text)
    RETURNING 1
  )
  SELECT pg_notify('licmond', 'log') FROM lines LIMIT 1`;

const LINES_AT_ONCE = 2_000;

export async function logs(question: Question, asked: LogsAsked) {
  const words = wordsOf(asked.q ?? "");
  const found = words.length > 0 ? await withWords(question, asked, words) : await page(question, asked);
  return logsAnswerOf(found, asked);
}

async function page({ sql }: Question, asked: LogsAsked) {
  const conditions = conditionsOf(asked);
  const from = `events WHERE ${conditions.where()}`;
  const count = conditions.counting(from);
  const text = `SELECT body FROM ${from} ORDER BY id DESC ${conditions.page(asked)}`;
  const { rows, total } = await readPage<{ body: string }>(sql, count, text, conditions.values);
  return { rows: rows.map(({ body }) => body), total };
}

/** Reads candidates from newest to oldest and filters them with the daemon's matcher. */
async function withWords({ sql, checkpoint }: Question, asked: LogsAsked, words: readonly string[]) {
  const { limit, offset } = asked;
  const matches = lineMatcher(words);
  const rows: string[] = [];
  let total = 0;
  let before = String(Number.MAX_SAFE_INTEGER);
  for (;;) {
    const conditions = conditionsOf(asked);
    conditions.add(`id < ${conditions.use(before)}`);
    // These words have no characters that JSON escapes, so a line of ASCII contains them literally.
    for (const word of words.filter((one) => /^[!#-[\]-~]+$/.test(one)))
      conditions.add(
        `(octet_length(body) <> length(body) OR strpos(upper(body), ${conditions.use(word)}) > 0)`,
      );
    const lines: { id: string; body: string }[] = await sql.unsafe(
      `SELECT id, body FROM events WHERE ${conditions.where()} ORDER BY id DESC LIMIT ${LINES_AT_ONCE}`,
      conditions.values,
    );
    for (const { body } of lines) {
      if (!matches(body)) continue;
      if (total >= offset && rows.length < limit) rows.push(body);
      total++;
    }
    checkpoint();
    const last = lines.at(-1);
    if (last === undefined || lines.length < LINES_AT_ONCE) return { rows, total };
    before = last.id;
  }
}

export async function logStats({ sql }: Question, hiddenSources: readonly LogSource[]) {
  const conditions = createConditions();
  conditions.add("type = 'log'");
  hide(conditions, hiddenSources);
  const rows: Record<"level" | "source" | "hour" | "count" | "size" | "oldest" | "newest", string>[] =
    await sql.unsafe(
      `SELECT level, source, at / ${HOUR_MS} * ${HOUR_MS} AS hour, count(*) AS count, sum(octet_length(body)) AS size,
         min(at) AS oldest, max(at) AS newest
       FROM events WHERE ${conditions.where()} GROUP BY 1, 2, 3`,
      conditions.values,
    );
  const sums = (by: "level" | "source" | "hour") => {
    const found = new Map<string, number>();
    for (const row of rows) found.set(row[by], Number(row.count) + (found.get(row[by]) ?? 0));
    return [...found].sort(([a], [b]) => (a < b ? -1 : 1));
  };
  const bySource = sums("source");
  const times = (of: "oldest" | "newest") => rows.map((row) => Number(row[of]));
  return logStatsAnswerOf({
    total: bySource.reduce((sum, [, count]) => sum + count, 0),
    byLevel: Object.fromEntries(sums("level")),
    bySource: Object.fromEntries(bySource),
    byHour: sums("hour").map(([hour, count]) => ({ hour: Number(hour), count })),
    oldestAt: rows.length === 0 ? null : times("oldest").reduce((a, b) => Math.min(a, b)),
    newestAt: rows.length === 0 ? null : times("newest").reduce((a, b) => Math.max(a, b)),
    sizeBytes: rows.reduce((sum, { size }) => sum + Number(size), 0),
  });
}

function conditionsOf({
  sites,
  levels,
  sources,
  serverIds,
  start,
  end,
  hiddenSources,
}: LogFilter): Conditions {
  const conditions = createConditions();
  const { use, add, oneOf } = conditions;
  add("type = 'log'");
  hide(conditions, hiddenSources);
  oneOf("site", sites);
  oneOf("level", levels);
  oneOf("source", sources);
  conditions.servers(null, serverIds);
  // An id is the time of publication. A site's clock may be ahead of this time, but hardly by a day.
  if (start !== null) add(`at >= ${use(start)} AND id >= ${use(start - DAY_MS)}`);
  if (end !== null) add(`at < ${use(end)}`);
  return conditions;
}

function hide({ add, use }: Conditions, sources: readonly LogSource[]): void {
  if (sources.length > 0) add(`source <> ALL(${use(sources)}::text[])`);
}
