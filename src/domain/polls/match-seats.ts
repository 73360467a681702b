import type { CheckoutReading } from "../reading.ts";
import { isTakenAnew, restartKey, type Session, seatKey } from "../session.ts";

/** Rows handled before others get the event loop. */
export const SLICE_ROWS = 1_000;

/** A line that holds seats, with the open session that it goes on; null = a new one. */
interface Held<S> {
  readonly row: CheckoutReading;
  readonly held: S | null;
}

/**
 * Lays lines over open sessions: by seat first, then by start for those whose handles changed. `zone` is that of the
 * server's clocks.
 */
export function* matchSeats<S extends { readonly session: Session }>(
  open: readonly S[],
  rows: readonly CheckoutReading[],
  zone: string,
): Generator<void, { held: readonly Held<S>[]; missing: readonly S[] }> {
  const bySeat = group(open, ({ session }) => seatKey(session));
  const held: Held<S>[] = [];
  const left = new Set(open);
  for (const row of rows) {
    const found = take(bySeat.get(seatKey(row)), ({ session }) => !isTakenAnew(session, row));
    if (found !== null) left.delete(found);
    held.push({ row, held: found });
    if (held.length % SLICE_ROWS === 0) yield;
  }
  if (left.size === 0) return { held, missing: [] };

  const byStart = group([...left], ({ session }) => restartKey(session, zone));
  const matched = held.map((entry) => {
    const key = entry.held === null ? restartKey(entry.row, zone) : null;
    const found = key === null ? null : take(byStart.get(key), () => true);
    if (found !== null) left.delete(found);
    return found === null ? entry : { row: entry.row, held: found };
  });
  return { held: matched, missing: [...left] };
}

/** The first of a key stands last, see {@link take}. */
function group<T>(items: readonly T[], keyOf: (item: T) => string | null): Map<string | null, T[]> {
  return Map.groupBy(items.toReversed(), keyOf);
}

/** Takes the first fitting item out; groups are kept last to first, so that the usual case is a pop. */
function take<T>(group: T[] = [], fits: (item: T) => boolean): T | null {
  const index = group.findLastIndex(fits);
  if (index === -1) return null;
  return (index === group.length - 1 ? group.pop() : group.splice(index, 1)[0]) ?? null;
}
