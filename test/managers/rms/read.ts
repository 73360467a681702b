import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Reading } from "../../../src/domain/reading.ts";
import { rms } from "../../../src/managers/rms/index.ts";
import { type ReadOptions, readAs } from "../read-as.ts";

export const ZONE = "Europe/Berlin";
export const FIXTURES = ["windows", "unix", "unreachable", "no-license"].map((name) => `${name}.txt`);

export const parse = (text: string | Uint8Array, options: ReadOptions = {}): Reading =>
  readAs("rms", text, { zone: ZONE, ...options });

export const render = (reading: Reading): string => rms.render(reading, { address: "lic1", zone: ZONE });

export function fixture(name: string): string {
  return readFileSync(join(import.meta.dir, "../../fixtures/rms", name), "utf8");
}

/** Summarizes each feature as `feature version`, used, total, users, consistency. */
export function summary(reading: Reading): string[] {
  return reading.features.map(
    (f) =>
      `${f.name} ${f.pools[0]?.version} ${f.used}/${f.unlimited ? "unlimited" : f.total} ` +
      `${f.checkouts.map(({ user, count }) => `${user} ${count}`).join(", ") || "-"} ${f.consistency}` +
      `${f.cut ? " cut" : ""}`,
  );
}
