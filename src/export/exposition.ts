import type { ServerPicture, Snapshot } from "../domain/picture.ts";
import { createSlices } from "../domain/time/slices.ts";
import { braces, type Emit, end, type Family, head, type Labels, line, type TextFormat } from "./family.ts";
import { emitServer } from "./server-metrics.ts";

/** The metrics of a snapshot and of the daemon as text. */
export interface Exposition {
  render(
    snapshot: Snapshot,
    service: (emit: Emit) => void,
    format: TextFormat,
  ): Promise<Uint8Array<ArrayBuffer>>;
}

/** Lines of one server, by their family. */
type Fragments = ReadonlyMap<Family, Uint8Array>;

const encoder = new TextEncoder();

/**
 * Keeps each server's lines as long as its picture lives: a scrape writes those servers anew that were polled since.
 *
 * Own code, 40 lines of it: prom-client 15.1 keeps every series in registers of its own, which must be filled from the
 * snapshot and written at each scrape in one go; 5,000 features held the event loop up for 100 to 140 ms.
 */
export function createExposition(): Exposition {
  const kept = new WeakMap<ServerPicture, Fragments>();
  const inSlices = createSlices();
  /** One scrape writes at a time: the next one finds what it wrote. */
  let writing: Promise<void> = Promise.resolve();

  function* write(picture: ServerPicture): Generator<void> {
    const { families, emit } = createLines();
    yield* emitServer(picture, emit);
    const fragments = new Map<Family, Uint8Array>();
    for (const [family, lines] of families) {
      fragments.set(family, encoder.encode(lines.join("")));
      yield;
    }
    kept.set(picture, fragments);
  }

  function* writeMissing(snapshot: Snapshot): Generator<void> {
    for (const picture of snapshot.servers) if (!kept.has(picture)) yield* write(picture);
  }

  return {
    async render(snapshot, service, format) {
      const parts = new Map<Family, Uint8Array[]>();
      const add = (family: Family, bytes: Uint8Array) => {
        const known = parts.get(family);
        if (known === undefined) parts.set(family, [bytes]);
        else known.push(bytes);
      };
      const turn = () => inSlices(writeMissing(snapshot));
      writing = writing.then(turn, turn);
      await writing;
      for (const picture of snapshot.servers) {
        for (const [family, bytes] of kept.get(picture) ?? []) add(family, bytes);
      }
      const { families, emit } = createLines();
      service(emit);
      for (const [family, lines] of families) add(family, encoder.encode(lines.join("")));
      const pieces = [...parts].flatMap(([family, list]) => [encoder.encode(head(family, format)), ...list]);
      return joined([...pieces, encoder.encode(end(format))]);
    },
  };
}

/** Puts samples together by family, as both formats want them. */
function createLines(): { readonly families: ReadonlyMap<Family, readonly string[]>; readonly emit: Emit } {
  const families = new Map<Family, string[]>();
  // A feature's families share their labels.
  let last: { readonly labels: Labels; readonly braced: string } | null = null;
  return {
    families,
    emit(family, labels, value, suffix) {
      if (last?.labels !== labels) last = { labels, braced: braces(labels) };
      const text = line(family, last.braced, value, suffix);
      const lines = families.get(family);
      if (lines === undefined) families.set(family, [text]);
      else lines.push(text);
    },
  };
}

function joined(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(pieces.reduce((sum, { byteLength }) => sum + byteLength, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.byteLength;
  }
  return whole;
}
