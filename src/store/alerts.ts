import { and, asc, eq, gt, gte, inArray, isNotNull, isNull, lt, max, type SQL } from "drizzle-orm";
import type { Alert, AlertSubject } from "../domain/alerts.ts";
import type { Db } from "./database/database-file.ts";
import { alertBaselines, alerts, alertWatches } from "./database/schema.ts";
import type { Store } from "./open/open.ts";

/** Alerts deleted in one transaction. */
const STEP_ROWS = 500;

export type Alerts = ReturnType<typeof createAlerts>;

/** Stored alerts, and the evaluator's state between polls. Writes run in the caller's transaction. */
export function createAlerts(store: Store) {
  const { db, read, state } = store;
  const ids = db.select({ id: max(alerts.id) }).from(alerts);
  const newest = read(() => ids.get());
  // Ids of alerts that were deleted from licmond.db are not reused.
  const given = state.sqlite.query<{ id: number }, []>(
    "SELECT seq AS id FROM sqlite_sequence WHERE name = 'alerts'",
  );
  let last = Math.max(newest?.id ?? 0, state.read(() => given.get())?.id ?? 0);

  const those = (condition: SQL | undefined): Alert[] =>
    read(() => db.select().from(alerts).where(condition).orderBy(asc(alerts.id)).all()).map(
      ({ told, ...row }) => ({ ...row, told: JSON.parse(told) as Alert["told"] }),
    );

  return {
    /** Returns ids for new alerts, above everything stored. */
    nextId: () => ++last,
    /** Returns firing alerts by id. */
    firing: () => those(isNull(alerts.resolvedAt)),
    /** Returns alerts that began in [from, until), epoch ms. */
    startedIn: (from: number, until: number) =>
      those(and(gte(alerts.startedAt, from), lt(alerts.startedAt, until))),
    get: (id: number): Alert | null => those(eq(alerts.id, id))[0] ?? null,
    /** Returns resolved alerts that are still silenced at `now`. */
    silencedPast: (now: number) => those(and(gt(alerts.silencedUntil, now), isNotNull(alerts.resolvedAt))),
    /** Inserts or replaces. */
    write(alert: Alert): void {
      const { id, ...rest } = { ...alert, told: JSON.stringify(alert.told) };
      const put = (into: Db) => {
        const row = into.insert(alerts).values({ id, ...rest });
        row.onConflictDoUpdate({ target: alerts.id, set: rest }).run();
      };
      put(db);
      const isOver = alert.resolvedAt !== null && alert.silencedUntil === null;
      store.inState((into) => (isOver ? into.delete(alerts).where(eq(alerts.id, id)).run() : put(into)));
    },
    watches: () =>
      read(() => db.select().from(alertWatches).all()).map(({ subject, body }) => ({
        subject: JSON.parse(subject) as AlertSubject,
        body,
      })),
    /** A null body deletes the watch. */
    writeWatch({ rule, server, daemon, feature, detail }: AlertSubject, body: string | null): void {
      const subject = JSON.stringify({ rule, server, daemon, feature, detail });
      const target = alertWatches.subject;
      store.inBoth((each) => {
        if (body === null) return void each.delete(alertWatches).where(eq(target, subject)).run();
        const put = each.insert(alertWatches).values({ subject, body });
        put.onConflictDoUpdate({ target, set: { body } }).run();
      });
    },
    /** By server. */
    baselines: (): Map<string, string> =>
      new Map(read(() => db.select().from(alertBaselines).all()).map(({ server, body }) => [server, body])),
    writeBaseline(server: string, body: string | null): void {
      const target = alertBaselines.server;
      if (body === null) return void db.delete(alertBaselines).where(eq(target, server)).run();
      const put = db.insert(alertBaselines).values({ server, body });
      put.onConflictDoUpdate({ target, set: { body } }).run();
    },
    /** Deletes one step of alerts that ended before an instant and returns their number. */
    retainStep: (endedBefore: number): number =>
      store.transaction(() => {
        const doomed = db
          .select({ id: alerts.id })
          .from(alerts)
          .where(and(isNotNull(alerts.resolvedAt), lt(alerts.resolvedAt, endedBefore)))
          .orderBy(asc(alerts.resolvedAt))
          .limit(STEP_ROWS);
        return db.delete(alerts).where(inArray(alerts.id, doomed)).returning({ id: alerts.id }).all().length;
      }),
  };
}
