import { expect, test } from "bun:test";
import { createPollCounter, kept } from "../../src/collector/outcomes.ts";
import { outcome } from "../domain/make.ts";

test("percentiles cover the last 512 polls, counts all of them", () => {
  const counter = createPollCounter();
  for (let n = 0; n < 512; n++) counter.add(outcome({ durationMs: 1000 }));
  for (let n = 0; n < 400; n++) counter.add(outcome({ durationMs: 10 }));
  expect(counter.stats()).toMatchObject({ polls: { ok: 912 }, durationMs: { p50: 10, p95: 1000 } });
});

test.each([0, 5, 300_000])("%d bytes of raw output are unchanged", async (length) => {
  const stdout = Uint8Array.from({ length }, (_, index) => (index * index) % 251);
  const raw = { ...outcome().raw, exitCode: 241, truncated: true, stdout };
  const { stdout: out, ...rest } = await kept(raw)();
  expect(new Uint8Array(out)).toEqual(stdout);
  expect({ ...rest, stdout }).toEqual(raw);
});
