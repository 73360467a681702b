import { inArray } from "drizzle-orm";
import { EVENT_SCHEMAS } from "../domain/events.ts";
import { DAY_MS } from "../domain/time/time.ts";
import { events } from "./database/schema.ts";
import { createMarks } from "./event-marks.ts";
import type { Store } from "./open/open.ts";

/** Rows behind their ids that one look takes, oldest first: a look at 100,000 of them held the event loop for 83 ms. */
const LOOKED_AT = 1_000;

const DOMAIN_EVENTS = Object.keys(EVENT_SCHEMAS).filter((type) => type !== "log");

/** A condition on columns of `events`, with its values. */
export interface EventCondition {
  readonly where: string;
  readonly values: readonly number[];
}

/**
 * Makes the condition that an event of a kind (a condition on the columns of `events`) was published before an instant.
 * The id says so while ids are times. After a clock that was ahead ids go on from there: then the time that an event has
 * counts, and what was published before an event that is too old is too old as well, when a clock that was ahead gave it
 * a time that is still to come.
 */
export function publishedBefore({ sqlite, read }: Store, kind: string) {
  const newestBehind = sqlite.query<{ id: number | null }, [number]>(
    `SELECT max(id) AS id FROM (
       SELECT id FROM events INDEXED BY events_behind
       WHERE at < id AND at < ? AND ${kind} ORDER BY at LIMIT ${LOOKED_AT})`,
  );
  return (before: number, now: number): EventCondition => {
    const through = read(() => newestBehind.get(before))?.id ?? null;
    if (through === null || through < before) return { where: "id < ?", values: [before] };
    return {
      where: "id <= ? AND (id < ? OR at < ? OR at > ?)",
      values: [through, before, before, now + DAY_MS],
    };
  };
}

/**
 * Ids of the oldest events of some types or some sources, ascending: each is looked up in its own part of an index, so
 * that no step of deleting passes by what stays.
 */
export function oldestIds(
  { sqlite }: Pick<Store, "sqlite">,
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

/** Deletes stored events of other types than `log` that are too old, in steps of so many rows; answers how many. */
export function createEventRetention(store: Store, limit: number) {
  const marks = createMarks(store);
  const condition = publishedBefore(store, "type <> 'log'");
  return {
    step: (before: number, now: number): number =>
      store.transaction(() => {
        const ids = oldestIds(store, "type", DOMAIN_EVENTS, condition(before, now), limit);
        const last = ids.at(-1);
        if (last === undefined) return 0;
        store.db.delete(events).where(inArray(events.id, ids)).run();
        marks.raise("deleted_events", last);
        return ids.length;
      }),
  };
}
