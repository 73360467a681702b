import type { Snapshot } from "../../domain/picture.ts";
import type { Emit, Labels } from "../family.ts";
import { emitServer } from "../server-metrics.ts";

/**
 * Encodes messages of Prometheus remote write 1.0 in the protocol buffers wire format, which needs three kinds of fields:
 * https://prometheus.io/docs/specs/prw/remote_write_spec/ and https://protobuf.dev/programming-guides/encoding/
 *
 *   WriteRequest { repeated TimeSeries timeseries = 1; }
 *   TimeSeries   { repeated Label labels = 1; repeated Sample samples = 2; }
 *   Label        { string name = 1; string value = 2; }
 *   Sample       { double value = 1; int64 timestamp = 2; }   // epoch milliseconds
 */
const VARINT = 0;
const FIXED64 = 1;
const LENGTH = 2;

/** Bytes as a string with one character per byte. As keys of a set, tens of thousands of series take a quarter of the memory of byte arrays. */
type ByteText = string;

/** Marks the end of a series: Prometheus recognizes this NaN by its bits (0x7ff0000000000002). */
export const STALE = Symbol("stale");
const STALE_BYTES: ByteText = "\x02\0\0\0\0\0\xf0\x7f";

export interface SeriesSample {
  readonly labels: ByteText;
  readonly value: number | typeof STALE;
}

/** Encodes a WriteRequest with samples of one time, epoch ms. */
export function encodeRequest(samples: readonly SeriesSample[], at: number): Uint8Array<ArrayBuffer> {
  const time = key(2, VARINT) + varint(at);
  const series = samples.map(({ labels, value }) => {
    const bytes = value === STALE ? STALE_BYTES : double(value);
    return field(1, labels + field(2, key(1, FIXED64) + bytes + time));
  });
  return new Uint8Array(Buffer.from(series.join(""), "latin1"));
}

export function encodeLabel(name: string, value: string): ByteText {
  return field(1, field(1, utf8(name)) + field(2, utf8(value)));
}

function field(number: number, bytes: ByteText): ByteText {
  return key(number, LENGTH) + varint(bytes.length) + bytes;
}

function key(number: number, kind: number): ByteText {
  return String.fromCharCode(number * 8 + kind);
}

function varint(value: number): ByteText {
  let text = "";
  // Times need 41 bits, which 32-bit shifts would truncate.
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) text += String.fromCharCode((rest % 0x80) | 0x80);
  return text + String.fromCharCode(rest);
}

const eight = Buffer.alloc(8);

function double(value: number): ByteText {
  eight.writeDoubleLE(value);
  return eight.toString("latin1");
}

function utf8(text: string): ByteText {
  return /^[\x00-\x7f]*$/.test(text) ? text : Buffer.from(text).toString("latin1");
}

/** Sorts labels by name and drops empty values. Names must be unique. */
export function sortedLabels(labels: Labels): Labels {
  return labels.filter(([, value]) => value !== "").toSorted(([a], [b]) => (a < b ? -1 : 1));
}

const NAME = "__name__";

/** Tracks the written series, to mark each that ends exactly once. */
export function createSeriesTracker() {
  let written: ReadonlySet<ByteText> = new Set();
  const names = new Map<string, ByteText>();

  /** Gathers the samples of one time into `into`, step by step; ended series come last. `external` labels are added unless a series has one of that name, as in Prometheus. */
  return function* gather(
    snapshot: Snapshot,
    service: (emit: Emit) => void,
    external: Labels,
    into: SeriesSample[],
  ): Generator<void> {
    const now = new Set<ByteText>();
    // Families of a feature share their labels: those sorted before the name, and those after it.
    let last: { readonly of: Labels; readonly before: ByteText; readonly behind: ByteText } | null = null;
    const emit: Emit = (family, labels, value, suffix) => {
      if (last?.of !== labels) last = { of: labels, ...aroundName(labels, external) };
      const name = family.name + (suffix ?? "");
      const series =
        last.before + names.getOrInsertComputed(name, () => encodeLabel(NAME, name)) + last.behind;
      now.add(series);
      into.push({ labels: series, value });
    };
    for (const picture of snapshot.servers) {
      yield* emitServer(picture, emit);
      yield;
    }
    service(emit);
    yield;
    for (const labels of written.difference(now)) into.push({ labels, value: STALE });
    written = now;
  };
}

function aroundName(labels: Labels, external: Labels): { before: ByteText; behind: ByteText } {
  const own = new Set(labels.map(([label]) => label));
  const all = sortedLabels([...labels, ...external.filter(([label]) => !own.has(label))]);
  const encoded = (part: Labels) => part.map(([name, value]) => encodeLabel(name, value)).join("");
  const isBefore = ([name]: Labels[number]) => name < NAME;
  return { before: encoded(all.filter(isBefore)), behind: encoded(all.filter((one) => !isBefore(one))) };
}
