import { closestNames } from "../../config/closest-word.ts";
import { AlertRecord, alertRecord, anonymousAlert } from "../../domain/alerts.ts";
import { type Denial, DenialRecord, denialRecord } from "../../domain/denials.ts";
import { LogEvent } from "../../domain/events.ts";
import { type PersonKind, PersonRecord, SessionRecord } from "../../domain/history-records.ts";
import { sortedBy } from "../../domain/order.ts";
import { iso } from "../../domain/time/clock.ts";
import type { LogSource } from "../../domain/words.ts";
import { knownNames } from "../../history/feature-counts.ts";
import { type FoundLogs, type LogFilter, logStats, searchLogs } from "../../history/log-queries.ts";
import type { Reader } from "../../history/reader.ts";
import { type PeopleQuery, peopleQuery, type SeenBefore, seenBefore } from "../../history/sessions/people.ts";
import { namesOf, type SessionsQuery, sessionsQuery } from "../../history/sessions/session-list.ts";
import { type AlertFilter, alertPage } from "../../store/alerts.ts";
import { type DenialPage, type DenialQuery, denialPage, deniedPeople } from "../../store/denial-queries.ts";
import { storedSecret } from "../../store/secrets.ts";
import { createPseudonyms, namesFor, type Pseudonyms } from "../anonymous/anonymous.ts";
import { type Answer, encode, type Formatted, jsonAnswer, valueAnswer } from "../answers/answer.ts";
import { rowsAnswer } from "../answers/list.ts";
import { outagesAnswer, waitsAnswer } from "./outages.ts";
import { efficiencyAnswer, heatmapAnswer, statsAnswer, type UsageAsked, usageAnswer } from "./statistics.ts";

/**
 * Answers that the worker of history builds to the last byte: an answer of a large site has megabytes, and the event
 * loop only passes them on.
 */
export function historyAnswers(pseudonymsOf: (read: Reader) => Pseudonyms) {
  const forAudience =
    <Asked, Made>(make: (read: Reader, asked: Asked, pseudonyms: Pseudonyms | null) => Made) =>
    (read: Reader, asked: Asked & { readonly anonymize: boolean }): Made =>
      make(read, asked, asked.anonymize ? pseudonymsOf(read) : null);
  return {
    unknownName,
    stats: statsAnswer,
    heatmap: heatmapAnswer,
    efficiency: efficiencyAnswer,
    sessions: forAudience(sessionsAnswer),
    usage: forAudience((read, asked: UsageAsked, pseudonyms) =>
      usageAnswer(
        read,
        asked,
        namesFor(pseudonyms, () => namesOf(read, asked.filter, asked)),
      ),
    ),
    denials: forAudience(denialsAnswer),
    people: forAudience((read, asked: PeopleAsked, pseudonyms) =>
      peopleAnswer(seenBefore(read, asked), asked, pseudonyms),
    ),
    alerts: alertsAnswer,
    outages: outagesAnswer,
    waits: waitsAnswer,
    logs: logsAnswer,
    logStats: logStatsAnswer,
  };
}

export type HistoryAnswers = ReturnType<typeof historyAnswers>;

/** Creates pseudonyms in the worker from the stored secret, which never crosses a thread. */
export function storedPseudonyms(): (read: Pick<Reader, "all">) => Pseudonyms {
  let made: Pseudonyms | null = null;
  return (read) => {
    if (made !== null) return made;
    const secret = storedSecret(read);
    // The daemon creates the secret before it listens.
    if (secret === null) throw new Error("The secret of the pseudonyms is missing");
    made = createPseudonyms(secret);
    return made;
  };
}

interface NamesAsked {
  readonly daemons: readonly string[];
  readonly features: readonly string[];
  readonly live: { readonly daemons: readonly string[]; readonly features: readonly string[] };
}

interface UnknownName {
  readonly what: "daemon" | "feature";
  readonly name: string;
  /** Closest known names, the closest first. */
  readonly closest: readonly string[];
}

/** Returns the first name that neither the live picture nor history knows; null if all are known. */
function unknownName(read: Reader, { daemons, features, live }: NamesAsked): UnknownName | null {
  const stored = knownNames(read);
  const first = (what: UnknownName["what"], names: readonly string[], known: ReadonlySet<string>) => {
    const name = names.find((one) => !known.has(one));
    return name === undefined ? null : { what, name, closest: closestNames(name, known) };
  };
  return (
    first("daemon", daemons, new Set([...stored.daemons, ...live.daemons])) ??
    first("feature", features, new Set([...stored.features, ...live.features]))
  );
}

function sessionsAnswer(
  read: Reader,
  asked: SessionsQuery & Formatted,
  pseudonyms: Pseudonyms | null,
): Answer {
  const { filter } = asked;
  const people = namesFor(pseudonyms, () => namesOf(read, filter, asked));
  const shown = pseudonyms && ((kind: PersonKind, name: string) => pseudonyms[kind](name));
  const { rows, total } = sessionsQuery(read, { ...asked, filter: people.wanted(filter) }, shown);
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
  /** Whether denials of each server are known, as JSON. */
  readonly logging: readonly object[];
}

function denialsAnswer(read: Reader, asked: DenialsAsked, pseudonyms: Pseudonyms | null): Answer {
  const { rows, total } =
    pseudonyms === null ? denialPage(read, asked) : anonymousPage(read, asked, pseudonyms);
  read.checkpoint();
  return rowsAnswer("denials", DenialRecord, rows.map(denialRecord), total, asked, {
    logging: asked.logging,
  });
}

/** Returns a page with pseudonyms. If the page is sorted by user or host, it is sorted by pseudonym. */
function anonymousPage(read: Reader, asked: DenialQuery, pseudonyms: Pseudonyms): DenialPage {
  const people = namesFor(pseudonyms, () => deniedPeople(read, asked));
  const named = people.wanted(asked);
  const masked = (denial: Denial): Denial => ({
    ...denial,
    user: people.user(denial.user),
    host: people.host(denial.host),
    reason: people.text(denial.reason),
  });
  const { sort, limit, offset } = asked;
  if (sort?.field !== "user" && sort?.field !== "host") {
    // Reasons are hidden, so the order of the rows must not reveal them. Sort by time instead.
    const order = sort?.field === "reason" ? ({ field: "timestamp", descending: false } as const) : sort;
    const { rows, total } = denialPage(read, { ...named, sort: order });
    return { rows: rows.map(masked), total };
  }
  const { rows, total } = denialPage(read, { ...named, sort: null, limit: null, offset: 0 });
  const sorted = sortedBy(rows.map(masked), sort, "at", "server");
  return { rows: sorted.slice(offset, offset + (limit ?? total)), total };
}

type PeopleAsked = PeopleQuery & Formatted;

export function peopleAnswer(before: SeenBefore, asked: PeopleAsked, pseudonyms: Pseudonyms | null): Answer {
  const shown = pseudonyms && ((kind: PersonKind, name: string) => pseudonyms[kind](name));
  const { rows, total } = peopleQuery(before, asked, shown);
  const records = rows.map(({ kind, name, lastSeenAt }) => ({ kind, name, lastSeenAt: iso(lastSeenAt) }));
  return rowsAnswer("people", PersonRecord, records, total, asked);
}

interface StoredPage extends Formatted {
  readonly limit: number;
  readonly offset: number;
}

interface AlertsAsked extends AlertFilter, StoredPage {
  readonly anonymize: boolean;
  readonly now: number;
}

function alertsAnswer(read: Reader, asked: AlertsAsked): Answer {
  const { rows, total } = alertPage(read, asked, asked.limit, asked.offset);
  read.checkpoint();
  const records = rows.map((row) => alertRecord(row, asked.now));
  const shown = asked.anonymize ? records.map(anonymousAlert) : records;
  return rowsAnswer("alerts", AlertRecord, shown, total, asked);
}

export interface LogsAsked extends LogFilter, StoredPage {
  /** Returns the page's oldest line first, like `tail`. */
  readonly oldestFirst: boolean;
}

const logsAnswer = (read: Reader, asked: LogsAsked): Answer =>
  logsAnswerOf(searchLogs(read, asked, asked.limit, asked.offset), asked);

/** `rows` are newest first. */
export function logsAnswerOf({ rows: newestFirst, total }: FoundLogs, asked: LogsAsked): Answer {
  const { limit, offset, oldestFirst, format, ofSite } = asked;
  const lines = oldestFirst ? newestFirst.toReversed() : newestFirst;
  // Add the site to the stored JSON texts, so that they need not be parsed.
  const told =
    ofSite == null ? lines : lines.map((line) => `{"site":${JSON.stringify(ofSite)},${line.slice(1)}`);
  if (format === "json")
    return jsonAnswer(
      encode(`{"logs":[${told.join(",")}],"total":${total},"limit":${limit},"offset":${offset}}`),
    );
  const rows = lines.map((line) => JSON.parse(line) as LogEvent);
  return rowsAnswer("logs", LogEvent, rows, total, asked);
}

const logStatsAnswer = (read: Reader, hiddenSources: readonly LogSource[]): Answer =>
  logStatsAnswerOf(logStats(read, hiddenSources));

export function logStatsAnswerOf({
  byHour,
  oldestAt,
  newestAt,
  ...stats
}: ReturnType<typeof logStats>): Answer {
  const hours = byHour.map(({ hour, count }) => ({ hour: iso(hour), count }));
  return valueAnswer({ ...stats, byHour: hours, oldest: iso(oldestAt), newest: iso(newestAt) });
}
