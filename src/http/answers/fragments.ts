import type { ServerPicture } from "../../domain/picture.ts";
import { encode } from "./answer.ts";

const COMMA = encode(",");

/**
 * Something made of one server's picture and kept as long as the picture lives. Pictures are immutable, so after a poll
 * of one server only that server's part is made again.
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

/** A piece of an answer that is kept as text, with its length in UTF-8. */
export interface TextPiece {
  readonly text: string;
  readonly byteLength: number;
}

export function textPiece(text: string): TextPiece {
  return { text, byteLength: Buffer.byteLength(text) };
}

/** `head`, the parts that are not empty with commas between, `tail`. */
export type Joiner = (
  head: string,
  parts: readonly (Uint8Array | TextPiece)[],
  tail: string,
) => Uint8Array<ArrayBuffer>;

/**
 * Joins into one buffer of its own, which it uses again: what it gives is right until its next call, so one joiner
 * serves one answer. A large site's
 * answer is made again after every poll, and 5 MB of garbage each time was seen to cost pauses of 30 ms.
 * A Response copies the bytes it is made of (Fetch standard, "extract a body"), so answers under way are safe.
 */
export function createJoiner(): Joiner {
  let buffer = Buffer.alloc(0);
  return (head, parts, tail) => {
    const pieces = parts.filter(({ byteLength }) => byteLength > 0);
    const first = encode(head);
    const last = encode(tail);
    const length = pieces.reduce(
      (sum, { byteLength }) => sum + byteLength + 1,
      first.byteLength + last.byteLength,
    );
    if (buffer.byteLength < length) buffer = Buffer.alloc(Math.ceil(length * 1.25));
    let end = 0;
    const put = (piece: Uint8Array | TextPiece) => {
      if (piece instanceof Uint8Array) buffer.set(piece, end);
      else buffer.write(piece.text, end);
      end += piece.byteLength;
    };
    put(first);
    for (const [index, piece] of pieces.entries()) {
      if (index > 0) put(COMMA);
      put(piece);
    }
    put(last);
    return buffer.subarray(0, end);
  };
}
