import { AlertRecord, alertRecord, anonymousAlert } from "../../domain/alerts.ts";
import { type Denial, DenialRecord, denialRecord } from "../../domain/denials.ts";
import { LogEvent } from "../../domain/events.ts";
import { SessionRecord } from "../../domain/history-records.ts";
import { iso } from "../../domain/time/clock.ts";
import type { LogSource } from "../../domain/words.ts";
import { type LogFilter, logStats, searchLogs } from "../../history/log-queries.ts";
import type { Reader } from "../../history/reader.ts";
import { namesOf, type SessionsQuery, sessionsQuery } from "../../history/sessions/session-list.ts";
import { type AlertFilter, alertPage } from "../../store/alert-queries.ts";
import { type DenialPage, type DenialQuery, denialPage, deniedPeople } from "../../store/denial-queries.ts";
import { namesFor, type Pseudonyms } from "../anonymous/pseudonyms.ts";
import { type Answer, encode, type Formatted, jsonAnswer, valueAnswer } from "../answers/answer.ts";
import { ordered, rowsAnswer } from "../answers/list.ts";

/** What was stored, listed: sessions, denials, alerts and log lines. */

export function sessionsAnswer(
  read: Reader,
  asked: SessionsQuery & Formatted,
  pseudonyms: Pseudonyms | null,
): Answer {
  const { filter } = asked;
  const people = namesFor(pseudonyms, () => namesOf(read, filter, asked));
  const { rows, total } = sessionsQuery(read, { ...asked, filter: people.wanted(filter) });
  const records = rows.map((record) => ({
    ...record,
    id: people.session(record.id),
    user: people.user(record.user),
    host: people.host(record.host),
    display: people.text(record.display),
  }));
  return rowsAnswer("sessions", SessionRecord, records, total, asked);
}

interface DenialsAsked extends DenialQuery, Formatted {
  /** Of each server, whether its denials can be seen; stands in JSON as it is. */
  readonly logging: readonly object[];
}

export function denialsAnswer(read: Reader, asked: DenialsAsked, pseudonyms: Pseudonyms | null): Answer {
  const { rows, total } =
    pseudonyms === null ? denialPage(read, asked) : anonymousPage(read, asked, pseudonyms);
  read.checkpoint();
  return rowsAnswer("denials", DenialRecord, rows.map(denialRecord), total, asked, {
    logging: asked.logging,
  });
}

/** The page of a caller that may not see names. What is sorted by a name is sorted by its pseudonym. */
function anonymousPage(read: Reader, asked: DenialQuery, pseudonyms: Pseudonyms): DenialPage {
  const people = namesFor(pseudonyms, () => deniedPeople(read, asked));
  const named = people.wanted(asked);
  const masked = (denial: Denial): Denial => ({
    ...denial,
    user: denial.user === null ? null : people.user(denial.user),
    host: people.host(denial.host),
    reason: people.text(denial.reason),
  });
  const { sort, limit, offset } = asked;
  if (sort?.field !== "user" && sort?.field !== "host") {
    // Reasons that are hidden are all alike.
    const order = sort?.field === "reason" ? ({ field: "timestamp", descending: false } as const) : sort;
    const { rows, total } = denialPage(read, { ...named, sort: order });
    return { rows: rows.map(masked), total };
  }
  const { rows, total } = denialPage(read, { ...named, sort: null, limit: null, offset: 0 });
  const { field, descending } = sort;
  const sorted = ordered(rows.map(masked), { field, descending }, ["at", "server"]);
  return { rows: sorted.slice(offset, offset + (limit ?? total)), total };
}

interface StoredPage extends Formatted {
  readonly limit: number;
  readonly offset: number;
}

interface AlertsAsked extends AlertFilter, StoredPage {
  /** No person may be recognisable in the answer. */
  readonly anonymize: boolean;
}

export function alertsAnswer(read: Reader, asked: AlertsAsked): Answer {
  const { rows, total } = alertPage(read, asked, asked.limit, asked.offset);
  read.checkpoint();
  const records = rows.map(alertRecord).map((record) => (asked.anonymize ? anonymousAlert(record) : record));
  return rowsAnswer("alerts", AlertRecord, records, total, asked);
}

interface LogsAsked extends LogFilter, StoredPage {
  /** The page begins with its oldest line, as `tail` does. */
  readonly oldestFirst: boolean;
}

export function logsAnswer(read: Reader, asked: LogsAsked): Answer {
  const { limit, offset, oldestFirst, format } = asked;
  const { rows: newestFirst, total } = searchLogs(read, asked, limit, offset);
  const lines = oldestFirst ? newestFirst.toReversed() : newestFirst;
  // The lines are JSON texts already: they are joined, not parsed and written again.
  if (format === "json")
    return jsonAnswer(
      encode(`{"logs":[${lines.join(",")}],"total":${total},"limit":${limit},"offset":${offset}}`),
    );
  const rows = lines.map((line) => JSON.parse(line) as LogEvent);
  return rowsAnswer("logs", LogEvent, rows, total, asked);
}

export function logStatsAnswer(read: Reader, hiddenSources: readonly LogSource[]): Answer {
  const { byHour, oldestAt, newestAt, ...stats } = logStats(read, hiddenSources);
  const hours = byHour.map(({ hour, count }) => ({ hour: iso(hour), count }));
  return valueAnswer({ ...stats, byHour: hours, oldest: iso(oldestAt), newest: iso(newestAt) });
}
