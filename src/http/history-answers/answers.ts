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
import { type AlertFilter, alertPage } from "../../store/alert-queries.ts";
import { type DenialPage, type DenialQuery, denialPage, deniedPeople } from "../../store/denial-queries.ts";
import { storedSecret } from "../../store/secrets.ts";
import { createPseudonyms, namesFor, type Pseudonyms } from "../anonymous/anonymous.ts";
import { type Answer, encode, type Formatted, jsonAnswer, valueAnswer } from "../answers/answer.ts";
import { rowsAnswer } from "../answers/list.ts";
import { outagesAnswer, waitsAnswer } from "./outages.ts";
import { efficiencyAnswer, heatmapAnswer, statsAnswer, type UsageAsked, usageAnswer } from "./statistics.ts";

/**
 * The questions that routes ask of history. Apart from `unknownName`, each makes a whole answer, to the last byte, in
 * the worker that reads it: an answer of a large site has megabytes, and the event loop only hands them on.
 */
export function historyAnswers(pseudonymsOf: (read: Reader) => Pseudonyms) {
  /** The answer for a caller that may see names, or under pseudonyms for one that may not. */
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

/** The installation's pseudonyms, made in the worker from the stored secret: the secret never crosses a thread. */
export function storedPseudonyms(): (read: Pick<Reader, "all">) => Pseudonyms {
  let made: Pseudonyms | null = null;
  return (read) => {
    if (made !== null) return made;
    const secret = storedSecret(read);
    // The daemon makes it before it listens. Without it no name may leave.
    if (secret === null) throw new Error("The secret of the pseudonyms is not there");
    made = createPseudonyms(secret);
    return made;
  };
}

/** Names that a query gives, and those that the live picture knows. */
interface NamesAsked {
  readonly daemons: readonly string[];
  readonly features: readonly string[];
  readonly live: { readonly daemons: readonly string[]; readonly features: readonly string[] };
}

interface UnknownName {
  readonly what: "daemon" | "feature";
  readonly name: string;
  /** Nearest first. */
  readonly closest: readonly string[];
}

/** The first of the names that neither the live picture nor the stored history knows; null when all are known. */
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

/** Lists stored rows: sessions, denials, alerts and log lines. */

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
  /** For each server, whether its denials are known; copied to JSON. */
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

/** Returns a page for a caller that may not see names. Orders by name use the pseudonym. */
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
    // Reasons that are hidden are all alike.
    const order = sort?.field === "reason" ? ({ field: "timestamp", descending: false } as const) : sort;
    const { rows, total } = denialPage(read, { ...named, sort: order });
    return { rows: rows.map(masked), total };
  }
  const { rows, total } = denialPage(read, { ...named, sort: null, limit: null, offset: 0 });
  const sorted = sortedBy(rows.map(masked), sort, "at", "server");
  return { rows: sorted.slice(offset, offset + (limit ?? total)), total };
}

export type PeopleAsked = PeopleQuery & Formatted;

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
  /** No person may be recognisable in the answer. */
  readonly anonymize: boolean;
  /** Epoch ms. */
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
  /** The page begins with its oldest line, as `tail` does. */
  readonly oldestFirst: boolean;
}

const logsAnswer = (read: Reader, asked: LogsAsked): Answer =>
  logsAnswerOf(searchLogs(read, asked, asked.limit, asked.offset), asked);

/** A page of lines, which were found the newest first. */
export function logsAnswerOf({ rows: newestFirst, total }: FoundLogs, asked: LogsAsked): Answer {
  const { limit, offset, oldestFirst, format, ofSite } = asked;
  const lines = oldestFirst ? newestFirst.toReversed() : newestFirst;
  // The lines are JSON texts already: they are joined, not parsed and written again.
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
