import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Reading } from "../../../src/domain/reading.ts";
import { managerOf } from "../../../src/managers/registry.ts";
import { arbitraryReading, ZONE } from "./arbitrary-reading.ts";
import { fixture, parse, summary } from "./read.ts";

const FIXTURES = ["run", "stdin", "glued", "idle", "unreachable", "text", "not-ready"].map(
  (name) => `${name}.txt`,
);

function rendered(reading: Reading): string {
  return managerOf("dsls").render(reading, { address: "4084@lic", zone: ZONE });
}

/** As the collector reads it, which knows whom it asked. */
function readAgain(reading: Reading): Reading {
  const [{ host, port } = { host: "lic", port: 4084 }] = reading.members;
  return parse(rendered(reading), { zone: ZONE, step: `${port}@${host}` });
}

test("parse(render(reading)) is the reading", () => {
  fc.assert(
    fc.property(arbitraryReading, (reading) => {
      expect(readAgain(reading)).toEqual(reading);
    }),
    { numRuns: 500 },
  );
});

test.each(["run.txt", "stdin.txt", "idle.txt", "unreachable.txt"])(
  "what %s says survives being printed",
  (name) => {
    const reading = parse(fixture(name), { zone: ZONE, step: "4084@lic-shape" });
    expect(readAgain(reading)).toEqual(reading);
  },
);

test("no byte sequence makes it throw", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => void parse(bytes)),
    { numRuns: 300 },
  );
});

test("no mutation, removal or splice makes it throw or miscount its unread lines", () => {
  const cut = fc.tuple(fc.constantFrom(...FIXTURES.map(fixture)), fc.double({ min: 0, max: 1, noNaN: true }));
  fc.assert(
    fc.property(cut, cut, fc.string({ unit: "binary", maxLength: 5 }), ([head, at], [tail, from], junk) => {
      const text = head.slice(0, at * head.length) + junk + tail.slice(from * tail.length);
      const reading = parse(text);
      const lines = text.split(/\r?\n|\r/).filter((line) => /[^ \t]/.test(line)).length;
      expect(reading.unparsedLines).toBeLessThanOrEqual(lines);
      expect(reading.unparsed).toHaveLength(Math.min(200, reading.unparsedLines));
      for (const { checkouts, queue, pools } of reading.features)
        for (const { count, pool } of [...checkouts, ...queue])
          expect(count >= 1 && (pool ?? 0) < pools.length).toBe(true);
    }),
    { numRuns: 500 },
  );
});

describe("cut at every byte", () => {
  const cuts = (name: string) => {
    const bytes = new TextEncoder().encode(fixture(name));
    const mark = Buffer.from(bytes).lastIndexOf("\nadmin >") + "\nadmin >".length;
    return { bytes, mark, whole: summary(parse(bytes)) };
  };

  test.each(["run.txt", "glued.txt", "idle.txt"])(
    "%s is whole from its last prompt on, and not before",
    (name) => {
      const { bytes, mark, whole } = cuts(name);
      for (let length = 0; length < bytes.length; length++) {
        const reading = parse(bytes.subarray(0, length));
        // The last of several prompts in a row may be missing.
        if (reading.cut) expect(length).toBeLessThan(mark);
        else expect([length, summary(reading)]).toEqual([length, whole]);
      }
    },
  );

  test("stdin.txt: without a prompt behind it, a feature lacks sets of licenses at most, and nothing of a set", () => {
    const { bytes, whole } = cuts("stdin.txt");
    const truth = new Map(parse(bytes).features.map((one) => [`${one.daemon}/${one.name}`, one]));
    for (let length = 0; length < bytes.length; length++) {
      const { features, cut, recognised } = parse(bytes.subarray(0, length));
      if (cut || !recognised) continue;
      expect(bytes[length - 1]).toBe(0x0a);
      for (const { daemon, name, pools, consistency, checkouts } of features) {
        const own = truth.get(`${daemon}/${name}`);
        if (consistency === "short") continue;
        expect(pools).toEqual(own?.pools.slice(0, pools.length) ?? []);
        expect(checkouts).toEqual(own?.checkouts ?? []);
      }
    }
    expect(whole).toHaveLength(6);
  });

  test("a text that hit the cap is cut, whatever it ends with", () => {
    expect(parse(fixture("run.txt"), { truncated: true }).cut).toBe(true);
  });
});

test("an output of 50,000 quotes that nobody closes is read in linear time", () => {
  const [head = ""] = fixture("run.txt").split("Kernwerk");
  const reading = parse(`${head}${'"a,b\n'.repeat(50_000)}admin >quit\n`);
  expect(reading.unparsedLines).toBeGreaterThan(20_000);
  expect(reading.features).toEqual([]);
});
