import type { CheckoutReading } from "../reading.ts";
import { isSameSeat, isTakenAnew, restartKey, type Session, seatKey } from "../session.ts";

/** Rows handled before others get the event loop. */
export const SLICE_ROWS = 1_000;

interface Seated {
  readonly session: Session;
}

/**
 * Lays lines over open sessions: by seat first, then by start for those whose handles changed. `zone` is that of the
 * server's clocks.
 */
export function* matchSeats<S extends Seated>(
  open: readonly S[],
  rows: readonly CheckoutReading[],
  zone: string,
): Generator<void, { held: { row: CheckoutReading; held: S | null }[]; missing: readonly S[] }> {
  // Most polls find the same lines in the same order: no key need be made then.
  const isStill = ({ session }: S, row: CheckoutReading | undefined) =>
    row !== undefined && isSameSeat(session, row) && !isTakenAnew(session, row);
  if (open.length === rows.length && open.every((each, index) => isStill(each, rows[index])))
    return { held: rows.map((row, index) => ({ row, held: open[index] ?? null })), missing: [] };

  const bySeat = group(open, ({ session }) => seatKey(session));
  const held: { row: CheckoutReading; held: S | null }[] = [];
  const left = new Set(open);
  let handled = 0;
  for (const row of rows) {
    const found = take(bySeat.get(seatKey(row)), ({ session }) => !isTakenAnew(session, row));
    if (found !== null) left.delete(found);
    held.push({ row, held: found });
    if (++handled % SLICE_ROWS === 0) yield;
  }
  if (left.size === 0) return { held, missing: [] };

  const byStart = group([...left], ({ session }) => restartKey(session, zone));
  for (const entry of held) {
    if (entry.held !== null) continue;
    const key = restartKey(entry.row, zone);
    const found = key === null ? null : take(byStart.get(key), () => true);
    if (found === null) continue;
    entry.held = found;
    left.delete(found);
  }
  return { held, missing: [...left] };
}

/** Takes the first fitting item out; groups are kept last to first, so that the usual case is a pop. */
function take<T>(group: T[] | undefined, fits: (item: T) => boolean): T | null {
  const index = group?.findLastIndex(fits) ?? -1;
  if (group === undefined || index === -1) return null;
  return index === group.length - 1 ? (group.pop() ?? null) : (group.splice(index, 1)[0] ?? null);
}

/** Items by key, the first of a key last, see {@link take}. */
export function group<T>(list: readonly T[], keyOf: (item: T) => string | null): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of list.toReversed()) {
    const key = keyOf(item);
    if (key === null) continue;
    const same = groups.get(key);
    if (same === undefined) groups.set(key, [item]);
    else same.push(item);
  }
  return groups;
}
