import type { EventInput } from "../../domain/events.ts";
import type { Rows } from "../denial-queries.ts";
import type { Store } from "../open.ts";

/** Looks at how full a file system is that saw the same, one after the other. Epoch ms. */
export interface DiskRun {
  readonly from: number;
  /** The last look. */
  readonly seen: number;
  /** Whole percent, rounded down: thresholds are whole numbers, and what is below one stays below it. */
  readonly percent: number;
}

/** Keeps how full the storage's file system was seen. */
export interface DiskFill {
  /** One look; null = it could not be told. What changed is stored at once, that nothing did every few minutes. */
  look(percent: number | null, at: number): void;
  /** Stores how far the looks have come. Never rejects: what could not be stored is tried with the next look. */
  save(): Promise<void>;
}

export interface DiskFillDeps {
  readonly store: Pick<Store, "sqlite" | "read">;
  readonly commit: (work: () => void, events: readonly EventInput[]) => Promise<void>;
}

/** Looks come once a minute; after so long without one nobody knows. */
const LONGEST_SILENCE_MS = 3 * 60_000;
/** Looks that see the same cost a write as often as this. Whoever kills the daemon loses so much of them. */
const SAVE_MS = 10 * 60_000;
/** Kept for later while the store fails. */
const MAX_UNSAVED = 1_000;

export function createDiskFill({ store, commit }: DiskFillDeps): DiskFill {
  const columns = `SELECT from_at AS "from", seen_at AS seen, percent FROM disk_fill`;
  const before = store.sqlite.query<DiskRun, [number]>(
    `${columns} WHERE from_at <= ? ORDER BY from_at DESC LIMIT 1`,
  );
  const after = store.sqlite.query<DiskRun, [number]>(
    `${columns} WHERE from_at > ? ORDER BY from_at LIMIT 1`,
  );
  const write = store.sqlite.query<null, [number, number, number]>(
    "INSERT OR REPLACE INTO disk_fill (from_at, seen_at, percent) VALUES (?, ?, ?)",
  );
  const unsaved = new Map<number, DiskRun>();
  let run: DiskRun | null = null;
  /** How far the store knows `run`. */
  let savedTo = Number.NEGATIVE_INFINITY;
  /** Where the next stored run begins: the clock was set back. */
  let nextFrom = Number.POSITIVE_INFINITY;

  function keep(): void {
    if (run === null || run.seen === savedTo) return;
    unsaved.set(run.from, run);
    savedTo = run.seen;
    for (const oldest of unsaved.keys()) {
      if (unsaved.size <= MAX_UNSAVED) break;
      unsaved.delete(oldest);
    }
  }

  /** The stored runs around `at`. While the store fails none is known. */
  function neighbours(at: number): [DiskRun | null, DiskRun | null] {
    try {
      return store.read(() => [before.get(at), after.get(at)]);
    } catch {
      return [null, null];
    }
  }

  /** Goes on with the run that reaches `at`, of this process or an earlier one, or begins another. */
  function begin(percent: number, at: number): void {
    run = null;
    const [last, next] = neighbours(at);
    const runs = [...unsaved.values()];
    const known = [...runs.filter(({ from }) => from <= at), ...(last === null ? [] : [last])];
    const newest = known.reduce<DiskRun | null>((a, b) => (a === null || b.seen > a.seen ? b : a), null);
    const ahead = [...runs.filter(({ from }) => from > at), ...(next === null ? [] : [next])];
    nextFrom = Math.min(...ahead.map(({ from }) => from));
    // The clock was set back: of this time it is known what was seen.
    if (newest !== null && at <= newest.seen) return;
    const goesOn = newest !== null && percent === newest.percent && at - newest.seen <= LONGEST_SILENCE_MS;
    run = { from: goesOn ? newest.from : at, seen: at, percent };
    savedTo = goesOn ? newest.seen : Number.NEGATIVE_INFINITY;
  }

  async function save(): Promise<void> {
    keep();
    const rows = [...unsaved.values()];
    if (rows.length === 0) return;
    try {
      await commit(() => {
        for (const { from, seen, percent } of rows) write.run(from, seen, percent);
      }, []);
      for (const row of rows) if (unsaved.get(row.from) === row) unsaved.delete(row.from);
    } catch {
      // The store says so itself.
    }
  }

  return {
    look(percent, at) {
      const whole = percent === null ? null : Math.floor(percent);
      const isNext = run !== null && at > run.seen && at - run.seen <= LONGEST_SILENCE_MS && at < nextFrom;
      if (run !== null && isNext && run.percent === whole) {
        run = { ...run, seen: at };
        if (at - savedTo < SAVE_MS) return;
      } else {
        keep();
        if (whole === null) run = null;
        else begin(whole, at);
      }
      void save();
    },
    save,
  };
}

/** All that is kept up to `end`, ascending. */
export function diskRuns(read: Rows, end: number): readonly DiskRun[] {
  return read.all<DiskRun>(
    `SELECT from_at AS "from", min(seen_at, ?1) AS seen, percent FROM disk_fill WHERE from_at < ?1 ORDER BY from_at`,
    end,
  );
}
