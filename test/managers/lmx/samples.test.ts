import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Reading } from "../../../src/domain/reading.ts";
import { parse, summary } from "./read.ts";

const FOLDER = join(import.meta.dir, "../../fixtures/published/lmx");

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
};

describe("published samples", () => {
  const files = readdirSync(FOLDER);

  test.each(files)("%s is read to the last line", (name) => {
    const reading = parse(readFileSync(join(FOLDER, name)));
    expect(reading).toMatchObject({ unparsed: [], unparsedLines: 0, recognised: true });
    truth[name]?.(reading);
  });

  test("single lines without their order are read and never look whole", () => {
    const reading = parse(
      Buffer.from(`Feature: Reader Version: 12.0 Vendor: ALTAIR
Start date: 2014-02-03 Expire date: 2014-09-30
Key type: EXCLUSIVE License sharing: CUSTOM VIRTUAL
25000 license(s) used by ada@ws1 [192.0.2.1]
0 of 1 license(s) used
Server version: v4.4.4 Uptime: 10 day(s) 1 hour(s) 10 min(s) 0 sec(s)
LM-X License Server on 6200@lic1:
`),
    );
    expect(reading).toMatchObject({ unparsed: [], unparsedLines: 0, recognised: true });
    expect(summary(reading)).toEqual(["ALTAIR/Reader 0/1 seats ada 25000 shared"]);
    expect(reading).toMatchObject({ cut: true, features: [{ cut: true, pools: [{ version: "12.0" }] }] });
  });

  test("every sample has an expectation", () => {
    expect(files.toSorted()).toEqual(Object.keys(truth).toSorted());
  });
});
