import { fromWallClock, wallClock } from "../zone.ts";

/** Widths of a series' buckets. Days are those of a zone: 23 to 25 hours where clocks are set. */
export const INTERVALS = ["5m", "1h", "1d"] as const;
export type Interval = (typeof INTERVALS)[number];

const WIDTH_MS = { "5m": 300_000, "1h": 3_600_000, "1d": 86_400_000 } as const;
/** `auto` takes the smallest interval that gives at most so many buckets. */
export const AUTO_BUCKETS = 400;

/** Buckets that [start, end) touches. Answered without making them: a range may be absurd. */
export function bucketCount(interval: Interval, start: number, end: number): number {
  const width = WIDTH_MS[interval];
  // Days of a zone may touch one more.
  return Math.floor((end - 1) / width) - Math.floor(start / width) + (interval === "1d" ? 2 : 1);
}

export function autoInterval(start: number, end: number): Interval {
  return INTERVALS.find((interval) => bucketCount(interval, start, end) <= AUTO_BUCKETS) ?? "1d";
}

/**
 * Edges of the buckets that [start, end) touches, ascending: the first at or before `start`, the last at or after
 * `end`; bucket i is [edges[i], edges[i + 1]). Hours and fives of minutes are those of UTC.
 */
export function bucketEdges(interval: Interval, start: number, end: number, zone: string): number[] {
  if (interval === "1d") return dayEdges(start, end, zone);
  const width = WIDTH_MS[interval];
  const edges: number[] = [];
  let edge = Math.floor(start / width) * width;
  for (; edge < end; edge += width) edges.push(edge);
  edges.push(edge);
  return edges;
}

/** Midnights of the zone around [start, end). */
export function dayEdges(start: number, end: number, zone: string): number[] {
  const today = Math.floor(wallClock(zone, start) / WIDTH_MS["1d"]);
  const midnight = (days: number) => fromWallClock(zone, (today + days) * WIDTH_MS["1d"]);
  let day = 0;
  // Where clocks are set at midnight, its local time occurs twice or never.
  while (midnight(day) > start) day--;
  const edges = [midnight(day)];
  while ((edges.at(-1) ?? end) < end) {
    day++;
    const next = midnight(day);
    // A day that a zone skipped (Samoa, 2011-12-30) has no time.
    if (next > (edges.at(-1) ?? 0)) edges.push(next);
  }
  return edges;
}
