import { asc, inArray, max } from "drizzle-orm";
import { notifications } from "./database/schema.ts";
import type { Store } from "./open/open.ts";

/** One notification that waits for one target; `alert` is the record as JSON. */
export type NotificationRow = typeof notifications.$inferSelect;

export type Notifications = ReturnType<typeof createNotifications>;

/**
 * The queue of notifications, as it survives a crash. Ids start at the time, so that a receiver sees none twice although
 * delivered rows are gone.
 */
export function createNotifications(store: Store, now: number) {
  const { db, read } = store;
  const ids = db.select({ id: max(notifications.id) }).from(notifications);
  const newest = read(() => ids.get());
  let last = Math.max(now, newest?.id ?? 0);
  return {
    /** Ids: increasing, also over restarts and when the queue has been empty. */
    nextId: () => ++last,
    /** What waits, in order. */
    load: (): NotificationRow[] =>
      read(() => db.select().from(notifications).orderBy(asc(notifications.id)).all()),
    /** Runs in the caller's transaction. */
    write(rows: readonly NotificationRow[]): void {
      store.inBoth((each) => {
        for (const row of rows) each.insert(notifications).values(row).onConflictDoNothing().run();
      });
    },
    /** They were delivered, or given up. */
    remove(ids: readonly number[]): void {
      if (ids.length === 0) return;
      const done = inArray(notifications.id, [...ids]);
      store.transaction(() => store.inBoth((each) => void each.delete(notifications).where(done).run()));
    },
  };
}
