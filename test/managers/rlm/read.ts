import type { Reading } from "../../../src/domain/reading.ts";
import { outputsOf } from "../read-as.ts";

/** Current time in the tests: some minutes after the fixtures were printed. */
export const NOW = Date.UTC(2025, 5, 4, 9, 45);

export const { parse, fixture } = outputsOf("rlm", { now: NOW });

/** Summarizes each feature as `daemon/product`, total, used, reserved, consistency. */
export function summary(reading: Reading): string[] {
  return reading.features.map(
    (f) =>
      `${f.daemon}/${f.name} ${f.unlimited ? "unlimited" : f.total}/${f.used} reserved ${f.reserved ?? null} ` +
      `pools ${f.pools.length} seats ${f.checkouts.reduce((sum, { count }) => sum + count, 0)} ${f.consistency}`,
  );
}
