/**
 * Sessions in columns, by small ids: there may be tens of millions in one answer. All of them end within one stretch of
 * time, and each ends after it began. The columns may have room for more than `length`.
 */
export interface SessionColumns {
  readonly length: number;
  /** When each gave its seats back, epoch ms; the latest first. */
  readonly to: Float64Array;
  /** Which feature of which server. */
  readonly feature: Uint32Array;
  readonly user: Uint32Array;
  readonly host: Uint32Array;
  readonly count: Uint32Array;
  /** When each was taken, epoch ms; the latest first. */
  readonly from: Float64Array;
  /** The place in the columns above of the session that `from` is of. */
  readonly whose: Uint32Array;
}

export function emptyColumns(room: number): SessionColumns {
  return {
    length: 0,
    to: new Float64Array(room),
    feature: new Uint32Array(room),
    user: new Uint32Array(room),
    host: new Uint32Array(room),
    count: new Uint32Array(room),
    from: new Float64Array(room),
    whose: new Uint32Array(room),
  };
}

/** A session by itself. */
export interface SessionRow {
  readonly from: number;
  readonly to: number;
  readonly feature: number;
  readonly user: number;
  readonly host: number;
  readonly count: number;
}

export function columnsOf(rows: readonly SessionRow[]): SessionColumns {
  const columns = emptyColumns(rows.length);
  const byEnd = rows.toSorted((a, b) => b.to - a.to);
  byEnd.forEach((row, place) => {
    columns.to[place] = row.to;
    columns.feature[place] = row.feature;
    columns.user[place] = row.user;
    columns.host[place] = row.host;
    columns.count[place] = row.count;
  });
  const begins = byEnd.map(({ from }, place) => ({ from, place })).sort((a, b) => b.from - a.from);
  begins.forEach(({ from, place }, at) => {
    columns.from[at] = from;
    columns.whose[at] = place;
  });
  return { ...columns, length: rows.length };
}

/** Two sets of columns as one. */
export function mergeColumns(one: SessionColumns, other: SessionColumns): SessionColumns {
  if (one.length === 0) return other;
  if (other.length === 0) return one;
  const length = one.length + other.length;
  const merged = emptyColumns(length);
  const places = [new Uint32Array(one.length), new Uint32Array(other.length)] as const;
  merge(one, other, "to", (from, place, of, at) => {
    merged.to[at] = from.to[place] ?? 0;
    merged.feature[at] = from.feature[place] ?? 0;
    merged.user[at] = from.user[place] ?? 0;
    merged.host[at] = from.host[place] ?? 0;
    merged.count[at] = from.count[place] ?? 0;
    places[of][place] = at;
  });
  merge(one, other, "from", (from, place, of, at) => {
    merged.from[at] = from.from[place] ?? 0;
    merged.whose[at] = places[of][from.whose[place] ?? 0] ?? 0;
  });
  return { ...merged, length };
}

function merge(
  one: SessionColumns,
  other: SessionColumns,
  by: "to" | "from",
  take: (from: SessionColumns, place: number, of: 0 | 1, at: number) => void,
): void {
  const [times, others] = [one[by], other[by]];
  let [a, b] = [0, 0];
  for (let at = 0; at < one.length + other.length; at++) {
    if (b >= other.length || (a < one.length && (times[a] ?? 0) >= (others[b] ?? 0))) take(one, a++, 0, at);
    else take(other, b++, 1, at);
  }
}
