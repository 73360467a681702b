import type { Bucket, Level, Rollup, RollupGroup } from "../../domain/rollup.ts";
import { type ByteReader, createByteReader, createByteWriter } from "./bytes.ts";
import { concat } from "./sample-day.ts";
import { DAY_MS, HOUR_MS } from "./spans.ts";

/**
 * Rollups as bytes. A day of hours is one record an hour: a byte that says which hour, and its body, or a bit that
 * says "as the record before". Quiet nights are one byte an hour.
 */

const SAME_AS_BEFORE = 32;
const HOUR_BITS = 31;

const TO_THE_END = 1;
const DENIALS = 2;
/** One group whose levels fill the bucket: the last level's time follows from the others. */
const FULL = 4;

/** What a total is written as: 0 unknown, 1 unlimited, else the total and 2. */
const UNKNOWN = 0;
const UNLIMITED = 1;

export function packDayRollup(dayAt: number, rollup: Rollup): Uint8Array {
  return packBody({ at: dayAt, rollup }, DAY_MS);
}

/** `users` false leaves them out, which saves most of the time. */
export function unpackDayRollup(dayAt: number, data: Uint8Array, users = true): Rollup {
  return unpackBody(createByteReader(data), dayAt, DAY_MS, users);
}

/** The hours of a day, ascending; those that nothing is known of are left out. */
export function unpackHours(dayAt: number, data: Uint8Array, users = true): Bucket[] {
  const buckets: Bucket[] = [];
  const reader = createByteReader(data);
  let before: Rollup | null = null;
  let beforeAt = 0;
  while (reader.left > 0) {
    const head = reader.byte();
    const at = dayAt + (head & HOUR_BITS) * HOUR_MS;
    let rollup: Rollup;
    if ((head & SAME_AS_BEFORE) !== 0 && before !== null) {
      const { coveredUntil } = before;
      rollup = { ...before, coveredUntil: coveredUntil === null ? null : coveredUntil - beforeAt + at };
    } else rollup = unpackBody(reader, at, HOUR_MS, users);
    buckets.push({ at, rollup });
    before = rollup;
    beforeAt = at;
  }
  return buckets;
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
  const reader = createByteReader(data);
  let from = 0;
  let to = 0;
  while (reader.left > 0) {
    const head = reader.byte();
    if ((head & SAME_AS_BEFORE) === 0) {
      from = reader.at;
      skipBody(reader);
      to = reader.at;
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

function unpackBody(reader: ByteReader, at: number, spanMs: number, withUsers = true): Rollup {
  const flags = reader.byte();
  const full = (flags & FULL) !== 0;
  const count = full ? 1 : reader.number();
  const groups: RollupGroup[] = [];
  for (let left = count; left > 0; left--) {
    const code = reader.number();
    const levels: Level[] = [];
    let used = 0;
    let rest = spanMs;
    for (let more = reader.number(); more > 0; more--) {
      used += reader.number();
      const ms = full && more === 1 ? rest : reader.number();
      rest -= ms;
      levels.push([used, ms]);
    }
    groups.push({ total: code > UNLIMITED ? code - 2 : null, unlimited: code === UNLIMITED, levels });
  }
  const total = groups.length > 1 ? asOptional(reader.number()) : (groups[0]?.total ?? null);
  const until = (flags & TO_THE_END) !== 0 ? spanMs : reader.number();
  const users: number[] = [];
  let user = 0;
  for (let left = reader.number(); left > 0; left--) {
    user += reader.number();
    if (withUsers) users.push(user);
  }
  const denials = (flags & DENIALS) !== 0 ? reader.number() : null;
  return { groups, total, coveredUntil: groups.length === 0 ? null : at + until, users, denials };
}

function skipBody(reader: ByteReader): void {
  unpackBody(reader, 0, HOUR_MS);
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

function asOptional(value: number): number | null {
  return value === 0 ? null : value - 1;
}
