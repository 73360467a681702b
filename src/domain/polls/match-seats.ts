import type { CheckoutReading } from "../reading.ts";
import {
  anyDisplayKey,
  isOlderThanSight,
  isTakenAnew,
  lineKey,
  restartKey,
  type Session,
} from "../session.ts";

/** Rows to handle before the event loop gets a turn. */
export const SLICE_ROWS = 1_000;

/** A line and the open session that it continues; null if it starts a new one. */
interface Held<S> {
  readonly row: CheckoutReading;
  readonly held: S | null;
}

/**
 * Matches lines with open sessions: first by handle and display, then those whose display or handle changed.
 * `zone`: zone of the server's clock.
 */
export function* matchSeats<S extends { readonly session: Session }>(
  open: readonly S[],
  rows: readonly CheckoutReading[],
  zone: string,
): Generator<void, { held: readonly Held<S>[]; missing: readonly S[] }> {
  const byLine = group(open, ({ session }) => lineKey(session));
  let held: Held<S>[] = [];
  const left = new Set(open);
  for (const row of rows) {
    const found = take(byLine.get(lineKey(row)), ({ session }) => !isTakenAnew(session, row));
    if (found !== null) left.delete(found);
    held.push({ row, held: found });
    if (held.length % SLICE_ROWS === 0) yield;
  }
  for (const keyOf of [anyDisplayKey, restartKey]) {
    if (left.size === 0) break;
    const byKey = group([...left], ({ session }) => keyOf(session, zone));
    held = held.map((entry) => {
      const { row } = entry;
      const key = entry.held === null ? keyOf(row, zone) : null;
      const fits = ({ session }: S) => !isTakenAnew(session, row) && isOlderThanSight(session, row);
      const found = key === null ? null : take(byKey.get(key), fits);
      if (found !== null) left.delete(found);
      return found === null ? entry : { row, held: found };
    });
  }
  return { held, missing: [...left] };
}

/** Groups are in reverse order, so that {@link take} usually pops. */
function group<T>(items: readonly T[], keyOf: (item: T) => string | null): Map<string | null, T[]> {
  return Map.groupBy(items.toReversed(), keyOf);
}

/** Removes and returns the first fitting item. */
function take<T>(group: T[] = [], fits: (item: T) => boolean): T | null {
  const index = group.findLastIndex(fits);
  if (index === -1) return null;
  return (index === group.length - 1 ? group.pop() : group.splice(index, 1)[0]) ?? null;
}
