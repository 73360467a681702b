import type { Labels } from "../family.ts";

/**
 * The message of Prometheus remote write 1.0 in protocol buffers' wire format, written by hand: three kinds of fields.
 * https://prometheus.io/docs/specs/prw/remote_write_spec/ and https://protobuf.dev/programming-guides/encoding/
 *
 *   WriteRequest { repeated TimeSeries timeseries = 1; }
 *   TimeSeries   { repeated Label labels = 1; repeated Sample samples = 2; }
 *   Label        { string name = 1; string value = 2; }
 *   Sample       { double value = 1; int64 timestamp = 2; }   // epoch milliseconds
 */

/** Says that a series has ended: the one NaN that Prometheus tells from all others by its bits. */
export const STALE = Symbol("stale");

/** A series with its sample. `labels` is made by {@link encodeLabels}. */
export interface SeriesSample {
  readonly labels: Uint8Array;
  readonly value: number | typeof STALE;
}

const encoder = new TextEncoder();

/** Labels as the fields of a TimeSeries: sorted by name, each name once, without empty values, as the receiver wants. */
export function encodeLabels(labels: Labels): Uint8Array<ArrayBuffer> {
  const fields = labels
    .filter(([, value]) => value !== "")
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => {
      const label = [encoder.encode(name), encoder.encode(value)] as const;
      const length = label.reduce((sum, { length: own }) => sum + 1 + varintLength(own) + own, 0);
      return { label, length };
    });
  const writer = createWriter(fields.reduce((sum, { length }) => sum + 1 + varintLength(length) + length, 0));
  for (const { label, length } of fields) {
    writer.key(1, LENGTH);
    writer.varint(length);
    for (const [index, text] of label.entries()) {
      writer.key(index + 1, LENGTH);
      writer.varint(text.length);
      writer.bytes(text);
    }
  }
  return writer.done();
}

/** A WriteRequest of samples of one moment, epoch ms. */
export function encodeRequest(samples: readonly SeriesSample[], at: number): Uint8Array<ArrayBuffer> {
  const sampleLength = 1 + 8 + 1 + varintLength(at);
  const lengthOf = ({ labels }: SeriesSample) =>
    labels.length + 1 + varintLength(sampleLength) + sampleLength;
  const whole = samples.reduce((sum, sample) => {
    const length = lengthOf(sample);
    return sum + 1 + varintLength(length) + length;
  }, 0);
  const writer = createWriter(whole);
  for (const sample of samples) {
    writer.key(1, LENGTH);
    writer.varint(lengthOf(sample));
    writer.bytes(sample.labels);
    writer.key(2, LENGTH);
    writer.varint(sampleLength);
    writer.key(1, FIXED64);
    writer.double(sample.value);
    writer.key(2, VARINT);
    writer.varint(at);
  }
  return writer.done();
}

const VARINT = 0;
const FIXED64 = 1;
const LENGTH = 2;

function createWriter(length: number) {
  const out = new Uint8Array(length);
  const view = new DataView(out.buffer);
  let at = 0;
  const varint = (value: number): void => {
    // Times need 41 bits: shifts of 32 would cut them.
    let rest = value;
    while (rest >= 0x80) {
      out[at++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    out[at++] = rest;
  };
  return {
    varint,
    key: (field: number, kind: number) => varint(field * 8 + kind),
    bytes(bytes: Uint8Array) {
      out.set(bytes, at);
      at += bytes.length;
    },
    double(value: number | typeof STALE) {
      // As integers: a NaN that goes through a number may lose its bits.
      if (value === STALE) {
        view.setUint32(at, 0x0000_0002, true);
        view.setUint32(at + 4, 0x7ff0_0000, true);
      } else view.setFloat64(at, value, true);
      at += 8;
    },
    done(): Uint8Array<ArrayBuffer> {
      if (at !== length) throw new Error(`${at} bytes were written, not ${length}`);
      return out;
    },
  };
}

function varintLength(value: number): number {
  let length = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) length++;
  return length;
}
