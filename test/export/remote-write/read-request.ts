import protobuf from "protobufjs";

const { root } = protobuf.parse(`
  syntax = "proto3";
  message WriteRequest { repeated TimeSeries timeseries = 1; }
  message TimeSeries { repeated Label labels = 1; repeated Sample samples = 2; }
  message Label { string name = 1; string value = 2; }
  message Sample { double value = 1; int64 timestamp = 2; }
`);
const WriteRequest = root.lookupType("WriteRequest");

export interface ReadSeries {
  readonly labels: readonly (readonly [name: string, value: string])[];
  readonly value: number;
  readonly timestamp: number;
}

/** Decodes an uncompressed request like a receiver. Throws for an invalid message. */
export function readRequest(bytes: Uint8Array): ReadSeries[] {
  const options = { longs: Number, defaults: true };
  const { timeseries = [] } = WriteRequest.toObject(WriteRequest.decode(bytes), options) as {
    timeseries?: { labels: { name: string; value: string }[]; samples: Omit<ReadSeries, "labels">[] }[];
  };
  return timeseries.map(({ labels, samples }) => {
    const [sample, ...more] = samples;
    if (sample === undefined || more.length > 0) throw new Error(`${samples.length} samples in a series`);
    return { labels: labels.map(({ name, value }) => [name, value] as const), ...sample };
  });
}

/** Formats `name{label=value}`. */
export function nameOf({ labels }: ReadSeries): string {
  const { __name__: name, ...rest } = Object.fromEntries(labels);
  return `${name}{${Object.entries(rest)
    .map(([label, value]) => `${label}=${value}`)
    .join(",")}}`;
}
