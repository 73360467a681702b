import { notifications } from "./database/schema.ts";
import { tableOf } from "./database/table.ts";
import type { Store } from "./open/open.ts";

/** A queued notification for one target; `alert` is the record as JSON. */
export type NotificationRow = typeof notifications.$inferSelect;

export type Notifications = ReturnType<typeof createNotifications>;

/**
 * The persistent queue of notifications. Delivered rows are deleted, so ids continue from the current time
 * after a restart; otherwise receivers could see an id twice.
 */
export function createNotifications({ state }: Pick<Store, "state">, now: number) {
  const { sqlite, read } = state;
  const { columns, into } = tableOf(notifications);
  const all = sqlite.query<NotificationRow, []>(`SELECT ${columns} FROM notifications ORDER BY id`);
  const insert = sqlite.query<null, [NotificationRow]>(`INSERT OR IGNORE ${into}`);
  const remove = sqlite.query<null, [number]>("DELETE FROM notifications WHERE id = ?");
  const load = () => read(() => all.all());
  let last = Math.max(now, load().at(-1)?.id ?? 0);
  return {
    nextId: () => ++last,
    load,
    /** Runs in the caller's transaction on state.db. */
    write: (rows: readonly NotificationRow[]): void => rows.forEach((row) => void insert.run(row)),
    remove(ids: readonly number[]): void {
      if (ids.length > 0) state.write(() => ids.forEach((id) => void remove.run(id)));
    },
  };
}
