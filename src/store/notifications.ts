import { asc, inArray, sql } from "drizzle-orm";
import { notifications } from "./database/schema.ts";
import type { Store } from "./open/open.ts";

/** One thing that is still to be told to one target; `alert` is the record as JSON. */
export type NotificationRow = typeof notifications.$inferSelect;

/** The queue of what is to be told, as it survives a crash. */
export interface Notifications {
  /** Ids: increasing, also over restarts and when the queue has been empty. */
  nextId(): number;
  /** What waits, in order. */
  load(): NotificationRow[];
  /** Runs in the caller's transaction. */
  write(rows: readonly NotificationRow[]): void;
  /** It was told, or is given up. */
  remove(ids: readonly number[]): void;
}

/** Ids start at the time, so that a receiver sees none twice although delivered rows are gone. */
export function createNotifications(store: Store, now: number): Notifications {
  const { db, read } = store;
  const newest = read(() =>
    db
      .select({ id: sql<number | null>`max(${notifications.id})` })
      .from(notifications)
      .get(),
  );
  let last = Math.max(now, newest?.id ?? 0);
  return {
    nextId: () => ++last,
    load: () => read(() => db.select().from(notifications).orderBy(asc(notifications.id)).all()),
    write(rows) {
      store.inBoth((each) => {
        for (const row of rows) each.insert(notifications).values(row).onConflictDoNothing().run();
      });
    },
    remove(ids) {
      if (ids.length === 0) return;
      store.transaction(() => {
        store.inBoth((each) => {
          each
            .delete(notifications)
            .where(inArray(notifications.id, [...ids]))
            .run();
        });
      });
    },
  };
}
