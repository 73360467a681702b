import { SessionRecord } from "../../domain/history-records.ts";
import type { HistoryRead } from "../../store/history/read.ts";
import { namesOf } from "../../store/statistics/people.ts";
import { type SessionsQuery, sessionRecord, sessionsQuery } from "../../store/statistics/session-list.ts";
import { type NamesFor, namesFor } from "../anonymous/names.ts";
import type { Pseudonyms } from "../anonymous/pseudonyms.ts";
import type { Answer } from "../answers/answer.ts";
import type { Format } from "../answers/format.ts";
import { rowsAnswer } from "../answers/rows.ts";

export interface SessionsAsked extends SessionsQuery {
  readonly format: Format;
}

export function sessionsAnswer(
  read: HistoryRead,
  asked: SessionsAsked,
  pseudonyms: Pseudonyms | null,
): Answer {
  const { filter, start, end, limit, offset, format } = asked;
  const people = namesFor(pseudonyms, () => namesOf(read, filter, { start, end }));
  const { rows, total } = sessionsQuery(read, { ...asked, filter: people.wanted(filter) });
  return rowsAnswer(
    {
      ...{ plural: "sessions", record: SessionRecord, total, limit, offset },
      rows: rows.map((session) => shownTo(people, sessionRecord(session))),
    },
    format,
  );
}

function shownTo(people: NamesFor, record: SessionRecord): SessionRecord {
  const { id, user, host, display } = record;
  return {
    ...record,
    id: people.session(id),
    user: people.user(user),
    host: people.host(host),
    display: people.text(display),
  };
}
