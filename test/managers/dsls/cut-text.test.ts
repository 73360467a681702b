import { describe, expect, test } from "bun:test";
import { fixture, parse, summary } from "./read.ts";

describe("cut at every byte", () => {
  const cuts = (name: string) => {
    const bytes = new TextEncoder().encode(fixture(name));
    const mark = Buffer.from(bytes).lastIndexOf("\nadmin >") + "\nadmin >".length;
    return { bytes, mark, whole: summary(parse(bytes)) };
  };

  test.each(["run.txt", "glued.txt", "idle.txt"])("%s is complete from its last prompt on", (name) => {
    const { bytes, mark, whole } = cuts(name);
    for (let length = 0; length < bytes.length; length++) {
      const reading = parse(bytes.subarray(0, length));
      // The last of several prompts in a row may be missing.
      if (reading.cut) expect(length).toBeLessThan(mark);
      else expect([length, summary(reading)]).toEqual([length, whole]);
    }
  });

  test("stdin.txt: without a final prompt, a feature may lack whole sets of licenses", () => {
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

  test("a text that hit the size limit is cut", () => {
    expect(parse(fixture("run.txt"), { truncated: true }).cut).toBe(true);
  });
});

test("50,000 unclosed quotes are read in linear time", () => {
  const [head = ""] = fixture("run.txt").split("Kernwerk");
  const reading = parse(`${head}${'"a,b\n'.repeat(50_000)}admin >quit\n`);
  expect(reading.unparsedLines).toBeGreaterThan(20_000);
  expect(reading.features).toEqual([]);
});
