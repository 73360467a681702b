import { messageOf } from "../../domain/error-code.ts";
import type { CheckoutReading, FeatureReading, Reading } from "../../domain/reading.ts";
import { createKnownHosts, type ParseContext } from "../manager.ts";
import type { Profile } from "../profile.ts";
import { readOutputSync } from "../read-output.ts";
import { type ProfileParser, profileReader } from "./profile-manager.ts";

/** An answer to be read by a profile. */
export interface ParseOrder {
  readonly id: number;
  readonly profile: Profile;
  readonly bytes: Uint8Array;
  /** The answer goes on unseen, or may be cut. */
  readonly truncated: boolean;
  readonly context: Omit<ParseContext, "knownHosts">;
  /** Two 32-bit numbers that are kept up to date: the expression that is tried, and the line that it is tried on. */
  readonly progress: SharedArrayBuffer;
}

export type ParseAnswer =
  | { readonly id: number; readonly pieces: readonly string[] }
  | { readonly id: number; readonly failure: string };

/** Compiled profiles that are kept: more than a site has. */
const MAX_KEPT = 64;

/** The worker's side: profiles stay compiled from answer to answer. Never throws. */
export function createParsingService(): (order: ParseOrder) => ParseAnswer {
  const readers = new Map<string, ProfileParser>();

  return ({ id, profile, bytes, truncated, context, progress }) => {
    const place = new Int32Array(progress);
    try {
      const key = JSON.stringify(profile);
      if (readers.size >= MAX_KEPT && !readers.has(key)) readers.clear();
      const reader = readers.getOrInsertComputed(key, () => profileReader(profile));
      const parser = reader({ ...context, knownHosts: createKnownHosts() }, (expression, line) => {
        place[0] = expression;
        place[1] = line;
      });
      return { id, pieces: piecesOf(readOutputSync(bytes, parser, truncated)) };
    } catch (error) {
      return { id, failure: messageOf(error) };
    }
  };
}

/** Rows of people in one piece: it is read in well under a millisecond. */
const ROWS = 500;

/**
 * A reading as JSON in pieces, which the other side puts together in steps: a structured clone of 200,000 checkouts would
 * hold its event loop for half a second.
 */
function piecesOf(reading: Reading): string[] {
  const pieces = [JSON.stringify({ ...reading, features: [] })];
  for (const { checkouts, ...feature } of reading.features) {
    pieces.push(JSON.stringify({ ...feature, checkouts: checkouts.slice(0, ROWS) }));
    for (let from = ROWS; from < checkouts.length; from += ROWS)
      pieces.push(JSON.stringify(checkouts.slice(from, from + ROWS)));
  }
  return pieces;
}

/** Puts the pieces of a reading together, in steps. */
export function* joinPieces([head = "{}", ...pieces]: readonly string[]): Generator<void, Reading> {
  const features: (FeatureReading & { checkouts: CheckoutReading[] })[] = [];
  for (const piece of pieces) {
    const part: (typeof features)[number] | CheckoutReading[] = JSON.parse(piece);
    if (!Array.isArray(part)) features.push(part);
    else features.at(-1)?.checkouts.push(...part);
    yield;
  }
  return { ...JSON.parse(head), features };
}
