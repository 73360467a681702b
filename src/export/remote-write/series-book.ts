import type { Snapshot } from "../../domain/picture.ts";
import type { Emit, Labels } from "../family.ts";
import { emitServer } from "../server-metrics.ts";
import { braces } from "../text.ts";
import { encodeLabels, type SeriesSample, STALE } from "./protobuf.ts";

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

/** Series that have ended are gone through in steps of so many. */
const STEP = 1_000;

export function createSeriesBook(): SeriesBook {
  /** Encoded labels of the series told last, by the series as text. */
  let told = new Map<string, Uint8Array>();

  return {
    *gather(snapshot, service, external, into) {
      const now = new Map<string, Uint8Array>();
      const outside = `|${braces(external)}`;
      let last: { readonly labels: Labels; readonly braced: string } | null = null;
      const emit: Emit = (family, labels, value, suffixed) => {
        if (last?.labels !== labels) last = { labels, braced: braces(labels) };
        const name = family.name + (suffixed ?? "");
        const key = name + last.braced + outside;
        const encoded = told.get(key) ?? encodeLabels(wholeLabels(name, labels, external));
        now.set(key, encoded);
        into.push({ labels: encoded, value });
      };
      for (const picture of snapshot.servers) {
        yield* emitServer(picture, emit);
        yield;
      }
      service(emit);
      yield;
      let count = 0;
      for (const [key, labels] of told) {
        if (!now.has(key)) into.push({ labels, value: STALE });
        if (++count % STEP === 0) yield;
      }
      told = now;
    },
  };
}

function wholeLabels(name: string, labels: Labels, external: Labels): Labels {
  const own = new Set(labels.map(([label]) => label));
  return [["__name__", name], ...labels, ...external.filter(([label]) => !own.has(label))];
}
