import type { Snapshot } from "../../domain/picture.ts";
import type { Emit, Labels } from "../family.ts";
import { emitServer } from "../server-metrics.ts";

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

/**
 * Bytes as a text with one character for each. A site has tens of thousands of series, and as keys of a set these take
 * a quarter of what arrays of bytes would.
 */
type ByteText = string;

/** A series with its sample. */
export interface SeriesSample {
  /** The labels' fields, sorted by name: see {@link encodeLabel}. */
  readonly labels: ByteText;
  readonly value: number | typeof STALE;
}

const VARINT = 0;
const FIXED64 = 1;
const LENGTH = 2;

/** The field of one label. */
export function encodeLabel(name: string, value: string): ByteText {
  const label = field(1, utf8(name)) + field(2, utf8(value));
  return field(1, label);
}

/** Labels as the receiver wants them: sorted by name, without empty values. Names must differ. */
export function sortedLabels(labels: Labels): Labels {
  return labels.filter(([, value]) => value !== "").toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/** A WriteRequest of samples of one moment, epoch ms. */
export function encodeRequest(samples: readonly SeriesSample[], at: number): Uint8Array<ArrayBuffer> {
  const sampleLength = 1 + 8 + 1 + varint(at).length;
  const lengthOf = ({ labels }: SeriesSample) => labels.length + 2 + sampleLength;
  const whole = samples.reduce((sum, sample) => {
    const length = lengthOf(sample);
    return sum + 1 + varint(length).length + length;
  }, 0);
  const out = Buffer.alloc(whole);
  const timestamp = key(2, VARINT) + varint(at);
  let end = 0;
  for (const sample of samples) {
    const head = key(1, LENGTH) + varint(lengthOf(sample)) + sample.labels;
    end += out.write(head + key(2, LENGTH) + varint(sampleLength) + key(1, FIXED64), end, "latin1");
    if (sample.value === STALE) {
      // As integers: a NaN that goes through a number may lose its bits.
      out.writeUInt32LE(0x0000_0002, end);
      out.writeUInt32LE(0x7ff0_0000, end + 4);
    } else out.writeDoubleLE(sample.value, end);
    end += 8;
    end += out.write(timestamp, end, "latin1");
  }
  return new Uint8Array(out.buffer, out.byteOffset, end);
}

function field(number: number, bytes: ByteText): ByteText {
  return key(number, LENGTH) + varint(bytes.length) + bytes;
}

function key(number: number, kind: number): ByteText {
  return String.fromCharCode(number * 8 + kind);
}

function varint(value: number): ByteText {
  let text = "";
  // Times need 41 bits: shifts of 32 would cut them.
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) text += String.fromCharCode((rest % 0x80) | 0x80);
  return text + String.fromCharCode(rest);
}

function utf8(text: string): ByteText {
  return /^[\x00-\x7f]*$/.test(text) ? text : Buffer.from(text).toString("latin1");
}

/** Remembers which series were told, so that each that ends is told to have ended: once. */
interface SeriesBook {
  /**
   * Gathers the samples of one moment into `into`, step by step; ended series come last. `external` labels are added
   * where a series has none of that name, as Prometheus does it.
   */
  gather(
    snapshot: Snapshot,
    service: (emit: Emit) => void,
    external: Labels,
    into: SeriesSample[],
  ): Generator<void>;
}

const NAME = "__name__";
/** Series that have ended are gone through in steps of so many. */
const STEP = 1_000;

export function createSeriesBook(): SeriesBook {
  let told: ReadonlySet<ByteText> = new Set();
  const names = new Map<string, ByteText>();

  function nameField(name: string): ByteText {
    let known = names.get(name);
    if (known === undefined) {
      known = encodeLabel(NAME, name);
      names.set(name, known);
    }
    return known;
  }

  return {
    *gather(snapshot, service, external, into) {
      const now = new Set<ByteText>();
      // A feature's families share their labels: what is sorted before the name, and what behind it.
      let last: { readonly of: Labels; readonly before: ByteText; readonly behind: ByteText } | null = null;
      const emit: Emit = (family, labels, value, suffix) => {
        if (last?.of !== labels) last = { of: labels, ...aroundName(labels, external) };
        const series = last.before + nameField(family.name + (suffix ?? "")) + last.behind;
        now.add(series);
        into.push({ labels: series, value });
      };
      for (const picture of snapshot.servers) {
        yield* emitServer(picture, emit);
        yield;
      }
      service(emit);
      yield;
      let count = 0;
      for (const series of told) {
        if (!now.has(series)) into.push({ labels: series, value: STALE });
        if (++count % STEP === 0) yield;
      }
      told = now;
    },
  };
}

function aroundName(labels: Labels, external: Labels): { before: ByteText; behind: ByteText } {
  const own = new Set(labels.map(([label]) => label));
  let before = "";
  let behind = "";
  for (const [name, value] of sortedLabels([...labels, ...external.filter(([label]) => !own.has(label))])) {
    if (name < NAME) before += encodeLabel(name, value);
    else behind += encodeLabel(name, value);
  }
  return { before, behind };
}
