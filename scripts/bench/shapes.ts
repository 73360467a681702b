import { flexnet } from "../../src/managers/flexnet/index.ts";
import { scaleText } from "./scale.ts";

/** When the make-believe reports are made: equal texts in every run. */
export const INSTANT = Date.UTC(2026, 0, 5, 9, 30);

export interface Shape {
  readonly features: number;
  readonly checkouts: number;
  /** Length of the text; names are made longer for it. Absent: as it comes. */
  readonly bytes?: number;
  readonly address?: string;
}

/** What `lmstat -a -i` prints for one server of that size. */
export function lmstatText(shape: Shape): string {
  return scaleText(flexnet, { ...shape, instant: INSTANT, zone: "UTC" });
}

/** A large site's output: 57,000 checkouts in 10 MB, twenty people on a feature. */
export function largeOutput(megabytes: 10 | 20): Uint8Array {
  const checkouts = 5_700 * megabytes;
  return new TextEncoder().encode(
    lmstatText({ features: checkouts / 20, checkouts, bytes: megabytes * 1_000_000 }),
  );
}
