import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Reading } from "../../../src/domain/reading.ts";
import { createKnownHosts } from "../../../src/managers/manager.ts";
import { readOutputSync } from "../../../src/managers/read-output.ts";
import { rlm } from "../../../src/managers/rlm/index.ts";

/** Reference clock of the tests: some minutes after the fixtures were "printed". */
export const NOW = Date.UTC(2025, 5, 4, 9, 45);

export function parse(text: string | Uint8Array, options: { zone?: string; now?: number } = {}): Reading {
  const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
  const parser = rlm.createParser({
    zone: options.zone ?? "UTC",
    now: options.now ?? NOW,
    knownHosts: createKnownHosts(),
  });
  return readOutputSync(bytes, parser);
}

export function fixture(name: string): string {
  return readFileSync(join(import.meta.dir, "../../fixtures/rlm", name), "utf8");
}

/** `daemon/product` → total, used, reserved, consistency: one line a feature. */
export function summary(reading: Reading): string[] {
  return reading.features.map(
    (f) =>
      `${f.daemon}/${f.name} ${f.unlimited ? "unlimited" : f.total}/${f.used} reserved ${f.reserved ?? null} ` +
      `pools ${f.pools.length} seats ${f.checkouts.reduce((sum, { count }) => sum + count, 0)} ${f.consistency}`,
  );
}
