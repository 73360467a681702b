import type { SessionColumns } from "./session-columns.ts";

/** Sessions whose begin is still to come, going back through time: the latest first. `other` is their group. */
export type Carried = Pick<SessionColumns, "length" | "from" | "user" | "count"> & {
  readonly other: Int32Array;
};

/** Behind the end of a column nothing comes. */
export function timeAt(times: Float64Array, place: number, length: number): number {
  return place < length ? (times[place] ?? 0) : Number.NEGATIVE_INFINITY;
}

function carriedRoom(room: number) {
  return {
    from: new Float64Array(room),
    other: new Int32Array(room),
    user: new Uint32Array(room),
    count: new Uint32Array(room),
  };
}

export const NOBODY_CARRIED: Carried = { ...carriedRoom(0), length: 0 };

/** Those whose begin did not come yet, of both lists: the latest first. */
export function stillRunning(
  { length, from, whose, user, count }: SessionColumns,
  others: Int32Array,
  { ended, begun }: { readonly ended: number; readonly begun: number },
  before: Carried,
  back: number,
): Carried {
  const room = carriedRoom(length - begun + before.length - back);
  let at = 0;
  let old = back;
  const takeOld = () => {
    room.from[at] = before.from[old] ?? 0;
    room.other[at] = before.other[old] ?? 0;
    room.user[at] = before.user[old] ?? 0;
    room.count[at] = before.count[old] ?? 0;
    at++;
    old++;
  };
  for (let place = begun; place < length; place++) {
    const of = whose[place] ?? 0;
    const other = others[of] ?? -1;
    // What ended before the range never held seats in it.
    if (other < 0 || of >= ended) continue;
    while (old < before.length && (before.from[old] ?? 0) > (from[place] ?? 0)) takeOld();
    room.from[at] = from[place] ?? 0;
    room.other[at] = other;
    room.user[at] = user[of] ?? 0;
    room.count[at] = count[of] ?? 0;
    at++;
  }
  while (old < before.length) takeOld();
  return { ...room, length: at };
}
