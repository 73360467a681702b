import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type fc from "fast-check";
import type { Reading } from "../../src/domain/reading.ts";
import type { ManagerName } from "../../src/domain/words.ts";
import type { ParseContext } from "../../src/managers/manager.ts";
import * as dsls from "./dsls/arbitrary-reading.ts";
import { arbitraryReading as flexnetReading } from "./flexnet/arbitrary-reading.ts";
import { NOW as FLEXNET_NOW } from "./flexnet/read.ts";
import { arbitraryReading as lmxReading } from "./lmx/arbitrary-reading.ts";
import * as rlm from "./rlm/arbitrary-reading.ts";
import { arbitraryReading as rmsReading } from "./rms/arbitrary-reading.ts";

const ZONE = "Europe/Berlin";

/** Input of the contract suite that depends on the manager. Managers in code need one, profiles do not. */
export interface ContractCase {
  /** Any readings that the tool can print, each with the zone of its text. */
  readonly readings: fc.Arbitrary<{ readonly reading: Reading; readonly zone: string }>;
  readonly address: string;
  readonly context: Pick<ParseContext, "zone"> & Partial<ParseContext>;
  /** Fixtures that are not complete outputs, so that printing their reading does not restore it. */
  readonly unprintable?: readonly string[];
  /** Fixtures whose end cannot be detected between two pools. */
  readonly endless?: readonly string[];
  /** The parser detects any missing line, and outputs without features. */
  readonly detectsMissingLines?: true;
}

export const CASES: Readonly<Record<ManagerName, ContractCase>> = {
  flexnet: {
    readings: flexnetReading,
    address: "27000@lic",
    context: { zone: "UTC", now: FLEXNET_NOW },
    unprintable: ["two-lmgrds.txt"],
  },
  rlm: {
    readings: rlm.arbitraryReading.map((reading) => ({ reading, zone: rlm.ZONE })),
    address: "5053@lic",
    context: { zone: rlm.ZONE, now: Date.UTC(2025, 5, 4, 9, 45) },
  },
  dsls: {
    readings: dsls.arbitraryReading.map((reading) => ({ reading, zone: dsls.ZONE })),
    address: "4084@lic",
    context: { zone: dsls.ZONE, step: "4084@lic-shape" },
    unprintable: ["glued.txt", "text.txt", "not-ready.txt"],
    endless: ["stdin.txt"],
  },
  lmx: {
    readings: lmxReading.map((reading) => ({ reading, zone: ZONE })),
    address: "6200@lic",
    context: { zone: ZONE },
    detectsMissingLines: true,
  },
  rms: {
    readings: rmsReading.map((reading) => ({ reading, zone: ZONE })),
    address: "lic1",
    context: { zone: ZONE },
    detectsMissingLines: true,
  },
};

const FIXTURES = join(import.meta.dir, "../fixtures");
/** Folders of `test/fixtures` with the outputs of a manager, besides the one with its name. */
const FOLDERS: Readonly<Record<ManagerName, readonly string[]>> = {
  lsdyna: ["published/lsdyna"],
  olicense: ["published/olicense"],
};

/** Returns the outputs of a manager by file name. */
export function outputsOf(manager: ManagerName): readonly (readonly [name: string, text: string])[] {
  return [manager, ...(FOLDERS[manager] ?? [])]
    .map((folder) => join(FIXTURES, folder))
    .filter((folder) => existsSync(folder))
    .flatMap((folder) =>
      readdirSync(folder)
        .filter((name) => name.endsWith(".txt") && name !== "debug-log.txt")
        .map((name) => [name, readFileSync(join(folder, name), "utf8")] as const),
    );
}
