import type { Database } from "bun:sqlite";

/** Which hours and days are still to be rolled up, as far as one state of the database knows. */
export interface OpenHours {
  /** Begins of the buckets in [start, end) whose rollup, if there is one, is not the last word. */
  in(span: number, start: number, end: number): ReadonlySet<number>;
}

export function createOpenHours(sqlite: Database): OpenHours {
  const select = sqlite.query<{ at: number }, [number, number, number]>(
    "SELECT at FROM history_open WHERE span = ? AND at >= ? AND at < ? ORDER BY at",
  );
  const known = new Map<string, ReadonlySet<number>>();
  return {
    in(span, start, end) {
      const key = `${span} ${start} ${end}`;
      const before = known.get(key);
      if (before !== undefined) return before;
      const found = new Set(select.all(span, start, end).map(({ at }) => at));
      known.set(key, found);
      return found;
    },
  };
}
