import type { Step } from "../domain/history.ts";
import {
  type Bucket,
  createRollupSum,
  type Rollup,
  type RollupSink,
  type RollupSum,
} from "../domain/stats/rollup.ts";
import { DAY_MS, HOUR_MS } from "../domain/time/clock.ts";

/**
 * Packed history: a feature's samples of a UTC day, its rollups of the day's hours, and its rollup of the
 * day. Non-negative integers take seven bits per byte, lowest first; the high bit means that more follow
 * (LEB128).
 *
 * A day's samples have a segment for each hour with samples: `hour, count, samples`. A sample is the time
 * since the previous one (or since the hour began), a byte of flags, and the differences to the previous one.
 * A day's hours have one record each: a byte for the hour, and its body, or a bit for "same as the previous
 * record", so quiet nights take one byte per hour. Segments and records can be decoded independently.
 */

const USED_UNKNOWN = 1;
const TOTAL = 2;
const RESERVED = 4;
const QUEUED = 8;
const UNLIMITED = 16;

const TO_THE_END = 1;
const DENIALS = 2;
/**
 * Flag: the bucket has one group, whose levels fill the bucket, so the time of the last level is the rest
 * of the bucket.
 */
const FULL = 4;

/** Codes for the total of a group; known totals are stored as total + 2. */
const TOTAL_UNKNOWN = 0;
const TOTAL_UNLIMITED = 1;

const HOUR_BITS = 31;
const SAME_AS_BEFORE = 32;

/** Appends a number. Throws RangeError unless it is an integer from 0 to 2^53 - 1. */
export function putNumber(bytes: number[], value: number): void {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`${value} cannot be packed`);
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  bytes.push(rest);
}

function putOptional(bytes: number[], value: number | null): void {
  putNumber(bytes, value === null ? 0 : value + 1);
}

/** Decodes numbers without allocating per value, because statistics of whole sites spend their time here. */
export class ByteReader {
  constructor(
    private readonly data: Uint8Array,
    public at = 0,
  ) {}

  number(): number {
    const { data } = this;
    let { at } = this;
    let value = data[at++] ?? 0;
    if (value < 128 && at <= data.length) {
      this.at = at;
      return value;
    }
    value -= 128;
    for (let scale = 128; ; scale *= 128) {
      const next = data[at++];
      if (next === undefined) throw new RangeError("packed history ends too early");
      if (next < 128) {
        this.at = at;
        return value + next * scale;
      }
      value += (next - 128) * scale;
    }
  }

  optional(): number | null {
    const value = this.number();
    return value === 0 ? null : value - 1;
  }
}

export function withHour(
  dayAt: number,
  data: Uint8Array | null,
  { hour, samples }: { readonly hour: number; readonly samples: readonly Step[] },
): Uint8Array {
  const hourOf = ({ at }: Step) => Math.floor((at - dayAt) / HOUR_MS);
  const others = data === null ? [] : samplesOfDay(dayAt, data).filter((one) => hourOf(one) !== hour);
  const bytes: number[] = [];
  const all = [...others, ...samples].sort((a, b) => a.at - b.at);
  for (const [of, list] of Map.groupBy(all, hourOf)) {
    bytes.push(of);
    packSamples(bytes, dayAt + of * HOUR_MS, list);
  }
  return Uint8Array.from(bytes);
}

function packSamples(bytes: number[], hourAt: number, samples: readonly Step[]): void {
  putNumber(bytes, samples.length);
  let before: Step = { at: hourAt, used: 0, total: null, reserved: null, queued: null, unlimited: false };
  let lastUsed = 0;
  for (const sample of samples) {
    const { at, used, total, reserved, queued, unlimited } = sample;
    putNumber(bytes, at - before.at);
    bytes.push(
      (used === null ? USED_UNKNOWN : 0) |
        (total === before.total ? 0 : TOTAL) |
        (reserved === before.reserved ? 0 : RESERVED) |
        (queued === before.queued ? 0 : QUEUED) |
        (unlimited ? UNLIMITED : 0),
    );
    if (used !== null) {
      // Zigzag encoding: 0, -1, 1, -2, … as 0, 1, 2, 3, …
      const more = used - lastUsed;
      putNumber(bytes, more < 0 ? -more * 2 - 1 : more * 2);
      lastUsed = used;
    }
    if (total !== before.total) putOptional(bytes, total);
    if (reserved !== before.reserved) putOptional(bytes, reserved);
    if (queued !== before.queued) putOptional(bytes, queued);
    before = sample;
  }
}

export function samplesOfDay(dayAt: number, data: Uint8Array): Step[] {
  const reader = new ByteReader(data);
  const samples: Step[] = [];
  while (reader.at < data.length) {
    let at = dayAt + reader.number() * HOUR_MS;
    let lastUsed = 0;
    let total: number | null = null;
    let reserved: number | null = null;
    let queued: number | null = null;
    for (let left = reader.number(); left > 0; left--) {
      at += reader.number();
      const flags = reader.number();
      if ((flags & USED_UNKNOWN) === 0) {
        const more = reader.number();
        lastUsed += more % 2 === 1 ? -(more + 1) / 2 : more / 2;
      }
      if ((flags & TOTAL) !== 0) total = reader.optional();
      if ((flags & RESERVED) !== 0) reserved = reader.optional();
      if ((flags & QUEUED) !== 0) queued = reader.optional();
      const used = (flags & USED_UNKNOWN) === 0 ? lastUsed : null;
      samples.push({ at, total, used, reserved, queued, unlimited: (flags & UNLIMITED) !== 0 });
    }
  }
  return samples;
}

const SKIP: RollupSink = { level() {}, covered() {}, user() {}, denials() {} };

export function packDayRollup(dayAt: number, rollup: Rollup): Uint8Array {
  return Uint8Array.from(packRollup({ at: dayAt, rollup }, DAY_MS));
}

export function readDayRollup(dayAt: number, data: Uint8Array, sink: RollupSink): void {
  readRollup(new ByteReader(data), dayAt, DAY_MS, sink);
}

/** Adds or replaces an hour. An hour without known counts is left out. */
export function withHourRollup(dayAt: number, data: Uint8Array | null, bucket: Bucket): Uint8Array {
  const others = data === null ? [] : unpackHours(dayAt, data).filter(({ at }) => at !== bucket.at);
  return packHours(dayAt, [...others, bucket]);
}

export function packHours(dayAt: number, hours: readonly Bucket[]): Uint8Array {
  const parts: Uint8Array[] = [];
  let before: Uint8Array | null = null;
  const known = hours.filter(({ rollup }) => rollup.groups.length > 0 || rollup.denials !== null);
  for (const one of known.sort((a, b) => a.at - b.at)) {
    const hour = (one.at - dayAt) / HOUR_MS;
    const body = Uint8Array.from(packRollup(one, HOUR_MS));
    if (before !== null && Buffer.compare(before, body) === 0)
      parts.push(Uint8Array.of(hour | SAME_AS_BEFORE));
    else parts.push(Uint8Array.of(hour), body);
    before = body;
  }
  return Buffer.concat(parts);
}

export function unpackHours(dayAt: number, data: Uint8Array): Bucket[] {
  const sums: { readonly at: number; readonly sum: RollupSum }[] = [];
  readHours(dayAt, data, (at) => {
    const sum = createRollupSum();
    sums.push({ at, sum });
    return sum;
  });
  return sums.map(({ at, sum }) => ({ at, rollup: sum.take() }));
}

/** Hours without a sink are skipped. */
export function readHours(dayAt: number, data: Uint8Array, sinkOf: (at: number) => RollupSink | null): void {
  const reader = new ByteReader(data);
  let body = 0;
  for (let next = 0; next < data.length; ) {
    const head = data[next++] ?? 0;
    const at = dayAt + (head & HOUR_BITS) * HOUR_MS;
    const sink = sinkOf(at);
    const isSame = (head & SAME_AS_BEFORE) !== 0;
    if (!isSame) body = next;
    reader.at = body;
    if (sink !== null || !isSame) readRollup(reader, at, HOUR_MS, sink ?? SKIP);
    if (!isSame) next = reader.at;
  }
}

function packRollup({ at, rollup }: Bucket, spanMs: number): number[] {
  const { groups, total, coveredUntil, users, denials } = rollup;
  const bytes: number[] = [];
  const [only] = groups;
  const full =
    groups.length === 1 && only !== undefined && only.levels.reduce((sum, [, ms]) => sum + ms, 0) === spanMs;
  const toTheEnd = coveredUntil === at + spanMs;
  bytes.push((full ? FULL : 0) | (toTheEnd ? TO_THE_END : 0) | (denials === null ? 0 : DENIALS));
  if (!full) putNumber(bytes, groups.length);
  for (const group of groups) {
    const { levels } = group;
    putNumber(
      bytes,
      group.unlimited ? TOTAL_UNLIMITED : group.total === null ? TOTAL_UNKNOWN : group.total + 2,
    );
    putNumber(bytes, levels.length);
    levels.forEach(([used, ms], index) => {
      putNumber(bytes, used - (levels[index - 1]?.[0] ?? 0));
      if (!full || index < levels.length - 1) putNumber(bytes, ms);
    });
  }
  if (groups.length > 1) putOptional(bytes, total);
  if (!toTheEnd) putNumber(bytes, coveredUntil === null ? 0 : coveredUntil - at);
  putNumber(bytes, users.length);
  users.forEach((user, index) => {
    putNumber(bytes, user - (users[index - 1] ?? 0));
  });
  if (denials !== null) putNumber(bytes, denials);
  return bytes;
}

function readRollup(reader: ByteReader, at: number, spanMs: number, sink: RollupSink): void {
  const flags = reader.number();
  const full = (flags & FULL) !== 0;
  const groups = full ? 1 : reader.number();
  let total: number | null = null;
  for (let group = 0; group < groups; group++) {
    const code = reader.number();
    total = code > TOTAL_UNLIMITED ? code - 2 : null;
    let used = 0;
    let rest = spanMs;
    for (let more = reader.number(); more > 0; more--) {
      used += reader.number();
      const ms = full && more === 1 ? rest : reader.number();
      rest -= ms;
      sink.level(total, code === TOTAL_UNLIMITED, used, ms);
    }
  }
  if (groups > 1) total = reader.optional();
  const until = (flags & TO_THE_END) !== 0 ? spanMs : reader.number();
  if (groups > 0) sink.covered(at + until, total);
  let user = 0;
  for (let left = reader.number(); left > 0; left--) {
    user += reader.number();
    sink.user(user);
  }
  if ((flags & DENIALS) !== 0) sink.denials(reader.number());
}
