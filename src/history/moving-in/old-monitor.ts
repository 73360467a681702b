/** A history of counts that another monitor stored. */
export interface OldMonitor {
  /** By a key of its own. */
  readonly series: ReadonlyMap<string, OldSeries>;
  /** How far apart its readings of a server are, ms. */
  intervalOf(server: string): number;
  /** What is left out of it, or is to be known of its counts, in sentences. */
  readonly notes: readonly string[];
  /** Every count, those of a series in the order of time. `onRead` gets how many bytes, or rows, were read. */
  counts(
    onRead: (amount: number) => void,
  ): AsyncIterable<readonly OldCount[]> | Iterable<readonly OldCount[]>;
}

/** A feature of a server, as the other monitor names it. */
export interface OldSeries {
  readonly server: string;
  readonly feature: string;
  /** Null: it does not say. */
  readonly daemon: string | null;
  /** Why its counts say nothing; null = they do. */
  readonly problem: string | null;
  /** Seats on a day, counted from 1970-01-01 by the clocks of its host; null = it does not say. */
  totalOn(day: number): number | null;
}

export interface OldCount {
  readonly key: string;
  /** What the clocks of its host showed, see `wallClock`; NaN when it is no time. */
  readonly wall: number;
  readonly used: number;
}

/** The data are not those of the monitor, or of a version that is not known; in words for an administrator. */
export class OldMonitorError extends Error {
  override readonly name = "OldMonitorError";
}

const MINUTE_MS = 60_000;
const DAY_MINUTES = 1440;

/** What `2026-01-31` and `08:15:30` show, as `wallClock` has it; NaN when it is no time. */
export function wallOf(date: string, time: string): number {
  return Date.parse(`${date}T${time}Z`);
}

/** A copy: a piece of a text keeps all of it in memory, and a dump's names are read from texts of a quarter of a megabyte. */
export function copyOf(text: string): string {
  return Buffer.from(text).toString();
}

/** Looks through all counts before the first is stored: the usual distance of readings, and their order. */
export function createSurvey(name: string) {
  const seen = new Map<string, { last: number; most: number; rows: number }>();
  const distances = new Map<string, number[]>();
  return {
    /** Throws OldMonitorError when the counts of a series are not in the order of time. */
    see(key: string, server: string, { wall, used }: Omit<OldCount, "key">): void {
      let known = seen.get(key);
      if (known === undefined) {
        known = { last: Number.NaN, most: 0, rows: 0 };
        seen.set(copyOf(key), known);
      }
      if (wall < known.last)
        throw new OldMonitorError(
          `the counts in ${name} are not in the order of time: dump with mysqldump --order-by-primary`,
        );
      const minutes = Math.max(1, Math.round((wall - known.last) / MINUTE_MS));
      if (minutes <= DAY_MINUTES) {
        const counts = distances.get(server) ?? [];
        if (counts.length === 0) distances.set(copyOf(server), counts);
        counts[minutes] = (counts[minutes] ?? 0) + 1;
      }
      if (!Number.isNaN(wall)) known.last = wall;
      known.most = Math.max(known.most, used);
      known.rows++;
    },
    /** Every series that has counts: how many, and the highest. */
    seen: seen as ReadonlyMap<string, { readonly most: number; readonly rows: number }>,
    /** The distance that occurs most, ms; ten minutes where there is none. */
    intervalOf(server: string): number {
      const counts = distances.get(server) ?? [];
      let usual = 10;
      counts.forEach((count, minutes) => {
        if (count > (counts[usual] ?? 0)) usual = minutes;
      });
      return usual * MINUTE_MS;
    },
  };
}
