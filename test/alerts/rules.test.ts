import { expect, test } from "bun:test";
import {
  DENIALS,
  HOST_RULES,
  PICTURE_RULES,
  TOTALS_CHANGED,
  UNPARSED,
  UNPOLLED,
} from "../../src/alerts/rules.ts";
import { createSettings } from "../../src/alerts/settings.ts";
import { ALERT_RULES } from "../../src/domain/alerts.ts";
import { feature } from "../http/make.ts";
import { SETTINGS } from "./rig.ts";

const settings = createSettings({ ...SETTINGS, overrides: [] })(null, null, null);

test.each<[number | null, number | null, string | null]>([
  [1, 1, "The only seat of solver is in use"],
  [2, 2, "All 2 seats of solver are in use"],
  [3, 2, "All 2 seats of solver are in use"],
  [1, 2, null],
  [0, 0, null],
  [1, null, null],
  [null, 1, null],
])("seats_exhausted: %p of %p", (used, total, message) => {
  const rule = PICTURE_RULES.find((each) => each.rule === "seats_exhausted");
  const of = feature("solver", { used, total });
  const level = rule?.level(of, settings, 0);
  expect(level).toBe(message === null ? 0 : 1);
  if (message !== null) expect(rule?.finding(of, 1, settings, 0).message).toBe(message);
});

test("the table has a row for each rule", () => {
  const rows = [...PICTURE_RULES, ...HOST_RULES, UNPARSED, UNPOLLED, TOTALS_CHANGED, DENIALS];
  expect(new Set(rows.map(({ rule }) => rule))).toEqual(new Set(ALERT_RULES));
});
