import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Reading } from "../../../src/domain/reading.ts";
import { rlm } from "../../../src/managers/rlm/index.ts";
import { arbitraryReading, ZONE } from "./arbitrary-reading.ts";
import { fixture, parse } from "./read.ts";

const FIXTURES = ["two-isv-servers", "isv-only", "old-layout", "unreachable", "isv-unreachable"].map(
  (name) => `${name}.txt`,
);

const render = (reading: Reading) => rlm.render(reading, { address: "5053@lic", zone: ZONE });

test("parse(render(reading)) is the reading", () => {
  fc.assert(
    fc.property(arbitraryReading, (reading) => {
      expect(parse(render(reading), { zone: ZONE })).toEqual(reading);
    }),
    { numRuns: 300 },
  );
});

test.each(FIXTURES)("what %s says survives being printed and read again", (name) => {
  const reading = parse(fixture(name), { zone: ZONE });
  const again = parse(render(reading), { zone: ZONE });
  expect(again).toEqual(reading);
});

test("a server that is silent, printed as the tool's error", () => {
  const silent: Reading = {
    ...parse(fixture("unreachable.txt")),
    members: [{ host: "gone", port: 5053, status: "down", master: false, version: null, error: null }],
    errors: [],
  };
  expect(parse(render(silent))).toMatchObject({
    members: [{ host: "gone", status: "down" }],
    errors: [{ kind: "unreachable", major: -17 }],
    unparsed: [],
  });
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
      const lines = text.split(/\r?\n|\r/).filter((line) => line.trim() !== "").length;
      expect(reading.unparsedLines).toBeLessThanOrEqual(lines);
      expect(reading.unparsed).toHaveLength(Math.min(200, reading.unparsedLines));
      for (const { checkouts, pools } of reading.features)
        for (const { count, pool } of checkouts)
          expect(count >= 1 && (pool ?? 0) < Math.max(1, pools.length)).toBe(true);
    }),
    { numRuns: 400 },
  );
});

describe("cut at every byte", () => {
  test.each(FIXTURES.slice(0, 3))("%s never gives wrong numbers that look whole", (name) => {
    const text = fixture(name);
    const whole = parse(text);
    const bytes = new TextEncoder().encode(text);
    for (let length = 0; length < bytes.length; length++) {
      const reading = parse(bytes.subarray(0, length));
      for (const feature of reading.features) {
        const id = `${feature.daemon}/${feature.name}`;
        const truth = whole.features.find((each) => `${each.daemon}/${each.name}` === id);
        // A name that the whole output lacks may be none that the cut one claims to know.
        expect([length, id, truth === undefined]).toEqual([length, id, false]);
        if (truth === undefined || feature.cut || reading.cut || feature.consistency === "short") continue;
        const { total, used, unlimited } = truth;
        expect([length, id, feature]).toMatchObject([length, id, { total, used, unlimited }]);
      }
      const missing = whole.features.length - reading.features.length;
      const idle = reading.features.every(({ used }) => (used ?? 0) === 0);
      // Pools that are missing go unseen only behind whole pools of an ISV server that is idle so far.
      if (missing > 0 && !reading.cut && reading.errors.length === 0) {
        const last = reading.daemons.filter(({ status }) => status === "up").at(-1)?.name;
        const idleLast = reading.features.every((each) => each.daemon !== last || (each.used ?? 0) === 0);
        expect([length, reading.recognised && !idle && !idleLast]).toEqual([length, false]);
      }
    }
  });
});

describe("cut at the head, before every line", () => {
  test.each(FIXTURES.slice(0, 3))("%s never gives wrong numbers that look whole", (name) => {
    const lines = fixture(name).split("\n");
    const whole = parse(fixture(name));
    for (let from = 0; from < lines.length; from++) {
      const reading = parse(lines.slice(from).join("\n"));
      // A text that begins with an ISV server's heading is a whole one of that ISV server.
      const ofDaemon = (daemon: string) => reading.daemons.some((each) => each.name === daemon);
      for (const truth of whole.features) {
        if (reading.cut || !reading.recognised) continue;
        if (reading.unparsedLines === 0 && !ofDaemon(truth.daemon)) continue;
        const own = reading.features.find((each) => each.daemon === truth.daemon && each.name === truth.name);
        const { name: product, total, used } = truth;
        expect([from, product, own?.total, own?.used]).toEqual([from, product, total, used]);
      }
    }
  });
});
