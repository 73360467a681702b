import { iso } from "../../domain/clock.ts";
import type { SessionRecord } from "../../domain/history-records.ts";
import type { Session } from "../../domain/session.ts";
import type { HistoryRead } from "../history/read.ts";
import { overlapping, type SessionFilter, sessionCondition } from "./filters.ts";
import { type Asked, type Holdings, holdings } from "./open-sessions.ts";

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

export interface ListedSession extends Session {
  /** When its seats were held, at the latest, by our evidence; epoch ms. */
  readonly heldUntil: number;
  /** From when people count how long it lasts, epoch ms. */
  readonly shownFrom: number;
  /** Of an open one the last reading of its server; its row does not follow each poll. */
  readonly seenAt: number;
}

export interface SessionsResult {
  readonly rows: readonly ListedSession[];
  readonly total: number;
}

export const SESSION_COLUMNS = `id, server_id AS server, daemon, feature, user, host, display, qualifier, version, count, handle,
  started_at AS startedAt, began_at AS beganAt, first_seen_at AS firstSeenAt, last_seen_at AS lastSeenAt,
  ended_at AS endedAt, end_reason AS endReason`;

/** Who had what, when. Nulls last whichever way it goes, ties by id. */
export function sessionsQuery(read: HistoryRead, query: SessionsQuery): SessionsResult {
  const { sort, limit, offset } = query;
  const { start, end } = query;
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
  const [count] = read.all<{ total: number }>(
    `SELECT count(*) AS total FROM ${counted.sql}`,
    ...counted.values,
  );
  const held = holdings(read, query);
  return { rows: rows.map((session) => listed(session, held)), total: count?.total ?? 0 };
}

/** A session with what its row does not say. */
export function listed(session: Session, { holdingOf, lastReading, shownBegin }: Holdings): ListedSession {
  return {
    ...session,
    heldUntil: holdingOf(session).to,
    shownFrom: shownBegin(session),
    seenAt:
      session.endedAt === null
        ? Math.max(session.lastSeenAt, lastReading(session.server) ?? 0)
        : session.lastSeenAt,
  };
}

/** The API's record, with the names as they are. */
export function sessionRecord(session: ListedSession): SessionRecord {
  const { id, server, daemon, feature, user, host, display, version, count, handle, endReason } = session;
  return {
    id,
    server,
    daemon,
    feature,
    user,
    host,
    display,
    version,
    count,
    handle,
    startedAt: iso(session.startedAt),
    firstSeenAt: iso(session.firstSeenAt),
    lastSeenAt: iso(session.seenAt),
    endedAt: iso(session.endedAt),
    endReason,
    durationSeconds: Math.floor((session.heldUntil - session.shownFrom) / 1000),
  };
}
