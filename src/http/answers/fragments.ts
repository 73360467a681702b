import type { ServerPicture } from "../../domain/picture.ts";
import { encode } from "./answers.ts";

const COMMA = encode(",");

/**
 * Something made of one server's picture and kept as long as the picture lives. Pictures are immutable, so a poll
 * of one server makes only that server's part anew.
 */
export function perPicture<T>(make: (picture: ServerPicture) => T): (picture: ServerPicture) => T {
  const kept = new WeakMap<ServerPicture, { readonly value: T }>();
  return (picture) => {
    let found = kept.get(picture);
    if (found === undefined) {
      found = { value: make(picture) };
      kept.set(picture, found);
    }
    return found.value;
  };
}

/** Rows of a JSON list without its brackets. */
export function serialiseRows(rows: readonly unknown[]): Uint8Array<ArrayBuffer> {
  return encode(JSON.stringify(rows).slice(1, -1));
}

/** `head`, the parts that are not empty with commas between, `tail`. */
export function joinFragments(
  head: string,
  parts: readonly Uint8Array<ArrayBuffer>[],
  tail: string,
): Uint8Array<ArrayBuffer> {
  const pieces: Uint8Array<ArrayBuffer>[] = [encode(head)];
  for (const part of parts) {
    if (part.byteLength === 0) continue;
    if (pieces.length > 1) pieces.push(COMMA);
    pieces.push(part);
  }
  pieces.push(encode(tail));
  return Buffer.concat(pieces);
}
