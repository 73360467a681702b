import { expect, test } from "bun:test";
import fc from "fast-check";
import { createOutputMemory } from "../../src/collector/poll.ts";
import { flexnet } from "../../src/managers/flexnet/index.ts";
import { readOutputSync } from "../../src/managers/read-output.ts";
import { arbitraryReading } from "../managers/flexnet/arbitrary-reading.ts";
import { around, block } from "../managers/flexnet/read.ts";

const NOW = Date.UTC(2017, 9, 20);
const parserIn = (zone: string) => () =>
  flexnet.createParser({ zone, now: NOW, knownHosts: { has: () => false, add: () => {} } });
const encode = (text: string) => new TextEncoder().encode(text);
const under = (banner: string, text: string) =>
  text.replace(/^Flexible License Manager status on .*/m, `Flexible License Manager status on ${banner}`);

/** Kind of a change of the output between two polls, and the number of the changed line. */
const edit = fc.tuple(fc.constantFrom("gone", "twice", "odd", "cut", "banner"), fc.nat(60));

function edited(lines: readonly string[], [kind, at]: readonly [string, number]): string[] {
  if (kind === "banner") return under(`Fri 10/${(at % 28) + 1}/2017 17:02`, lines.join("\n")).split("\n");
  const index = at % Math.max(lines.length, 1);
  const line = lines[index] ?? "";
  if (kind === "cut") return [...lines.slice(0, index), line.slice(0, at / 2)];
  return lines.toSpliced(
    index,
    1,
    ...(kind === "gone" ? [] : kind === "odd" ? [`${line} (odd)`] : [line, line]),
  );
}

test("an output gives the same reading whether or not earlier outputs are remembered", () => {
  const polls = fc.array(fc.array(edit, { maxLength: 3 }), { maxLength: 6 });
  const asAlone = fc.asyncProperty(
    arbitraryReading,
    polls,
    fc.boolean(),
    async ({ reading, zone }, edits, truncated) => {
      let lines = flexnet.render(reading, { address: "27000@lic", zone }).split("\n");
      const read = createOutputMemory();
      for (const each of [[], ...edits]) {
        for (const one of each) lines = edited(lines, one);
        const bytes = encode(lines.join("\n"));
        const alone = readOutputSync(bytes, parserIn(zone)(), truncated);
        expect(await read(bytes, parserIn(zone), NOW, truncated)).toEqual(alone);
      }
    },
  );
  return fc.assert(asAlone, { numRuns: 200 });
});

const SEAT = "    ann pc-1 /dev/tty (v1.0) (lic/27000 101), start Fri 10/20 9:00";
const TEXT = around(block("solver", 1, [SEAT]));
test.each([
  ["the same below another time", "Fri 10/20/2017 10:01", TEXT, false, true],
  ["another day", "Sun 10/22/2017 10:00", TEXT, false, false],
  ["another host", "Fri 10/20/2017 10:01", TEXT.replace("pc-1", "pc-2"), false, false],
  ["one that may be cut", "Fri 10/20/2017 10:01", TEXT, true, false],
])("what is not parsed again: %s", async (_, banner, text, truncated, isSame) => {
  const read = createOutputMemory();
  const first = await read(encode(under("Fri 10/20/2017 10:00", TEXT)), parserIn("UTC"), NOW, false);
  const next = await read(encode(under(banner, text)), parserIn("UTC"), NOW, truncated);
  expect(next.features === first.features).toBe(isSame);
});
