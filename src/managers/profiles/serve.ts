import { messageOf } from "../../domain/error-code.ts";
import { createKnownHosts, type ParseContext } from "../manager.ts";
import type { Profile } from "../profile.ts";
import { readOutputSync } from "../read-output.ts";
import { piecesOf } from "./pieces.ts";
import { type ProfileParser, profileReader } from "./reader.ts";

/** An answer to be read by a profile. */
export interface ParseOrder {
  readonly id: number;
  readonly profile: Profile;
  readonly bytes: Uint8Array;
  /** The answer goes on unseen, or may be cut. */
  readonly truncated: boolean;
  readonly context: Omit<ParseContext, "knownHosts">;
  /**
   * Three 32-bit numbers that are kept up to date: the expression that is tried, the line that it is tried on, and
   * whether the answer is begun.
   */
  readonly progress: SharedArrayBuffer;
}

/** Comes in parts, the last of which has `isLast`. */
export type ParseAnswer =
  | { readonly id: number; readonly pieces: readonly string[]; readonly isLast: boolean }
  | { readonly id: number; readonly failure: string };

/** Pieces in one part: taken over in a millisecond or two. */
const AT_ONCE = 32;

/** Compiled profiles that are kept: more than a site has. */
const MAX_KEPT = 64;

/** The worker's side: profiles stay compiled from answer to answer. Never throws, unless `send` does. */
export function createParsingService(send: (answer: ParseAnswer) => void): (order: ParseOrder) => void {
  const readers = new Map<string, ProfileParser>();

  return ({ id, profile, bytes, truncated, context, progress }) => {
    const place = new Int32Array(progress);
    place[2] = 1;
    try {
      const key = JSON.stringify(profile);
      if (readers.size >= MAX_KEPT && !readers.has(key)) readers.clear();
      const reader = readers.getOrInsertComputed(key, () => profileReader(profile));
      const parser = reader({ ...context, knownHosts: createKnownHosts() }, (expression, line) => {
        place[0] = expression;
        place[1] = line;
      });
      const pieces = piecesOf(readOutputSync(bytes, parser, truncated));
      for (let from = 0; from < pieces.length; from += AT_ONCE) {
        const part = pieces.slice(from, from + AT_ONCE);
        send({ id, pieces: part, isLast: from + AT_ONCE >= pieces.length });
      }
    } catch (error) {
      send({ id, failure: messageOf(error) });
    }
  };
}
