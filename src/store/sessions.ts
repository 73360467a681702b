import { and, asc, eq, isNull, sql } from "drizzle-orm";
import type { Session } from "../domain/session.ts";
import type { SessionChanges } from "../domain/track-sessions.ts";
import { createSessionDayDrop } from "./days/drop.ts";
import { deleteStep } from "./delete-step.ts";
import { createMarks } from "./event-marks.ts";
import type { Store } from "./open.ts";
import { sessions } from "./schema.ts";

export interface Sessions {
  /** Ids for new sessions: one counter for all, above everything stored. */
  nextId(): number;
  /** What an earlier process left open, in the order of their ids. */
  open(serverId: string): Session[];
  /** Writes what a poll changed; runs in the caller's transaction. */
  write(changes: SessionChanges): void;
  /** Deletes one step of the sessions that ended before an instant, and notes it; answers how many. */
  retainStep(endedBefore: number): number;
}

export function createSessions(store: Store): Sessions {
  const { db, read } = store;
  const newest = read(() =>
    db
      .select({ id: sql<number | null>`max(${sessions.id})` })
      .from(sessions)
      .get(),
  );
  // Rows of imported logs have numbers below zero.
  let last = Math.max(0, newest?.id ?? 0);

  const placeholders = {
    id: sql.placeholder("id"),
    serverId: sql.placeholder("server"),
    daemon: sql.placeholder("daemon"),
    feature: sql.placeholder("feature"),
    user: sql.placeholder("user"),
    host: sql.placeholder("host"),
    display: sql.placeholder("display"),
    qualifier: sql.placeholder("qualifier"),
    version: sql.placeholder("version"),
    count: sql.placeholder("count"),
    handle: sql.placeholder("handle"),
    startedAt: sql.placeholder("startedAt"),
    beganAt: sql.placeholder("beganAt"),
    firstSeenAt: sql.placeholder("firstSeenAt"),
    lastSeenAt: sql.placeholder("lastSeenAt"),
    endedAt: sql.placeholder("endedAt"),
    endReason: sql.placeholder("endReason"),
  };
  const insert = db.insert(sessions).values(placeholders).prepare();
  const update = db
    .update(sessions)
    .set({
      count: sql`${sql.placeholder("count")}`,
      handle: sql`${sql.placeholder("handle")}`,
      lastSeenAt: sql`${sql.placeholder("lastSeenAt")}`,
      endedAt: sql`${sql.placeholder("endedAt")}`,
      endReason: sql`${sql.placeholder("endReason")}`,
    })
    .where(eq(sessions.id, sql.placeholder("id")))
    .prepare();

  const remove = store.sqlite.query<null, [number, number]>(
    "DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE ended_at < ? ORDER BY ended_at LIMIT ?)",
  );

  const marks = createMarks(store);
  const dropDay = createSessionDayDrop(store);

  return {
    nextId: () => ++last,
    open: (serverId) =>
      read(() =>
        db
          .select()
          .from(sessions)
          .where(and(eq(sessions.serverId, serverId), isNull(sessions.endedAt)))
          .orderBy(asc(sessions.id))
          .all(),
      ).map(({ serverId: server, ...row }) => ({ ...row, server })),
    write({ opened, closed, changed }) {
      for (const session of opened) insert.run({ ...session });
      for (const session of [...changed, ...closed]) {
        const { id, count, handle, lastSeenAt, endedAt, endReason } = session;
        update.run({ id, count, handle, lastSeenAt, endedAt, endReason });
      }
    },
    retainStep: (endedBefore) =>
      deleteStep(store, (limit) => {
        const { changes } = remove.run(endedBefore, limit);
        if (changes > 0) marks.raise("deleted_sessions", endedBefore);
        return changes || dropDay(endedBefore);
      }),
  };
}
