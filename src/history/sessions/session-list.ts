import type { SessionRecord } from "../../domain/history-records.ts";
import type { Session } from "../../domain/session.ts";
import { type Asked, type Holdings, holdingsAt } from "../../domain/stats/held-seats.ts";
import { iso } from "../../domain/time/clock.ts";
import { peopleIn, type SessionFilter, sessionCondition } from "../../store/conditions.ts";
import type { Reader } from "../reader.ts";
import { overlapping } from "../session-reader.ts";
import { SESSION_COLUMNS } from "./sessions.ts";

/** What sessions can be sorted by, as their columns are called when read: nothing that tells of a name. */
export const SESSION_ORDERS = ["firstSeenAt", "lastSeenAt", "endedAt", "startedAt", "count"] as const;
export type SessionOrder = (typeof SESSION_ORDERS)[number];

export interface SessionsQuery extends Asked {
  readonly filter: SessionFilter;
  /** Those that overlap [start, end); null = from ever, for ever. */
  readonly start: number | null;
  readonly end: number | null;
  readonly sort: { readonly field: SessionOrder; readonly descending: boolean };
  readonly limit: number;
  readonly offset: number;
}

/** Who had what, when. Nulls last whichever way it goes, ties by id. The list is SQL: it is sorted, cut and counted there. */
export function sessionsQuery(
  read: Pick<Reader, "all" | "checkpoint" | "lastReadings">,
  query: SessionsQuery,
): { readonly rows: readonly SessionRecord[]; readonly total: number } {
  const { start, end, sort, limit, offset } = query;
  const filter = sessionCondition(query.filter);
  const direction = sort.descending ? "DESC" : "ASC";
  // What is never null is sorted by its index where nothing is said of nulls.
  const nulls = sort.field === "endedAt" || sort.field === "startedAt" ? "NULLS LAST" : "";
  const found = overlapping(SESSION_COLUMNS, filter, start, end, query.now);
  const rows = read.all<Session>(
    `SELECT * FROM ${found.sql} ORDER BY ${sort.field} ${direction} ${nulls}, id ${direction} LIMIT ? OFFSET ?`,
    ...found.values,
    limit,
    offset,
  );
  read.checkpoint();
  const counted = overlapping("1", filter, start, end, query.now);
  const counting = `SELECT count(*) AS total FROM ${counted.sql}`;
  const [count] = read.all<{ total: number }>(counting, ...counted.values);
  const held = holdingsAt(read.lastReadings(), query);
  return { rows: rows.map((session) => sessionRecord(session, held)), total: count?.total ?? 0 };
}

/**
 * Every name in the sessions that overlap a range, its own users and hosts left aside: what an anonymized caller's
 * filter is looked up in.
 */
export function namesOf(
  read: Pick<Reader, "all" | "now">,
  filter: SessionFilter,
  { start, end }: { readonly start: number | null; readonly end: number | null },
) {
  const anybody = sessionCondition({ ...filter, users: null, hosts: null });
  const { sql, values } = overlapping("user, host", anybody, start, end, read.now);
  return peopleIn(read, sql, values);
}

/** The API's record, with the names as they are. */
export function sessionRecord(
  session: Session,
  { holdingOf, lastReading, shownBegin }: Holdings,
): SessionRecord {
  const { qualifier, beganAt, ...shown } = session;
  // An open one's row does not follow each poll.
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
