import type { Database } from "bun:sqlite";
import type { Series, Step } from "../domain/history.ts";
import { samplesOfDay } from "./codec.ts";
import type { KnownFeature } from "./source.ts";
import { DAY_MS, dayOf, HOUR_MS, packedKey } from "./spans.ts";
import { type Interval, stepsOf } from "./steps.ts";

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

/** Counts as they were read: coverage and samples. Instants are epoch ms, ranges [start, end). */
export interface SampleReader {
  /** When the server was read, within [start, end). */
  coverage(serverId: string, start: number, end: number): Interval[];
  /** The samples that say what held in [start, end): those in it, and the last one before. */
  samples(feature: KnownFeature, start: number, end: number, coverage: readonly Interval[]): readonly Step[];
  series(feature: KnownFeature, start: number, end: number): Series;
}

/** Ranges of a server whose coverage is remembered: the first and the last part of a question alternate. */
const KEPT_RANGES = 4;

interface SampleRow extends Omit<Step, "unlimited"> {
  readonly unlimited: number;
}

/** `now`: what lies behind has not been seen. */
export function createSampleReader(sqlite: Database, open: OpenHours, now: number): SampleReader {
  const coverageRows = sqlite.query<{ from: number; until: number }, [string, number]>(
    `SELECT from_at AS "from", until_at AS until FROM coverage WHERE server_id = ? AND from_at < ? ORDER BY from_at DESC`,
  );
  const looseSamples = sqlite.query<SampleRow, [number, number]>(
    "SELECT at, total, used, reserved, queued, unlimited FROM samples WHERE feature_id = ? AND at < ? ORDER BY at",
  );
  const sampleDay = sqlite.query<{ data: Uint8Array }, [number]>(
    "SELECT data FROM sample_days WHERE key = ?",
  );
  const coverages = new Map<string, { start: number; end: number; list: Interval[] }[]>();

  function coverage(serverId: string, start: number, end: number): Interval[] {
    const known = coverages.get(serverId) ?? [];
    const around = known.find((one) => one.start <= start && one.end >= end);
    if (around !== undefined) return around.list;
    const list: Interval[] = [];
    for (const { from, until } of coverageRows.iterate(serverId, end)) {
      if (until <= start) break;
      list.push({ from, until: Math.min(until, now) });
    }
    list.reverse();
    coverages.set(serverId, [{ start, end, list }, ...known.slice(0, KEPT_RANGES - 1)]);
    return list;
  }

  /** Whether the first hour of a day is not packed yet. */
  function isOpen(day: number): boolean {
    return open.in(HOUR_MS, day * DAY_MS, day * DAY_MS + 1).size > 0;
  }

  function samples(
    feature: KnownFeature,
    start: number,
    end: number,
    intervals: readonly Interval[],
  ): readonly Step[] {
    const first = intervals.find(({ until }) => until > start);
    if (first === undefined) return [];
    const packed: Step[][] = [];
    const unpacked = (day: number): Step[] => {
      const data = sampleDay.get(packedKey(day, feature.id))?.data;
      return data === undefined ? [] : samplesOfDay(day * DAY_MS, data);
    };
    for (let day = dayOf(start); day * DAY_MS < end; day++) packed.push(unpacked(day));
    const loose = looseSamples
      .all(feature.id, end)
      .map(({ unlimited, ...counts }): Step => ({ ...counts, unlimited: unlimited === 1 }));
    // A packed day begins with what held then; where its first hour is not packed yet that stands in the day before.
    for (let day = dayOf(start); isOpen(day) && day > dayOf(first.from); day--)
      packed.unshift(unpacked(day - 1));
    return inOrder(packed.flat(), loose);
  }

  return {
    coverage,
    samples,
    series(feature, start, end) {
      const intervals = coverage(feature.server, start, end);
      const { server, daemon, feature: name } = feature;
      const steps = stepsOf(samples(feature, start, end, intervals), intervals, start, end);
      return { feature: { server, daemon, feature: name }, start, end, steps };
    },
  };
}

/** Two ascending lists as one; of two samples of the same instant the second list's holds. */
function inOrder(a: readonly Step[], b: readonly Step[]): readonly Step[] {
  if (b.length === 0) return a;
  if (a.length === 0) return b;
  const later = new Set(b.map(({ at }) => at));
  return [...a.filter(({ at }) => !later.has(at)), ...b].sort((one, other) => one.at - other.at);
}
