import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Reading } from "../../../src/domain/reading.ts";
import { lmx } from "../../../src/managers/lmx/index.ts";
import { type ReadOptions, readAs } from "../read-as.ts";

export const ZONE = "Europe/Berlin";
export const FIXTURES = ["in-use", "units", "several-servers", "unreachable", "none-available"].map(
  (name) => `${name}.txt`,
);

export const parse = (text: string | Uint8Array, options: ReadOptions = {}): Reading =>
  readAs("lmx", text, { zone: ZONE, ...options });

export const render = (reading: Reading, step?: string): string =>
  lmx.render(reading, { address: "6200@lic", zone: ZONE, ...(step !== undefined && { step }) });

export function fixture(name: string): string {
  return readFileSync(join(import.meta.dir, "../../fixtures/lmx", name), "utf8");
}

/** Summarizes each feature as `daemon/feature`, used, total, unit, consistency. */
export function summary(reading: Reading): string[] {
  return reading.features.map(
    (f) =>
      `${f.daemon}/${f.name} ${f.used}/${f.unlimited ? "unlimited" : f.total} ${f.unit ?? "seats"} ` +
      `${f.checkouts.map(({ user, count }) => `${user} ${count}`).join(", ") || "-"} ${f.consistency}`,
  );
}
