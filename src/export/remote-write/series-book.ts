import type { Snapshot } from "../../domain/picture.ts";
import type { Emit, Labels } from "../family.ts";
import { emitServer } from "../server-metrics.ts";
import { type ByteText, encodeLabel, type SeriesSample, STALE, sortedLabels } from "./protobuf.ts";

/** Remembers which series were told, so that each that ends is told to have ended: once. */
export interface SeriesBook {
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
