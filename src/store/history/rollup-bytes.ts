import type { Bucket, Level, Rollup, RollupGroup } from "../../domain/rollup.ts";
import { createByteWriter } from "./bytes.ts";
import {
  DENIALS,
  FULL,
  type RollupSink,
  readRollup,
  SKIP,
  TO_THE_END,
  UNKNOWN,
  UNLIMITED,
} from "./read-rollup.ts";
import { concat } from "./sample-day.ts";
import { DAY_MS, HOUR_MS } from "./spans.ts";

/**
 * Rollups as bytes. A day of hours is one record an hour: a byte that says which hour, and its body, or a bit that
 * says "as the record before". Quiet nights are one byte an hour.
 */

const SAME_AS_BEFORE = 32;
const HOUR_BITS = 31;

export function packDayRollup(dayAt: number, rollup: Rollup): Uint8Array {
  return packBody({ at: dayAt, rollup }, DAY_MS);
}

/** `users` false leaves them out. */
export function unpackDayRollup(dayAt: number, data: Uint8Array, users = true): Rollup {
  const made = createMade();
  readRollup(data, 0, dayAt, DAY_MS, made, users);
  return made.rollup();
}

/** The hours of a day, ascending; those that nothing is known of are left out. */
export function unpackHours(dayAt: number, data: Uint8Array, users = true): Bucket[] {
  const buckets: Bucket[] = [];
  const made = createMade();
  let before: Rollup | null = null;
  let beforeAt = 0;
  for (let place = 0; place < data.length; ) {
    const head = data[place++] ?? 0;
    const at = dayAt + (head & HOUR_BITS) * HOUR_MS;
    let rollup: Rollup;
    if ((head & SAME_AS_BEFORE) !== 0 && before !== null) {
      const { coveredUntil } = before;
      rollup = { ...before, coveredUntil: coveredUntil === null ? null : coveredUntil - beforeAt + at };
    } else {
      place = readRollup(data, place, at, HOUR_MS, made, users);
      rollup = made.rollup();
    }
    buckets.push({ at, rollup });
    before = rollup;
    beforeAt = at;
  }
  return buckets;
}

/** Reads the hours of a day into the sink of each; an hour without a sink is passed over. */
export function readHours(
  dayAt: number,
  data: Uint8Array,
  sinkOf: (at: number) => RollupSink | null,
  withUsers: boolean,
): void {
  let body = 0;
  for (let place = 0; place < data.length; ) {
    const head = data[place++] ?? 0;
    const isSame = (head & SAME_AS_BEFORE) !== 0;
    const at = dayAt + (head & HOUR_BITS) * HOUR_MS;
    const sink = sinkOf(at);
    if (!isSame) body = place;
    else if (sink === null) continue;
    const end = readRollup(data, body, at, HOUR_MS, sink ?? SKIP, withUsers);
    if (!isSame) place = end;
  }
}

/** A rollup as it was packed, piece by piece. */
function createMade(): RollupSink & { rollup(): Rollup } {
  let groups: { total: number | null; unlimited: boolean; levels: Level[] }[] = [];
  let total: number | null = null;
  let coveredUntil: number | null = null;
  let users: number[] = [];
  let denials: number | null = null;
  return {
    level(issued, unlimited, used, ms) {
      const last = groups.at(-1);
      if (last !== undefined && last.total === issued && last.unlimited === unlimited)
        last.levels.push([used, ms]);
      else groups.push({ total: issued, unlimited, levels: [[used, ms]] });
    },
    covered(until, issued) {
      coveredUntil = until;
      total = issued;
    },
    user: (id) => void users.push(id),
    denials(count) {
      denials = count;
    },
    rollup() {
      const rollup = { groups, total, coveredUntil, users, denials };
      groups = [];
      total = null;
      coveredUntil = null;
      users = [];
      denials = null;
      return rollup;
    },
  };
}

/** The day with an hour put in its place; one of which nothing is known is left out. */
export function withHourRollup(dayAt: number, data: Uint8Array | null, bucket: Bucket): Uint8Array {
  const hour = (bucket.at - dayAt) / HOUR_MS;
  const known = bucket.rollup.groups.length > 0 || bucket.rollup.denials !== null;
  const body = known ? packBody(bucket, HOUR_MS) : null;
  const before = data === null ? [] : recordsOf(data);
  const last = before.at(-1);
  if (data !== null && last !== undefined && last.hour < hour) {
    return body === null ? data : concat([data, record(hour, body, data.subarray(last.from, last.to))]);
  }
  const all = before.flatMap(({ hour: at, from, to }) =>
    at === hour || data === null ? [] : [{ hour: at, body: data.subarray(from, to) }],
  );
  if (body !== null) all.push({ hour, body });
  all.sort((a, b) => a.hour - b.hour);
  return concat(all.map((one, index) => record(one.hour, one.body, all[index - 1]?.body ?? null)));
}

function record(hour: number, body: Uint8Array, before: Uint8Array | null): Uint8Array {
  if (before !== null && Buffer.compare(before, body) === 0) return Uint8Array.of(hour | SAME_AS_BEFORE);
  return concat([Uint8Array.of(hour), body]);
}

/** Where the body of each hour lies. */
function recordsOf(data: Uint8Array): { hour: number; from: number; to: number }[] {
  const records: { hour: number; from: number; to: number }[] = [];
  let from = 0;
  let to = 0;
  for (let place = 0; place < data.length; ) {
    const head = data[place++] ?? 0;
    if ((head & SAME_AS_BEFORE) === 0) {
      from = place;
      place = readRollup(data, place, 0, HOUR_MS, SKIP, false);
      to = place;
    }
    records.push({ hour: head & HOUR_BITS, from, to });
  }
  return records;
}

function packBody({ at, rollup }: Bucket, spanMs: number): Uint8Array {
  const { groups, total, coveredUntil, users, denials } = rollup;
  const writer = createByteWriter();
  const [only] = groups;
  const full = groups.length === 1 && only !== undefined && sumOf(only.levels) === spanMs;
  const toTheEnd = coveredUntil === at + spanMs;
  writer.byte((full ? FULL : 0) | (toTheEnd ? TO_THE_END : 0) | (denials === null ? 0 : DENIALS));
  if (!full) writer.number(groups.length);
  for (const group of groups) {
    writer.number(totalCode(group));
    writer.number(group.levels.length);
    let before = 0;
    group.levels.forEach(([used, ms], index) => {
      writer.number(used - before);
      before = used;
      if (!full || index < group.levels.length - 1) writer.number(ms);
    });
  }
  if (groups.length > 1) writer.number(optional(total));
  if (!toTheEnd) writer.number(coveredUntil === null ? 0 : coveredUntil - at);
  writer.number(users.length);
  let lastUser = 0;
  for (const user of users) {
    writer.number(user - lastUser);
    lastUser = user;
  }
  if (denials !== null) writer.number(denials);
  return writer.take();
}

function totalCode({ total, unlimited }: RollupGroup): number {
  if (unlimited) return UNLIMITED;
  return total === null ? UNKNOWN : total + 2;
}

function sumOf(levels: readonly Level[]): number {
  let sum = 0;
  for (const [, ms] of levels) sum += ms;
  return sum;
}

function optional(value: number | null): number {
  return value === null ? 0 : value + 1;
}
