import type { Store } from "./open/open.ts";

const DAY_MS = 86_400_000;
/** Rows behind their ids that one look takes, oldest first: a look at 100,000 of them held the event loop for 83 ms. */
const LOOKED_AT = 1_000;

/**
 * The condition that an event of a kind was told before an instant. The id says so while ids are times. After a clock
 * that was ahead ids go on from there: then the time that an event tells counts, and what was told before an event that
 * is too old is too old as well, when a clock that was ahead gave it a time that is still to come.
 */
export type ToldBefore = (before: number, now: number) => EventCondition;

/** A condition on columns of `events`, with its values. */
export interface EventCondition {
  readonly where: string;
  readonly values: readonly number[];
}

/** `kind`: a condition on the columns of `events`. */
export function createToldBefore({ sqlite, read }: Store, kind: string): ToldBefore {
  const newestBehind = sqlite.query<{ id: number | null }, [number]>(
    `SELECT max(id) AS id FROM (
       SELECT id FROM events INDEXED BY events_behind
       WHERE at < id AND at < ? AND ${kind} ORDER BY at LIMIT ${LOOKED_AT})`,
  );
  return (before, now) => {
    const through = read(() => newestBehind.get(before))?.id ?? null;
    if (through === null || through < before) return { where: "id < ?", values: [before] };
    return {
      where: "id <= ? AND (id < ? OR at < ? OR at > ?)",
      values: [through, before, before, now + DAY_MS],
    };
  };
}
