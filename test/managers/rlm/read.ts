import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Reading } from "../../../src/domain/reading.ts";
import { type ReadOptions, readAs } from "../read-as.ts";

/** Current time in the tests: some minutes after the fixtures were printed. */
export const NOW = Date.UTC(2025, 5, 4, 9, 45);

export const parse = (text: string | Uint8Array, options: ReadOptions = {}): Reading =>
  readAs("rlm", text, { now: NOW, ...options });

export function fixture(name: string): string {
  return readFileSync(join(import.meta.dir, "../../fixtures/rlm", name), "utf8");
}

/** Summarizes each feature as `daemon/product`, total, used, reserved, consistency. */
export function summary(reading: Reading): string[] {
  return reading.features.map(
    (f) =>
      `${f.daemon}/${f.name} ${f.unlimited ? "unlimited" : f.total}/${f.used} reserved ${f.reserved ?? null} ` +
      `pools ${f.pools.length} seats ${f.checkouts.reduce((sum, { count }) => sum + count, 0)} ${f.consistency}`,
  );
}
