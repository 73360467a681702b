import type { SessionRecord } from "../../domain/history-records.ts";
import type { Session } from "../../domain/session.ts";
import { type Asked, type Holdings, holdingsAt } from "../../domain/stats/held-seats.ts";
import { iso } from "../../domain/time/clock.ts";
import { peopleIn, type SessionFilter, sessionCondition } from "../../store/conditions.ts";
import type { Reader } from "../reader.ts";
import { sessionsOverlapping } from "../session-reader.ts";
import { type Dialect, isOfNames, placesOf, type SessionSort, sessionOrder } from "./session-order.ts";
import { SESSION_COLUMNS } from "./sessions.ts";

export interface SessionsQuery extends Asked {
  readonly filter: SessionFilter;
  readonly start: number | null;
  readonly end: number | null;
  readonly sort: SessionSort;
  readonly limit: number;
  readonly offset: number;
}

/**
 * Returns a page of sessions. Nulls come last; ties are sorted by id. For a caller who may not see names,
 * `shown` returns the pseudonym of a name, and sorting by user or host uses pseudonyms.
 */
export function sessionsQuery(
  read: Pick<Reader, "all" | "checkpoint" | "lastReadings" | "now">,
  query: SessionsQuery,
  shown: ((kind: "user" | "host", name: string) => string) | null = null,
): { readonly rows: readonly SessionRecord[]; readonly total: number } {
  const { start, end, sort, limit, offset } = query;
  const filter = sessionCondition(query.filter);
  const { field, descending } = sort;
  const lastReadings = read.lastReadings();
  const bound: (string | number)[] = [];
  const use = (value: string | number) => {
    bound.push(value);
    return "?";
  };
  const items = (json: string) => `json_each(${json})`;
  const dialect: Dialect = { use, items, larger: "max", column: (field) => `s.${field}` };
  const placesIn = (kind: "user" | "host") =>
    placesOf(namesOf(read, query.filter, query)[`${kind}s`], (name) => shown?.(kind, name) ?? name);
  const places = shown === null ? null : isOfNames(field) ? placesIn(field) : [];
  const { head, joins, terms } = sessionOrder(dialect, sort, { ...query, lastReadings, places });
  const order = [...terms, `s.id ${descending ? "DESC" : "ASC"}`].join(", ");
  const found = sessionsOverlapping(SESSION_COLUMNS, filter, start, end, query.now);
  const rows = read.all<Session>(
    `${head} SELECT s.* FROM ${found.sql} s ${joins} ORDER BY ${order} LIMIT ? OFFSET ?`,
    ...bound,
    ...found.values,
    limit,
    offset,
  );
  read.checkpoint();
  const counted = sessionsOverlapping("1", filter, start, end, query.now);
  const counting = `SELECT count(*) AS total FROM ${counted.sql}`;
  const [count] = read.all<{ total: number }>(counting, ...counted.values);
  const held = holdingsAt(lastReadings, query);
  return { rows: rows.map((session) => sessionRecord(session, held)), total: count?.total ?? 0 };
}

/** Lists the names in the sessions that overlap a range, to resolve an anonymized caller's filter. */
export function namesOf(
  read: Pick<Reader, "all" | "now">,
  filter: SessionFilter,
  { start, end }: { readonly start: number | null; readonly end: number | null },
) {
  const anybody = sessionCondition({ ...filter, users: null, hosts: null });
  const { sql, values } = sessionsOverlapping("user, host", anybody, start, end, read.now);
  return peopleIn(read, sql, values);
}

export function sessionRecord(
  session: Session,
  { holdingOf, lastReading, shownBegin }: Holdings,
): SessionRecord {
  const { qualifier, beganAt, doubtMs, ...shown } = session;
  const readAt = session.endedAt === null ? (lastReading(session.server) ?? 0) : 0;
  return {
    ...shown,
    startedAt: iso(session.startedAt),
    firstSeenAt: iso(session.firstSeenAt),
    lastSeenAt: iso(Math.max(session.lastSeenAt, readAt)),
    endedAt: iso(session.endedAt),
    durationSeconds: Math.floor((holdingOf(session).to - shownBegin(session)) / 1000),
  };
}
