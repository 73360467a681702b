import { and, asc, eq, gt, inArray, isNotNull, isNull, lt, sql } from "drizzle-orm";
import type { Alert, AlertSubject } from "../domain/alerts.ts";
import type { Db } from "./database/database-file.ts";
import { alertBaselines, alerts, alertWatches } from "./database/schema.ts";
import type { Store } from "./open/open.ts";

/** Alerts deleted in one transaction. */
const STEP_ROWS = 500;

export interface Alerts {
  /** Ids for new alerts: above everything stored. */
  nextId(): number;
  /** Alerts that fire, in the order of their ids. */
  firing(): Alert[];
  get(id: number): Alert | null;
  /** Resolved alerts whose silence goes on at `now`. */
  silencedPast(now: number): Alert[];
  /** Inserts or replaces; runs in the caller's transaction, as the writes below do. */
  write(alert: Alert): void;
  watches(): { readonly subject: AlertSubject; readonly body: string }[];
  /** Null forgets it. */
  writeWatch(subject: AlertSubject, body: string | null): void;
  /** By server. */
  baselines(): Map<string, string>;
  writeBaseline(server: string, body: string | null): void;
  /** Deletes one step of the alerts that ended before an instant; answers how many. */
  retainStep(endedBefore: number): number;
}

export function createAlerts(store: Store): Alerts {
  const { db, read } = store;
  // Ids of alerts that licmond.db has forgotten are not given again.
  const given = store.state.sqlite.query<{ id: number | null }, []>(
    "SELECT seq AS id FROM sqlite_sequence WHERE name = 'alerts'",
  );
  const newest = read(() =>
    db
      .select({ id: sql<number | null>`max(${alerts.id})` })
      .from(alerts)
      .get(),
  );
  let last = Math.max(newest?.id ?? 0, store.state.read(() => given.get())?.id ?? 0);

  return {
    nextId: () => ++last,
    firing: () =>
      read(() => db.select().from(alerts).where(isNull(alerts.resolvedAt)).orderBy(asc(alerts.id)).all()).map(
        alertOf,
      ),
    get(id) {
      const row = read(() => db.select().from(alerts).where(eq(alerts.id, id)).get());
      return row === undefined ? null : alertOf(row);
    },
    silencedPast: (now) =>
      read(() =>
        db
          .select()
          .from(alerts)
          .where(and(gt(alerts.silencedUntil, now), isNotNull(alerts.resolvedAt)))
          .orderBy(asc(alerts.id))
          .all(),
      ).map(alertOf),
    write(alert) {
      const { id, ...rest } = { ...alert, told: JSON.stringify(alert.told) };
      const put = (into: Db) =>
        void into
          .insert(alerts)
          .values({ id, ...rest })
          .onConflictDoUpdate({ target: alerts.id, set: rest })
          .run();
      put(db);
      const isOver = alert.resolvedAt !== null && alert.silencedUntil === null;
      store.inState((state) =>
        isOver ? void state.delete(alerts).where(eq(alerts.id, id)).run() : put(state),
      );
    },
    watches: () =>
      read(() => db.select().from(alertWatches).all()).map(({ subject, body }) => ({
        subject: JSON.parse(subject) as AlertSubject,
        body,
      })),
    writeWatch({ rule, server, daemon, feature, detail }, body) {
      const subject = JSON.stringify({ rule, server, daemon, feature, detail });
      store.inBoth((each) => {
        if (body === null) each.delete(alertWatches).where(eq(alertWatches.subject, subject)).run();
        else
          each
            .insert(alertWatches)
            .values({ subject, body })
            .onConflictDoUpdate({ target: alertWatches.subject, set: { body } })
            .run();
      });
    },
    baselines: () =>
      new Map(
        read(() => db.select().from(alertBaselines).all()).map(({ server, body }) => [server, body] as const),
      ),
    writeBaseline(server, body) {
      if (body === null) db.delete(alertBaselines).where(eq(alertBaselines.server, server)).run();
      else
        db.insert(alertBaselines)
          .values({ server, body })
          .onConflictDoUpdate({ target: alertBaselines.server, set: { body } })
          .run();
    },
    retainStep: (endedBefore) =>
      store.transaction(() => {
        const doomed = db
          .select({ id: alerts.id })
          .from(alerts)
          .where(and(isNotNull(alerts.resolvedAt), lt(alerts.resolvedAt, endedBefore)))
          .orderBy(asc(alerts.resolvedAt))
          .limit(STEP_ROWS)
          .all()
          .map(({ id }) => id);
        if (doomed.length > 0) db.delete(alerts).where(inArray(alerts.id, doomed)).run();
        return doomed.length;
      }),
  };
}

function alertOf({ told, ...row }: typeof alerts.$inferSelect): Alert {
  return { ...row, told: JSON.parse(told) as Alert["told"] };
}
