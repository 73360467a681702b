import { iso } from "../../domain/clock.ts";
import { LogEvent } from "../../domain/events.ts";
import type { LogSource } from "../../domain/words.ts";
import type { HistoryRead } from "../../store/history/read.ts";
import { type LogFilter, logStats, searchLogs } from "../../store/log-queries.ts";
import { type Answer, encode, jsonAnswer } from "../answers/answer.ts";
import type { Format } from "../answers/format.ts";
import { rowsAnswer } from "../answers/rows.ts";

export interface LogsAsked extends LogFilter {
  readonly limit: number;
  readonly offset: number;
  /** The page begins with its oldest line, as `tail` does. */
  readonly oldestFirst: boolean;
  readonly format: Format;
}

export function logsAnswer(read: HistoryRead, asked: LogsAsked): Answer {
  const { limit, offset, oldestFirst, format } = asked;
  const { rows: newestFirst, total } = searchLogs(read, asked, limit, offset);
  const rows = oldestFirst ? newestFirst.toReversed() : newestFirst;
  // The rows are JSON texts already: they are joined, not parsed and written again.
  if (format === "json")
    return jsonAnswer(
      encode(`{"logs":[${rows.join(",")}],"total":${total},"limit":${limit},"offset":${offset}}`),
    );
  const events = rows.map((row) => JSON.parse(row) as LogEvent);
  return rowsAnswer({ plural: "logs", record: LogEvent, rows: events, total, limit, offset }, format);
}

export function logStatsAnswer(read: HistoryRead, hiddenSources: readonly LogSource[]): Answer {
  const { byHour, oldestAt, newestAt, ...stats } = logStats(read, hiddenSources);
  return jsonAnswer(
    encode(
      JSON.stringify({
        ...stats,
        byHour: byHour.map(({ hour, count }) => ({ hour: iso(hour), count })),
        oldest: iso(oldestAt),
        newest: iso(newestAt),
      }),
    ),
  );
}
