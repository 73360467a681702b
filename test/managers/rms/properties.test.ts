import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { FeatureReading } from "../../../src/domain/reading.ts";
import { arbitraryReading } from "./arbitrary-reading.ts";
import { FIXTURES, fixture, parse, render } from "./read.ts";

test("parse(render(reading)) is the reading", () => {
  fc.assert(
    fc.property(arbitraryReading, (reading) => {
      expect(parse(render(reading))).toEqual(reading);
    }),
    { numRuns: 400 },
  );
});

test.each(FIXTURES)("what %s says survives being printed and read again", (name) => {
  const reading = parse(fixture(name));
  expect(parse(render(reading))).toEqual(reading);
});

test("no byte sequence makes it throw", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => void parse(bytes)),
    { numRuns: 300 },
  );
});

test("no mutation, removal or splice makes it throw or miscount its unread lines", () => {
  const texts = FIXTURES.map((name) => fixture(name));
  const cut = fc.tuple(fc.constantFrom(...texts), fc.double({ min: 0, max: 1, noNaN: true }));
  fc.assert(
    fc.property(cut, cut, fc.string({ unit: "binary", maxLength: 5 }), ([head, at], [tail, from], junk) => {
      const text = head.slice(0, at * head.length) + junk + tail.slice(from * tail.length);
      const reading = parse(text);
      const lines = text.split(/\r?\n|\r/).filter((line) => /[^ \t]/.test(line)).length;
      expect(reading.unparsedLines).toBeLessThanOrEqual(lines);
      for (const { checkouts } of reading.features)
        for (const { count } of checkouts) expect(count).toBeGreaterThanOrEqual(1);
    }),
    { numRuns: 400 },
  );
});

describe("cut at every byte", () => {
  test.each(FIXTURES)("%s never gives wrong numbers that look whole", (name) => {
    const bytes = new TextEncoder().encode(fixture(name).trimEnd());
    const whole = parse(bytes);
    expect(whole.cut).toBe(name === "unix.txt");
    for (let length = 0; length < bytes.length; length++) {
      const reading = parse(bytes.subarray(0, length));
      for (const [index, feature] of reading.features.entries()) {
        const truth = whole.features[index];
        expect(`${length} ${feature.name}`).toBe(`${length} ${truth?.name}`);
        if (reading.cut || feature.cut || feature.consistency === "short") continue;
        const { total, used, unlimited, pools, reserved } = truth ?? {};
        expect(feature).toMatchObject({ total, used, unlimited, pools, reserved });
        // Clients that share a token may be missing unseen: their sum is more than the tokens already.
        if (truth?.consistency === "ok") expect(feature.checkouts).toEqual(truth.checkouts);
      }
      // Without the end mark, whole features may be all that there are; what was not printed must not look whole.
      if (
        reading.recognised &&
        reading.features.length + reading.errors.length === 0 &&
        name !== "no-license.txt"
      )
        expect(`${length} ${reading.cut}`).toBe(`${length} true`);
    }
  });
});

describe("without any one of its lines", () => {
  test.each(FIXTURES)("%s never gives wrong numbers that look whole", (name) => {
    const lines = fixture(name).split("\n");
    const id = ({ name, pools }: FeatureReading) => `${name} ${pools[0]?.version}`;
    const whole = new Map(parse(fixture(name)).features.map((feature) => [id(feature), feature]));
    for (const [index, missing] of lines.entries()) {
      const reading = parse(lines.toSpliced(index, 1).join("\n"));
      if (reading.cut || reading.stray || reading.unparsedLines > 0) continue;
      for (const feature of reading.features) {
        if (feature.cut || feature.consistency === "short") continue;
        const { total, used, unlimited } = whole.get(id(feature)) ?? {};
        expect([index, missing, feature]).toMatchObject([index, missing, { total, used, unlimited }]);
      }
    }
  });
});
