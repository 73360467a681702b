import { expect, test } from "bun:test";
import fc from "fast-check";
import { flexnet } from "../../src/managers/flexnet/index.ts";
import { createOutputMemory } from "../../src/managers/output-memory.ts";
import { readOutputSync } from "../../src/managers/read-output.ts";
import { around, block } from "./flexnet/read.ts";
import { readings } from "./flexnet/readings.ts";

const NOW = Date.UTC(2017, 9, 20);
const parserIn = (zone: string) => () =>
  flexnet.createParser({ zone, now: NOW, knownHosts: { has: () => false, add: () => {} } });
const encode = (text: string) => new TextEncoder().encode(text);
const under = (banner: string, text: string) =>
  text.replace(/^Flexible License Manager status on .*/m, `Flexible License Manager status on ${banner}`);

/** What happens to an output's lines until the next poll, by places from 0 to 1. */
const edit = fc.oneof(
  fc.record({ kind: fc.constantFrom("gone", "twice", "last", "odd"), at: fc.nat(1000) }),
  fc.record({ kind: fc.constant("banner"), at: fc.nat(27) }),
  fc.record({ kind: fc.constant("cut"), at: fc.nat(1000) }),
);

function edited(lines: readonly string[], { kind, at }: { readonly kind: string; readonly at: number }) {
  const index = Math.floor((at / 1001) * lines.length);
  const line = lines[index] ?? "";
  if (lines.length === 0) return [...lines];
  if (kind === "gone") return lines.toSpliced(index, 1);
  if (kind === "twice") return lines.toSpliced(index, 0, line);
  if (kind === "last") return [...lines.toSpliced(index, 1), line];
  if (kind === "odd") return lines.with(index, `${line} (odd)`);
  if (kind === "cut") return [...lines.slice(0, index), line.slice(0, at % (line.length + 1))];
  return under(`Fri 10/${at + 1}/2017 17:02`, lines.join("\n")).split("\n");
}

test("an output reads the same whether or not the ones before it are known", async () => {
  const polls = fc.array(fc.array(edit, { maxLength: 3 }), { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(readings, polls, fc.boolean(), async (made, edits, truncated) => {
      let lines = flexnet.render(made.reading, { address: "27000@lic", zone: made.zone }).split("\n");
      const read = createOutputMemory();
      const parser = parserIn(made.zone);
      for (const each of [[], ...edits]) {
        for (const one of each) lines = edited(lines, one);
        const bytes = encode(lines.join("\n"));
        const alone = readOutputSync(bytes, parser(), truncated);
        expect(await read(bytes, parser, NOW, truncated)).toEqual(alone);
      }
    }),
    { numRuns: 200 },
  );
});

test("what is the same below another time is not parsed again, until a day has passed", async () => {
  const seat = "    ann pc-1 /dev/tty (v1.0) (lic/27000 101), start Fri 10/20 9:00";
  const text = around(block("solver", 1, [seat]));
  const read = createOutputMemory();
  const at = (banner: string, body = text, truncated = false) =>
    read(encode(under(banner, body)), parserIn("UTC"), NOW, truncated);
  const first = await at("Fri 10/20/2017 10:00");
  const later = await at("Fri 10/20/2017 10:01");
  expect(later.features).toBe(first.features);
  expect((later.reportTime ?? 0) - (first.reportTime ?? 0)).toBe(60_000);
  for (const [banner, body, truncated] of [
    ["Sun 10/22/2017 10:00", text, false],
    ["Sun 10/22/2017 10:01", text.replace("pc-1", "pc-2"), false],
    ["Sun 10/22/2017 10:02", text, true],
  ] as const) {
    const before = await at("Fri 10/20/2017 10:01");
    expect((await at(banner, body, truncated)).features).not.toBe(before.features);
  }
});
