import { expect, test } from "bun:test";
import { flexnet } from "../../../src/managers/flexnet/index.ts";
import { fixture, readText } from "./read.ts";

const OPTIONS = { address: "27000@lic", zone: "UTC" };

test("the text looks like a modern lmstat's", () => {
  const printed = flexnet.render(readText(fixture("modern")), OPTIONS).split("\n");
  const real = new Set(fixture("modern").split("\n"));
  // The differences are data that readings do not keep: file path, spelling of expiries, locks, linger's second
  // number.
  expect(printed.filter((line) => !real.has(line))).toHaveLength(11);
  expect(printed).toContain("Flexible License Manager status on Wed 3/12/2025 14:05");
  expect(printed.join("\n")).not.toMatch(/undefined|null/);
});

test("the path of a license file that was asked for is repeated", () => {
  const text = flexnet.render(readText(fixture("modern")), { address: "/srv/a.lic", zone: "UTC" });
  expect(text).toContain("    License file(s) on lic1.example.com: /srv/a.lic:\n");
});
