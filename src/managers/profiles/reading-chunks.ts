import type { CheckoutReading, FeatureReading, Reading } from "../../domain/reading.ts";

/** Maximum number of rows of users per chunk. Parsing a chunk takes well under a millisecond. */
const ROWS = 500;

/**
 * Splits a reading into JSON texts. A structured clone of 200,000 checkouts would block the receiver's
 * event loop for half a second.
 */
export function chunksOf(reading: Reading): string[] {
  const pieces = [JSON.stringify({ ...reading, features: [] })];
  for (const { checkouts, ...feature } of reading.features) {
    pieces.push(JSON.stringify({ ...feature, checkouts: checkouts.slice(0, ROWS) }));
    for (let from = ROWS; from < checkouts.length; from += ROWS)
      pieces.push(JSON.stringify(checkouts.slice(from, from + ROWS)));
  }
  return pieces;
}

export function* joinChunks([head = "{}", ...pieces]: readonly string[]): Generator<void, Reading> {
  const features: (FeatureReading & { checkouts: CheckoutReading[] })[] = [];
  for (const piece of pieces) {
    const part: (typeof features)[number] | CheckoutReading[] = JSON.parse(piece);
    if (!Array.isArray(part)) features.push(part);
    else features.at(-1)?.checkouts.push(...part);
    yield;
  }
  return { ...JSON.parse(head), features };
}
