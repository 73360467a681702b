import { expect, test } from "bun:test";
import { seatsExhausted } from "../../src/alerts/rules/feature-rules.ts";
import type { RuleContext } from "../../src/alerts/rules/rule.ts";
import { feature, picture } from "../http/make.ts";

const CONTEXT: RuleContext = {
  at: 0,
  settingsOf() {
    throw new Error("it has no settings");
  },
  watched: () => [],
};

test.each<[number | null, number | null, string | null]>([
  [1, 1, "The only seat of solver is in use"],
  [2, 2, "All 2 seats of solver are in use"],
  [3, 2, "All 2 seats of solver are in use"],
  [1, 2, null],
  [0, 0, null],
  [1, null, null],
  [null, 1, null],
])("seats_exhausted: %p of %p", (used, total, message) => {
  const told: (string | null)[] = [];
  const of = picture("eda", { features: [feature("solver", { used, total })] });
  seatsExhausted(of, CONTEXT, (_about, level, tell) =>
    told.push(level > 0 ? (tell?.(level).message ?? "") : null),
  );
  expect(told).toEqual([message]);
});
