import { asc, inArray, max } from "drizzle-orm";
import { notifications } from "./database/schema.ts";
import type { Store } from "./open/open.ts";

/** A queued notification for one target; `alert` is the record as JSON. */
export type NotificationRow = typeof notifications.$inferSelect;

export type Notifications = ReturnType<typeof createNotifications>;

/**
 * The persistent queue of notifications. Ids start at the current time, so that receivers see no id twice
 * although delivered rows are deleted.
 */
export function createNotifications(store: Store, now: number) {
  const { db, read } = store;
  const ids = db.select({ id: max(notifications.id) }).from(notifications);
  const newest = read(() => ids.get());
  let last = Math.max(now, newest?.id ?? 0);
  return {
    /** Returns increasing ids, also across restarts and after the queue was empty. */
    nextId: () => ++last,
    /** Returns queued notifications in order. */
    load: (): NotificationRow[] =>
      read(() => db.select().from(notifications).orderBy(asc(notifications.id)).all()),
    /** Runs in the caller's transaction. */
    write(rows: readonly NotificationRow[]): void {
      store.inBoth((each) => {
        for (const row of rows) each.insert(notifications).values(row).onConflictDoNothing().run();
      });
    },
    /** Removes delivered or dropped notifications. */
    remove(ids: readonly number[]): void {
      if (ids.length === 0) return;
      const done = inArray(notifications.id, [...ids]);
      store.transaction(() => store.inBoth((each) => void each.delete(notifications).where(done).run()));
    },
  };
}
