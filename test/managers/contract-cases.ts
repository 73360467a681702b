import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type fc from "fast-check";
import type { Reading } from "../../src/domain/reading.ts";
import type { ManagerName } from "../../src/domain/words.ts";
import type { ParseContext } from "../../src/managers/manager.ts";
import * as dsls from "./dsls/arbitrary-reading.ts";
import { arbitraryReading as flexnetReading } from "./flexnet/arbitrary-reading.ts";
import { around, block, NOW as FLEXNET_NOW } from "./flexnet/read.ts";
import { arbitraryReading as lmxReading } from "./lmx/arbitrary-reading.ts";
import * as rlm from "./rlm/arbitrary-reading.ts";
import { arbitraryReading as rmsReading } from "./rms/arbitrary-reading.ts";

const ZONE = "Europe/Berlin";

const FIXTURES = join(import.meta.dir, "../fixtures");
/**
 * Folders of `test/fixtures` with outputs of a manager, in addition to the folder with the manager's name.
 */
const FOLDERS: Readonly<Record<ManagerName, readonly string[]>> = {
  lsdyna: ["published/lsdyna"],
  olicense: ["published/olicense"],
  "beta-lm": ["published/other"],
};

export function outputsIn(manager: ManagerName): readonly (readonly [name: string, text: string])[] {
  return [manager, ...(FOLDERS[manager] ?? [])]
    .map((folder) => join(FIXTURES, folder))
    .filter((folder) => existsSync(folder))
    .flatMap((folder) =>
      readdirSync(folder)
        .filter((name) => name.endsWith(".txt") && name !== "debug-log.txt")
        .map((name) => [name, readFileSync(join(folder, name), "utf8")] as const),
    );
}

/** Input of the contract suite that depends on the manager. Managers in code need one, profiles do not. */
export interface ContractCase {
  /** Readings that the tool can print, each with the zone of its text. */
  readonly readings: fc.Arbitrary<{ readonly reading: Reading; readonly zone: string }>;
  readonly address: string;
  readonly context: Pick<ParseContext, "zone"> & Partial<ParseContext>;
  /** Fixtures that are not complete outputs, so that printing their reading does not restore it. */
  readonly unprintable?: readonly string[];
  /** Fixtures in which a cut between two pools cannot be detected. */
  readonly endless?: readonly string[];
  /** Set if the parser detects every missing line, and outputs without features. */
  readonly detectsMissingLines?: true;
  /** Set if every feature is marked as cut when a text contains everything twice. */
  readonly marksCopies?: true;
  readonly misuse: readonly (readonly string[])[];
  /**
   * Large output with this number of checkouts, and lines that are slow to parse if the work is quadratic.
   */
  readonly large: { readonly checkouts: number; readonly text: string; readonly hostile: Iterable<string> };
}

/** Repeats each piece up to 300,000 characters, after each of the beginnings. */
function* hostileLines(
  beginnings: string,
  pieces: string,
  around: (lines: string) => string,
): Generator<string> {
  for (const piece of pieces.split("~")) {
    const long = piece.repeat(Math.floor(300_000 / piece.length));
    yield around(
      beginnings
        .split("~")
        .map((begin) => `${begin}${long}x\n`)
        .join(""),
    );
  }
}

const numbered = (length: number, line: (index: number) => string) =>
  Array.from({ length }, (_, index) => line(index));

const FLEXNET_SEATS = block(
  "F",
  20_000,
  numbered(
    20_000,
    (index) => `    u${index} pc-${index} :0 (v1.0) (lic/27000 ${index}), start Fri 10/20 16:44`,
  ),
  30_000,
);
const RLM_HEAD = `\tpaintco license pool status on h (port 1)

\ta v1
\tcount: 60000, inuse: 60000
`;
const RLM_USAGE = "\n\tpaintco license usage status on h (port 1)\n\n";
const DSLS_HEAD =
  outputsIn("dsls")
    .find(([name]) => name === "run.txt")?.[1]
    .split("Kernwerk")[0] ?? "";
const DSLS_ROW = "K,7C,F,Token,STD,29,2027-03-31 01:59:00,YLC,0,2027-03-31 01:59:00,40011,60000,60000,1,0,";
const LMX_HEAD = `LM-X License Server on 6200@h:
Server version: v5.1 Uptime: 1 day(s) 0 hour(s) 0 min(s) 0 sec(s)
Feature: a Version: 1.0 Vendor: V
60000 of 70000 license(s) used:
`;
const RMS_HEAD = ` [Contacting Sentinel RMS Development Kit server on host "h"]
 |- Feature Information
   |- Feature name : "a"
   |- Feature version : "1.0"
   |- Maximum concurrent user(s) : 50000
   |- Unreserved tokens in use : 40000
   |- Reserved tokens in use : 0
   |- Expiration date : License has no expiration.
`;

export const CASES: Readonly<Record<ManagerName, ContractCase>> = {
  flexnet: {
    readings: flexnetReading,
    address: "27000@lic",
    context: { zone: "UTC", now: FLEXNET_NOW },
    unprintable: ["two-lmgrds.txt"],
    misuse: [
      ...[[], ["lmstat"], ["lmstat", "-x"], ["-a", "--wrong"], ["-c"], ["-a", "-c", "-i"], ["stray"]],
      ...[
        ["lmstat", "-a", "-c", "lic1"],
        ["-a", "-c", "27000@a,27000@b"],
      ],
    ],
    large: {
      checkouts: 20_000,
      text: around(FLEXNET_SEATS),
      hostile: hostileLines(
        'x~Users of ~  "F" v1, vendor: ~    a b c (v1) (lic/1 2), start Fri 10/20 16:44~  vendor_string: ~1 RESERVATION for ',
        '(~)~ ~:~: ~"~(-~(-1,~), start ~) queued for ~, vendor: ~a ~1 ~/~\t~x (a/~: (Total of ~pc ',
        (lines) => around(block("F", 0, [lines])),
      ),
    },
  },
  rlm: {
    readings: rlm.arbitraryReading.map((reading) => ({ reading, zone: rlm.ZONE })),
    address: "5053@lic",
    context: { zone: rlm.ZONE, now: Date.UTC(2025, 5, 4, 9, 45) },
    marksCopies: true,
    misuse: [[], ["rlmstat"], ["rlmstat", "-x"], ["rlmstat", "-a", "-c", "5053"]],
    large: {
      checkouts: 60_000,
      text:
        RLM_HEAD +
        RLM_USAGE +
        numbered(
          60_000,
          (index) =>
            `\ta v1: u${index}@h${index % 900} 1/0 at 06/04 09:00  (handle: ${index.toString(16)}) \n`,
        ).join(""),
      hostile: hostileLines(
        "x~a v1~a v1: u@h 1/0 at 06/04 09:00~count: ~Error connecting to ",
        "a: ~ ~(v~@~ 1/0 at 06/04 09:00~1~[I: ~: v1~\t~- ",
        (lines) => RLM_HEAD + lines + RLM_USAGE + lines,
      ),
    },
  },
  dsls: {
    readings: dsls.arbitraryReading.map((reading) => ({ reading, zone: dsls.ZONE })),
    address: "4084@lic",
    context: { zone: dsls.ZONE, step: "4084@lic-shape" },
    unprintable: ["glued.txt", "text.txt", "not-ready.txt"],
    endless: ["stdin.txt"],
    misuse: [[], ["-run", "quit"], ["-admin", "-run"], ["-admin", "-frob"]],
    large: {
      checkouts: 60_000,
      text: `${DSLS_HEAD}${numbered(60_000, (index) => `${DSLS_ROW}h${index},u${index},u${index},p ( 4711),6,S${index},,,,,\n`).join("")}admin >quit\n`,
      hostile: hostileLines('x~K,~"', 'a,b~"~,~","~admin >', (lines) => `${DSLS_HEAD}${lines}admin >quit\n`),
    },
  },
  lmx: {
    readings: lmxReading.map((reading) => ({ reading, zone: ZONE })),
    address: "6200@lic",
    context: { zone: ZONE },
    detectsMissingLines: true,
    marksCopies: true,
    misuse: [[], ["-hostid"], ["-licstat"], ["-licstat", "-host", "a", "-port", "x"]],
    large: {
      checkouts: 60_000,
      text: `${LMX_HEAD}${numbered(60_000, (index) => `1 license(s) used by u${index}@h${index} [192.0.2.1]\nLogin time: 2025-06-04 08:15   Checkout time: 2025-06-04 08:17 \n`).join("")}`,
      hostile: hostileLines(
        "x~Feature: ~1 ~1 license(s) used by ~Key type: ~Shared on ~LM-X License Server on 1@",
        "@~ [~ Version: ~ Vendor: ~1~ ~-~last 24 hours ~Login time: ",
        (lines) => LMX_HEAD + lines,
      ),
    },
  },
  rms: {
    readings: rmsReading.map((reading) => ({ reading, zone: ZONE })),
    address: "lic1",
    context: { zone: ZONE },
    detectsMissingLines: true,
    marksCopies: true,
    misuse: [[], ["60", "other"], ["-v"]],
    large: {
      checkouts: 40_000,
      text: `${RMS_HEAD}${"   |- Client Information\n     |- User name : u\n     |- Host name : ws1\n     |- Status : Running since Tue Nov 03 11:34:40 2020\n     |- Is commuter token : NO\n".repeat(40_000)} Press Enter to continue . . .\n`,
      hostile: hostileLines(
        "x~|- ~|- Feature name : ~|- Status : ~[Contacting ~Error~Sentinel ",
        ':~"~|- ~#1~ ~1~Running since ~server on host ~License ',
        (lines) => RMS_HEAD + lines,
      ),
    },
  },
};
