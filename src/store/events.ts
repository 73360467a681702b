import { desc, gt, lte, max, min } from "drizzle-orm";
import type { EventType, StoredEvent } from "../domain/events.ts";
import type { Db } from "./database/database-file.ts";
import { AUDIT_LINES } from "./database/precious.ts";
import { eventHoles, events } from "./database/schema.ts";
import { createLogCounter, createMarks } from "./event-marks.ts";
import type { Store } from "./open/open.ts";

/** A stored event as it is read back: encoded, with what streams filter by. */
export interface EventRow {
  readonly id: number;
  readonly type: EventType;
  readonly level: string | null;
  readonly source: string | null;
  readonly json: string;
}

type Row = typeof events.$inferSelect;

export type Events = ReturnType<typeof createEvents>;

export function createEvents(store: Store) {
  const { db, sqlite } = store;
  const marks = createMarks(store);
  const reserved = createMarks(store.state);
  const countLine = createLogCounter(store);
  // Prepared SQL: each event is inserted by it, and clients that catch up read page after page.
  const insert = sqlite.query<null, [Row]>(
    "INSERT INTO events VALUES ($id, $at, $type, $level, $source, $server, $body)",
  );
  const pageOf = (condition: string) =>
    sqlite.query<EventRow, [number, string, number]>(
      `SELECT id, type, level, source, body AS json FROM events WHERE id > ?1 AND ${condition} ORDER BY id LIMIT ?3`,
    );
  const anyPage = pageOf("?2 = ''");
  const typePage = pageOf("type = ?2");

  return {
    /** One transaction around `work`; throws a StoreError when nothing of it stands. */
    transaction: (work: () => void): void => store.transaction(() => void work()),
    insert(id: number, event: StoredEvent, json: string): void {
      const at = Date.parse(event.timestamp);
      const isLog = event.type === "log";
      const row = {
        id,
        at,
        type: event.type,
        level: isLog ? event.level : null,
        source: isLog ? event.source : null,
        server: isLog ? textOrNull(event.metadata.server) : event.server,
        body: json,
      };
      insert.run(row);
      if (!isLog) return;
      if (event.source === "audit") store.inState((state) => keepAuditLine(state, row));
      countLine(at, event.level, event.source, 1);
      marks.add("log_bytes", json.length);
    },
    insertHole: (from: number, to: number): void =>
      void db.insert(eventHoles).values({ fromId: from, toId: to }).onConflictDoNothing().run(),
    /** The next events above `after`, at most `limit`, in order. */
    page: (after: number, limit: number, only?: EventType): EventRow[] =>
      store.read(() => (only === undefined ? anyPage : typePage).all(after, only ?? "", limit)),
    /** The oldest event; null when there is none. */
    oldestId: (): number | null =>
      store.read(() =>
        db
          .select({ id: min(events.id) })
          .from(events)
          .get(),
      )?.id ?? null,
    /** The newest id that retention or a clearing deleted; 0 when nothing was. `log` asks for log lines alone. */
    deletedThrough: (only?: "log"): number =>
      only === "log"
        ? marks.get("deleted_logs")
        : Math.max(marks.get("deleted_logs"), marks.get("deleted_events")),
    /** Ranges of ids that were published but not stored, above `after`. */
    holesAbove: (after: number): { readonly from: number; readonly to: number }[] =>
      store.read(() =>
        db
          .select({ from: eventHoles.fromId, to: eventHoles.toId })
          .from(eventHoles)
          .where(gt(eventHoles.toId, after))
          .all(),
      ),
    /** Highest id that may have been given: the start for the ids of a new process. */
    highestReserved(): number {
      const newest = store.read(() =>
        db
          .select({ id: max(events.id) })
          .from(events)
          .get(),
      );
      return Math.max(reserved.get("reserved"), newest?.id ?? 0);
    },
    /** Notes that ids up to `highest` may be given. */
    reserve: (highest: number): void => store.state.transaction(() => reserved.set("reserved", highest)),
  };
}

/** state.db has the newest lines of the audit trail too. */
function keepAuditLine(state: Db, row: Row): void {
  state.insert(events).values(row).onConflictDoNothing().run();
  const oldest = state
    .select({ id: events.id })
    .from(events)
    .orderBy(desc(events.id))
    .limit(1)
    .offset(AUDIT_LINES);
  state.delete(events).where(lte(events.id, oldest)).run();
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
