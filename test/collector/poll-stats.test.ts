import { expect, test } from "bun:test";
import { createPollCounter, percentile } from "../../src/collector/outcomes.ts";
import { outcome } from "./sample-poll.ts";

test("percentiles are values that occurred, by nearest rank", () => {
  const ten = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
  expect(percentile([], 50)).toBeNull();
  expect(percentile([7], 95)).toBe(7);
  expect(percentile(ten, 50)).toBe(5);
  expect(percentile(ten, 95)).toBe(10);
  expect(percentile(ten, 0)).toBe(1);
});

test("only the last 512 durations count, and all outcomes", () => {
  const counter = createPollCounter();
  for (let n = 0; n < 512; n++) counter.add(outcome("a", { durationMs: 1000 }));
  for (let n = 0; n < 400; n++) counter.add(outcome("a", { durationMs: 10 }));
  expect(counter.stats()).toMatchObject({ outcomes: { ok: 912 }, durationMs: { p50: 10, p95: 1000 } });
});
