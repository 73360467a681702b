import type { Database } from "bun:sqlite";
import { and, asc, desc, eq, gt, gte, inArray, lte, sql } from "drizzle-orm";
import { EVENT_SCHEMAS, type EventType, type StoredEvent } from "../domain/events.ts";
import type { Db } from "./database/database-file.ts";
import { placeholdersOf } from "./database/placeholders.ts";
import { AUDIT_LINES } from "./database/precious.ts";
import { eventHoles, events } from "./database/schema.ts";
import { createMarks } from "./event-marks.ts";
import { createLogCounts } from "./log-counts.ts";
import type { Store } from "./open/open.ts";
import { createToldBefore, type EventCondition } from "./told-before.ts";

/** A stored event as it is read back: encoded, with what streams filter by. */
export interface EventRow {
  readonly id: number;
  readonly type: EventType;
  readonly level: string | null;
  readonly source: string | null;
  readonly json: string;
}

export interface Events {
  /** One transaction around `work`; throws a StoreError when nothing of it stands. */
  transaction(work: () => void): void;
  insert(id: number, event: StoredEvent, json: string): void;
  insertHole(from: number, to: number): void;
  /** The next events above `after`, at most `limit`, in order. */
  page(after: number, limit: number, only?: EventType): EventRow[];
  /** The oldest event; null when there is none. */
  oldestId(): number | null;
  /** The newest id that retention or a clearing deleted; 0 when nothing was. `log` asks for log lines alone. */
  deletedThrough(only?: "log"): number;
  /** Ranges told but not stored, above `after`. */
  holesAbove(after: number): { readonly from: number; readonly to: number }[];
  /** Highest id that may have been given: the start for the ids of a new process. */
  highestReserved(): number;
  /** Notes that ids up to `highest` may be given. */
  reserve(highest: number): void;
}

const DOMAIN_EVENTS = Object.keys(EVENT_SCHEMAS).filter((type) => type !== "log");

export function createEvents(store: Store): Events {
  const { db } = store;
  const marks = createMarks(store);
  const reserved = createMarks(store.state);
  const counts = createLogCounts(store);
  const insertRow = db.insert(events).values(placeholdersOf(events)).prepare();
  const columns = {
    id: events.id,
    type: events.type,
    level: events.level,
    source: events.source,
    json: events.body,
  };
  const above = gt(events.id, sql.placeholder("after"));
  const anyPage = db
    .select(columns)
    .from(events)
    .where(above)
    .orderBy(asc(events.id))
    .limit(sql.placeholder("limit"))
    .prepare();
  const typePage = db
    .select(columns)
    .from(events)
    .where(and(above, eq(events.type, sql.placeholder("type"))))
    .orderBy(asc(events.id))
    .limit(sql.placeholder("limit"))
    .prepare();

  return {
    transaction: (work) => store.transaction(() => void work()),
    insert(id, event, json) {
      const isLog = event.type === "log";
      const at = Date.parse(event.timestamp);
      const row = {
        id,
        at,
        type: event.type,
        level: isLog ? event.level : null,
        source: isLog ? event.source : null,
        server: isLog ? textOrNull(event.metadata.server) : event.server,
        body: json,
      };
      insertRow.run(row);
      if (!isLog) return;
      if (event.source === "audit") store.inState((state) => keepAuditLine(state, row));
      counts.add(at, event.level, event.source, 1);
      marks.add("log_bytes", json.length);
    },
    insertHole: (from, to) =>
      void db.insert(eventHoles).values({ fromId: from, toId: to }).onConflictDoNothing().run(),
    page: (after, limit, only) =>
      store.read(() =>
        only === undefined ? anyPage.all({ after, limit }) : typePage.all({ after, limit, type: only }),
      ) as EventRow[],
    oldestId: () =>
      store.read(() => db.select({ id: events.id }).from(events).orderBy(asc(events.id)).limit(1).get())
        ?.id ?? null,
    deletedThrough: (only) =>
      only === "log"
        ? marks.get("deleted_logs")
        : Math.max(marks.get("deleted_logs"), marks.get("deleted_events")),
    holesAbove: (after) =>
      store
        .read(() => db.select().from(eventHoles).where(gte(eventHoles.toId, after)).all())
        .filter(({ toId }) => toId > after)
        .map(({ fromId, toId }) => ({ from: fromId, to: toId })),
    highestReserved: () => {
      const newest = store.read(() =>
        db
          .select({ id: sql<number>`max(${events.id})` })
          .from(events)
          .get(),
      );
      return Math.max(reserved.get("reserved"), newest?.id ?? 0);
    },
    reserve: (highest) => store.state.transaction(() => reserved.set("reserved", highest)),
  };
}

/** state.db has the newest lines of the audit trail too. */
function keepAuditLine(state: Db, row: typeof events.$inferInsert): void {
  state.insert(events).values(row).onConflictDoNothing().run();
  const oldest = state
    .select({ id: events.id })
    .from(events)
    .orderBy(desc(events.id))
    .limit(1)
    .offset(AUDIT_LINES);
  state.delete(events).where(lte(events.id, oldest)).run();
}

/** Deletes stored events of other types than `log` that are too old, in steps of so many rows. */
export function createEventRetention(
  store: Store,
  limit: number,
): { step(before: number, now: number): number } {
  const { db, sqlite } = store;
  const marks = createMarks(store);
  const told = createToldBefore(store, "type <> 'log'");
  return {
    step: (before, now) =>
      store.transaction(() => {
        const ids = oldestIds(sqlite, "type", DOMAIN_EVENTS, told(before, now), limit);
        const last = ids.at(-1);
        if (last === undefined) return 0;
        db.delete(events).where(inArray(events.id, ids)).run();
        marks.raise("deleted_events", last);
        return ids.length;
      }),
  };
}

/**
 * Ids of the oldest events of some types or some sources, ascending: each is looked up in its own part of an index, so
 * that no step of deleting passes by what stays.
 */
export function oldestIds(
  sqlite: Database,
  column: "type" | "source",
  values: readonly string[],
  condition: EventCondition,
  limit: number,
): number[] {
  const each = sqlite.query<{ id: number }, (string | number)[]>(
    `SELECT id FROM events WHERE ${column} = ? AND ${condition.where} ORDER BY id LIMIT ?`,
  );
  const ids = values.flatMap((value) => each.all(value, ...condition.values, limit).map(({ id }) => id));
  return ids.sort((a, b) => a - b).slice(0, limit);
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
