import type { Database } from "bun:sqlite";
import { tableNames } from "./untouched.ts";

/** An id is about the epoch ms at which it was given: one further ahead was read from a damaged page. */
const MAX_AHEAD_MS = 366 * 86_400_000;

/**
 * The highest event id that the licmond on this database may have given; null when it does not tell. Clients hold
 * such ids as their Last-Event-ID, so none of them may be given a second time.
 */
export function highestEventId(sqlite: Database, now: number): number | null {
  const names = tableNames(sqlite);
  const questions = [
    ["event_marks", "SELECT value FROM event_marks WHERE name = 'reserved'"],
    ["events", "SELECT max(id) AS value FROM events"],
  ] as const;
  const found = questions.flatMap(([table, query]) => {
    if (!names.includes(table)) return [];
    const value = sqlite.query<{ value: unknown }, []>(query).get()?.value;
    return Number.isSafeInteger(value) ? [Number(value)] : [];
  });
  const plausible = found.filter((id) => id > 0 && id <= now + MAX_AHEAD_MS);
  return plausible.length === 0 ? null : Math.max(...plausible);
}

/**
 * Has a database that takes another's place go on behind the ids that the other gave, and tell who resumes from one of
 * them that events are missing. Runs in the caller's transaction; does nothing in a schema that knows no events.
 *
 * `highest` is the other's {@link highestEventId}. Where that cannot be read the present time does: ids are
 * max(now, last + 1), so the ones given lie before now, unless that licmond ran ahead of its clock.
 */
export function continueEventIds(sqlite: Database, highest: number | null, now: number): void {
  if (!tableNames(sqlite).includes("event_marks")) return;
  const own = highestEventId(sqlite, now) ?? 0;
  const newest = sqlite.query<{ id: number | null }, []>("SELECT max(id) AS id FROM events").get()?.id ?? 0;
  const last = highest ?? now;
  if (last <= newest) return;
  sqlite
    .query(
      "INSERT INTO event_marks (name, value) VALUES ('reserved', ?) ON CONFLICT DO UPDATE SET value = excluded.value",
    )
    .run(Math.max(own, last));
  sqlite.query("INSERT OR REPLACE INTO event_holes (from_id, to_id) VALUES (?, ?)").run(newest + 1, last);
}
