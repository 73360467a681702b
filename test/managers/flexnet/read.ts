import { readFileSync } from "node:fs";
import type { FeatureReading, Reading } from "../../../src/domain/reading.ts";
import { type ReadOptions, readAs } from "../read-as.ts";

/** Current time in the tests. It is long after every fixture, so years can come only from the banner. */
export const NOW = Date.UTC(2026, 5, 1, 12);

export const readText = (text: string | Uint8Array, options: ReadOptions = {}): Reading =>
  readAs("flexnet", text, { now: NOW, ...options });

export function fixture(name: string): string {
  return readFileSync(new URL(`../../fixtures/flexnet/${name}.txt`, import.meta.url), "utf8");
}

/** Returns the feature with this name. Throws if it is missing. */
export function featureOf(reading: Reading, name: string, daemon?: string): FeatureReading {
  const found = reading.features.find(
    (feature) => feature.name === name && (daemon === undefined || feature.daemon === daemon),
  );
  if (found === undefined) throw new Error(`no feature ${name} in the reading`);
  return found;
}

/** Returns a complete output of one server and one daemon with these lines. */
export function around(lines: readonly string[], banner = "Fri 10/20/2017 17:02"): string {
  return `${[
    "lmutil - Copyright (c) 1989-2016 Flexera Software LLC. All Rights Reserved.",
    `Flexible License Manager status on ${banner}`,
    "",
    "License server status: 27000@lic",
    "    License file(s) on lic: /opt/license.lic:",
    "",
    "lic: license server UP (MASTER) v11.13.0",
    "",
    "Vendor daemon status (on lic):",
    "",
    "    vend: UP v11.13.1",
    "Feature usage info:",
    "",
    ...lines,
  ].join("\n")}\n`;
}

/** Returns a block of a single pool with these lines. */
export function block(name: string, used: number, lines: readonly string[], total = 100): string[] {
  return [
    `Users of ${name}:  (Total of ${total} licenses issued;  Total of ${used} licenses in use)`,
    "",
    `  "${name}" v1.0, vendor: vend`,
    "  floating license",
    "",
    ...lines,
    "",
  ];
}
