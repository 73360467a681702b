import { and, eq, gt, lt, lte, or, type SQL, sql } from "drizzle-orm";
import type { Store } from "./open.ts";
import { eventMarks, events } from "./schema.ts";

type MarkName =
  | "reserved"
  | "deleted_logs"
  | "deleted_events"
  | "log_bytes"
  | "keys_told"
  | "deleted_sessions"
  | "denials_seen"
  | "trusted_time"
  | "retention_time";

/**
 * Numbers kept beside the events, in their transactions. Absent is 0. `deleted_sessions`: those that ended before it.
 * `trusted_time`, `retention_time`: see `clock-watch.ts`.
 */
interface Marks {
  get(name: MarkName): number;
  set(name: MarkName, value: number): void;
  /** Sets it unless it is higher already. */
  raise(name: MarkName, value: number): void;
  add(name: MarkName, value: number): void;
}

export function createMarks({ db, read }: Store): Marks {
  const row = { name: sql.placeholder("name"), value: sql.placeholder("value") };
  const get = db
    .select({ value: eventMarks.value })
    .from(eventMarks)
    .where(eq(eventMarks.name, sql.placeholder("name")))
    .prepare();
  const upsert = (value: ReturnType<typeof sql>) =>
    db
      .insert(eventMarks)
      .values(row)
      .onConflictDoUpdate({ target: eventMarks.name, set: { value } })
      .prepare();
  const set = upsert(sql`excluded.value`);
  const raise = upsert(sql`max(${eventMarks.value}, excluded.value)`);
  const add = upsert(sql`${eventMarks.value} + excluded.value`);
  return {
    get: (name) => read(() => get.get({ name }))?.value ?? 0,
    set: (name, value) => void set.run({ name, value }),
    raise: (name, value) => void raise.run({ name, value }),
    add: (name, value) => void add.run({ name, value }),
  };
}

const DAY_MS = 86_400_000;

/**
 * The condition that an event of a kind was told before an instant. The id says so while ids are times. After a clock
 * that was ahead ids go on from there: then the time that an event tells counts, and what was told before an event that
 * is too old is too old as well, when a clock that was ahead gave it a time that is still to come.
 */
type ToldBefore = (before: number, now: number) => SQL | undefined;

/** `kind`: a condition on the columns of `events`. */
export function createToldBefore({ sqlite, read }: Store, kind: string): ToldBefore {
  const newestBehind = sqlite.query<{ id: number | null }, [number]>(
    `SELECT max(id) AS id FROM events INDEXED BY events_behind WHERE at < id AND at < ? AND ${kind}`,
  );
  return (before, now) => {
    const through = read(() => newestBehind.get(before))?.id ?? null;
    if (through === null || through < before) return lt(events.id, before);
    const isOld = or(lt(events.id, before), lt(events.at, before), gt(events.at, now + DAY_MS));
    return and(lte(events.id, through), isOld);
  };
}
