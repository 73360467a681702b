import fc from "fast-check";
import { type Expiry, PERMANENT, type Reading, UNKNOWN_EXPIRY } from "../../src/domain/reading.ts";
import { HOUR_MS } from "../../src/domain/time/clock.ts";
import { endOfDay, offsetAt } from "../../src/domain/time/zone.ts";

export type Value<A> = A extends fc.Arbitrary<infer T> ? T : never;

const UNUSUAL = [
  "<script>",
  "=cmd()",
  "\u202e",
  "\u2028",
  "é",
  "日本",
  "😀",
  "'",
  '"',
  "\\",
  ",",
  ";",
  "@",
  "\t",
];

/** Makes texts without line ends from any words and from `pieces` (separated by `~`), which look like the tool's syntax. */
export function hostileText(pieces: string): fc.Arbitrary<string> {
  const word = fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 });
  return fc
    .array(fc.oneof(word, fc.constantFrom(...pieces.split("~"), ...UNUSUAL)), { minLength: 1, maxLength: 5 })
    .map((parts) => parts.join("").replace(/[\r\n]/g, "_"));
}

/** Removes blanks and tabs at both ends. */
export const trimmed = (text: string) => text.replace(/^[ \t]+|[ \t]+$/g, "");

/**
 * Makes times as printed, up to 300 days before `newest`. A time that occurs twice means its first
 * occurrence.
 */
export function printedTime(zone: string, newest: number, unitMs: number): fc.Arbitrary<number> {
  return fc.nat({ max: (300 * 24 * HOUR_MS) / unitMs }).map((ago) => {
    const at = newest - ago * unitMs;
    return offsetAt(zone, at) < offsetAt(zone, at - HOUR_MS) ? at - HOUR_MS : at;
  });
}

export function expiryIn(zone: string): fc.Arbitrary<Expiry> {
  const day = fc.tuple(
    fc.integer({ min: 2000, max: 2090 }),
    fc.integer({ min: 1, max: 12 }),
    fc.integer({ min: 1, max: 28 }),
  );
  const dated = day.map(([year, month, dayOfMonth]) => ({
    expiresOn: [year, month, dayOfMonth].map((part) => String(part).padStart(2, "0")).join("-"),
    expiresAt: endOfDay(zone, year, month, dayOfMonth),
    permanent: false,
  }));
  return fc.oneof(fc.constant(PERMANENT), fc.constant(UNKNOWN_EXPIRY), dated);
}

export const place = {
  host: fc.stringMatching(/^[a-z][a-z0-9.-]{0,12}$/),
  port: fc.integer({ min: 1, max: 65_535 }),
};

/** Builds the reading of a complete text. */
export function completeReading(
  parts: Omit<Reading, "reportTime" | "unparsedLines" | "unparsed" | "cut" | "recognised"> & Partial<Reading>,
): Reading {
  return { reportTime: null, unparsedLines: 0, unparsed: [], cut: false, recognised: true, ...parts };
}
