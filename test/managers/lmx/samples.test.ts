import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Reading } from "../../../src/domain/reading.ts";
import { parse, summary } from "./read.ts";

/** Published outputs beside the project; they are not part of it. */
const FOLDER = join(import.meta.dir, "../../../../shared/samples/lmx");
const present = existsSync(FOLDER);
if (!present) console.warn("skipped: no ../shared/samples/lmx beside the project");

const UP = [{ host: "licserv0013.com", port: 6200, status: "up", version: "v5.1" }];
const NAMES = "CatiaV5Reader GlobalZoneEU HWAIFPBS HWAWPF HWActivate HWFlux2D HyperWorks".split(" ");

const truth: Record<string, (reading: Reading) => void> = {
  "omni-lmx-altair-inuse.txt": (reading) => {
    expect(reading).toMatchObject({ members: UP, toolVersion: "v3.32", errors: [], cut: false });
    expect(summary(reading)).toEqual([
      "ALTAIR/CatiaV5Reader 0/3 seats - ok",
      "ALTAIR/GlobalZoneEU 40000/1000003 tokens VRAAFG 15000, VRAAFG 25000 ok",
      "ALTAIR/HWAIFPBS 0/unlimited tokens - ok",
      "ALTAIR/HWAWPF 0/unlimited tokens - ok",
      "ALTAIR/HWActivate 0/unlimited tokens - ok",
      "ALTAIR/HWFlux2D 30000/unlimited tokens VRAAFG 15000, VRAAFG 15000 ok",
      "ALTAIR/HyperWorks 25000/1000000 tokens sssaah 25000 ok",
    ]);
    const expiries = reading.features.map(({ pools }) => pools[0]?.expiry.expiresOn);
    expect(new Set(expiries)).toEqual(new Set(["2023-01-31"]));
    const [first] = reading.features[1]?.checkouts ?? [];
    expect(first).toMatchObject({ host: "RD0082879", display: "138.106.159.158" });
    expect(first).toMatchObject({ qualifier: "VRAAFG:RD0082879", startedAt: Date.UTC(2022, 1, 18, 8, 29) });
  },
  "omni-lmx-altair-idle.txt": (reading) => {
    expect(reading).toMatchObject({ members: UP, errors: [], cut: false });
    expect(reading.features.map(({ name }) => name)).toEqual(NAMES);
    expect(reading.features.every(({ used, cut }) => used === 0 && !cut)).toBe(true);
  },
  "omni-lmx-none-available.txt": (reading) => {
    const message = "There are no license server(s) available.";
    expect(reading).toMatchObject({ members: [], features: [], errors: [{ message, kind: "unreachable" }] });
  },
  "omni-lmx-xf-error.txt": (reading) => {
    expect(reading.members).toMatchObject([{ host: "licserv0003", port: 6300, status: "down" }]);
    expect(reading).toMatchObject({ features: [], toolVersion: "v4.7.1", errors: [{ kind: "unreachable" }] });
  },
  // Single lines in an order of their own: read, and never taken for a whole output.
  "ibm-rtm-comment-lines.txt": (reading) => {
    expect(summary(reading)).toEqual(["ALTAIR/CatiaV5Reader 0/1 seats user 25000 shared"]);
    expect(reading).toMatchObject({ cut: true, features: [{ cut: true, pools: [{ version: "12.0" }] }] });
  },
};

describe.skipIf(!present)("published samples", () => {
  const files = present ? readdirSync(FOLDER).filter((name) => name.endsWith(".txt")) : [];

  test.each(files)("%s: read to the last line, as its row says", (name) => {
    const reading = parse(readFileSync(join(FOLDER, name)));
    expect(reading).toMatchObject({ unparsed: [], unparsedLines: 0, recognised: true });
    truth[name]?.(reading);
  });

  test("the truth of every sample is known", () => {
    expect(files.toSorted()).toEqual(Object.keys(truth).toSorted());
  });
});
