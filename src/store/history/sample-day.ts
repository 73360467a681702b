import type { Step } from "../../domain/history.ts";
import { type ByteReader, createByteReader, createByteWriter } from "./bytes.ts";
import { HOUR_MS } from "./spans.ts";

/**
 * A feature's samples of one UTC day as bytes: a segment for each hour that has any, `hour, count, samples`. A sample
 * is the time since the one before (or since the hour began), a byte of flags, and what differs from the one before.
 * Each segment stands alone, so that an hour is added without reading the others.
 */

const USED_UNKNOWN = 1;
const TOTAL = 2;
const RESERVED = 4;
const QUEUED = 8;
const UNLIMITED = 16;

export interface HourOfSamples {
  /** 0–23, UTC. */
  readonly hour: number;
  /** Ascending by time. */
  readonly samples: readonly Step[];
}

/** One segment; `dayAt` is the day's begin. */
export function packHour(dayAt: number, { hour, samples }: HourOfSamples): Uint8Array {
  const writer = createByteWriter();
  writer.byte(hour);
  writer.number(samples.length);
  let at = dayAt + hour * HOUR_MS;
  let used = 0;
  let total: number | null = null;
  let reserved: number | null = null;
  let queued: number | null = null;
  for (const sample of samples) {
    writer.number(sample.at - at);
    writer.byte(
      (sample.used === null ? USED_UNKNOWN : 0) |
        (sample.total === total ? 0 : TOTAL) |
        (sample.reserved === reserved ? 0 : RESERVED) |
        (sample.queued === queued ? 0 : QUEUED) |
        (sample.unlimited ? UNLIMITED : 0),
    );
    if (sample.used !== null) {
      writer.signed(sample.used - used);
      used = sample.used;
    }
    if (sample.total !== total) writer.number(optional(sample.total));
    if (sample.reserved !== reserved) writer.number(optional(sample.reserved));
    if (sample.queued !== queued) writer.number(optional(sample.queued));
    ({ at, total, reserved, queued } = sample);
  }
  return writer.take();
}

/** Every segment of a day, in the order in which they were packed. */
export function unpackDay(dayAt: number, data: Uint8Array): HourOfSamples[] {
  const reader = createByteReader(data);
  const hours: HourOfSamples[] = [];
  while (reader.left > 0) {
    const hour = reader.byte();
    hours.push({ hour, samples: unpackHour(reader, dayAt + hour * HOUR_MS) });
  }
  return hours;
}

/** The samples of a day, ascending. */
export function samplesOfDay(dayAt: number, data: Uint8Array): Step[] {
  return unpackDay(dayAt, data).flatMap(({ samples }) => samples);
}

/** The day with an hour put in its place, whether it had one before or not. An hour without samples is left out. */
export function withHour(dayAt: number, data: Uint8Array | null, added: HourOfSamples): Uint8Array {
  const before = data === null ? [] : unpackDay(dayAt, data);
  const last = before.at(-1);
  if (data !== null && (last === undefined || last.hour < added.hour)) {
    return added.samples.length === 0 ? data : concat([data, packHour(dayAt, added)]);
  }
  const hours = [...before.filter(({ hour }) => hour !== added.hour), added]
    .filter(({ samples }) => samples.length > 0)
    .sort((a, b) => a.hour - b.hour);
  return concat(hours.map((hour) => packHour(dayAt, hour)));
}

export function concat(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function unpackHour(reader: ByteReader, hourAt: number): Step[] {
  const samples: Step[] = [];
  let at = hourAt;
  let lastUsed = 0;
  let total: number | null = null;
  let reserved: number | null = null;
  let queued: number | null = null;
  for (let left = reader.number(); left > 0; left--) {
    at += reader.number();
    const flags = reader.byte();
    let used: number | null = null;
    if ((flags & USED_UNKNOWN) === 0) {
      lastUsed += reader.signed();
      used = lastUsed;
    }
    if ((flags & TOTAL) !== 0) total = asOptional(reader.number());
    if ((flags & RESERVED) !== 0) reserved = asOptional(reader.number());
    if ((flags & QUEUED) !== 0) queued = asOptional(reader.number());
    samples.push({ at, total, used, reserved, queued, unlimited: (flags & UNLIMITED) !== 0 });
  }
  return samples;
}

function optional(value: number | null): number {
  return value === null ? 0 : value + 1;
}

function asOptional(value: number): number | null {
  return value === 0 ? null : value - 1;
}
