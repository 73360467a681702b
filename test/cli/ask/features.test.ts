import { expect, test } from "bun:test";
import { featureRow } from "../../../src/cli/ask/features.ts";
import { featureRecord } from "../../../src/http/records.ts";
import { feature, NOW } from "../../http/make.ts";

const EXPIRED = { expiresOn: "2020-01-01", expiresAt: Date.UTC(2020, 0, 2) - 1, permanent: false };

test.each([
  ["a seat group with fewer free seats", { seatGroup: "0", available: 60 }, "60 limited by its seat group"],
  ["an expired feature", { available: 3, expiry: EXPIRED }, "3 expired"],
  ["a seat group with all of its seats", { seatGroup: "0", available: 100 }, "100 "],
  ["a stale feature", { seatGroup: "0", available: 60, state: "stale" }, "60 stale 5 s"],
] as const)("the row of %s", (_, counts, shown) => {
  const record = featureRecord({ id: "eda" }, feature("f", { total: 100, used: 0, ...counts }));
  const cells = featureRow(record, NOW);
  expect(`${cells[5]} ${cells.at(-1)}`).toBe(shown);
});
