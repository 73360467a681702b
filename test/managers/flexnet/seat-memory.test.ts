import { expect, test } from "bun:test";
import fc from "fast-check";
import { flexnet } from "../../../src/managers/flexnet/index.ts";
import { createKnownHosts } from "../../../src/managers/manager.ts";
import { around, block, readText } from "./read.ts";
import { readings } from "./readings.ts";

/** What happens to an output's lines until the next poll, by places from 0 to 1. */
const edit = fc.oneof(
  fc.record({ kind: fc.constantFrom("gone", "twice", "last", "odd"), at: fc.nat(1000) }),
  fc.record({ kind: fc.constant("banner"), at: fc.nat(27) }),
);

function edited(lines: readonly string[], { kind, at }: { readonly kind: string; readonly at: number }) {
  const index = Math.floor((at / 1001) * lines.length);
  const line = lines[index] ?? "";
  if (kind === "gone") return lines.toSpliced(index, 1);
  if (kind === "twice") return lines.toSpliced(index, 0, line);
  if (kind === "last") return [...lines.toSpliced(index, 1), line];
  if (kind === "odd") return lines.with(index, `${line} (odd)`);
  const banner = `Flexible License Manager status on Fri 10/${at + 1}/2017 17:02`;
  return lines.map((each) => (each.startsWith("Flexible") ? banner : each));
}

test("an output reads the same whether or not the one before it is known", () => {
  fc.assert(
    fc.property(readings, fc.array(fc.array(edit, { maxLength: 3 }), { maxLength: 6 }), (made, polls) => {
      let lines = flexnet.render(made.reading, { address: "27000@lic", zone: made.zone }).split("\n");
      const knownHosts = createKnownHosts();
      for (const edits of [[], ...polls]) {
        for (const each of edits) lines = edited(lines, each);
        const text = lines.join("\n");
        const alone = readText(text, { zone: made.zone, knownHosts: createKnownHosts(knownHosts.list()) });
        expect(readText(text, { zone: made.zone, knownHosts })).toEqual(alone);
      }
    }),
    { numRuns: 200 },
  );
});

test("seats that go on are the very same objects; a line that was cut out, put in or moved costs only itself", () => {
  const seat = (user: string) =>
    `    ${user} pc-${user} /dev/tty (v1.0) (lic/27000 101), start Fri 10/20 9:00`;
  const knownHosts = createKnownHosts();
  const seats = (...users: string[]) =>
    readText(around(block("solver", users.length, users.map(seat))), { knownHosts }).features[0]?.checkouts ??
    [];
  const [ann, ben, cy] = seats("ann", "ben", "cy");
  const next = seats("ann", "dee", "cy");
  expect([next[0] === ann, next[1]?.user, next[2] === cy]).toEqual([true, "dee", true]);
  expect(seats("cy", "ann", "dee").map(({ user }) => user)).toEqual(["cy", "ann", "dee"]);
  expect(ben?.user).toBe("ben");
});
