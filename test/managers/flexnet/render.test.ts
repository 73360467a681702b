import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { flexnet } from "../../../src/managers/flexnet/index.ts";
import { FIXTURES, fixture, readText } from "./read.ts";
import { readings } from "./readings.ts";

const OPTIONS = { address: "27000@lic", zone: "UTC" };

test("what was printed reads as what it was printed from", () => {
  fc.assert(
    fc.property(readings, ({ reading, zone }) => {
      const text = flexnet.render(reading, { address: "27000@lic", zone });
      expect(readText(text, { zone })).toEqual(reading);
    }),
    { numRuns: 300 },
  );
});

test.each(FIXTURES)("%s survives being printed and read", (name) => {
  const { unparsed, unparsedLines, ...reading } = readText(fixture(name));
  const again = readText(flexnet.render({ ...reading, unparsed, unparsedLines }, OPTIONS));
  expect(again).toEqual({ ...reading, unparsed: [], unparsedLines: 0 });
});

describe("the text", () => {
  test("looks like a modern lmstat's", () => {
    const text = flexnet.render(readText(fixture("modern")), OPTIONS);
    expect(text).toStartWith(
      [
        "lmutil - Copyright (c) 1989-2024 Flexera. All Rights Reserved.",
        "Flexible License Manager status on Wed 3/12/2025 14:05",
        "",
        "License server status: 27000@lic1.example.com",
        "    License file(s) on lic1.example.com: /opt/flexnet/licenses/license.lic:",
        "",
        "lic1.example.com: license server UP (MASTER) v11.19.6",
        "",
        "Vendor daemon status (on lic1.example.com):",
        "",
        "   solverd: UP v11.19.6",
        "Feature usage info:",
        "",
        "Users of Solver:  (Total of 20 licenses issued;  Total of 17 licenses in use)",
        "",
        "",
        '"Solver" v2025.1, vendor: solverd, expiry: 31-dec-2025',
        '  vendor_string: site=A|seats="12",kind:full',
        "  floating license",
        "",
        "\t2 RESERVATIONs for GROUP night-shift (lic1.example.com/27000)",
        "\t1 RESERVATION for HOST_GROUP rack-7.east (lic1.example.com/27000)",
        "    amira ws-101 ws-101 (v2025.1) (lic1.example.com/27000 101), start Wed 3/12 8:01, PID: 4711",
      ].join("\n"),
    );
    const row = "Idle                            3.0         5            solverd       30-apr-2026";
    expect(text).toContain(`\n${row}\n`);
    expect(text).not.toMatch(/undefined|null/);
  });

  test("repeats the path of a license file that was asked for", () => {
    const text = flexnet.render(readText(fixture("modern")), { address: "/srv/a.lic", zone: "UTC" });
    expect(text).toContain("    License file(s) on lic1.example.com: /srv/a.lic:\n");
  });
});
