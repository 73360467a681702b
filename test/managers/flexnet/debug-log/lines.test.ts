import { expect, test } from "bun:test";
import { createLineCutter } from "../../../../src/managers/debug-log/lines.ts";
import { readLog } from "./read.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

function cut(pieces: Iterable<Uint8Array>): string[] {
  const lines: string[] = [];
  const cutter = createLineCutter();
  for (const piece of pieces) cutter.feed(piece, (line) => lines.push(line));
  cutter.finish((line) => lines.push(line));
  return lines;
}

test("a hole of NULs is no line, whatever its size, and the line behind it is whole", () => {
  const hole = new Uint8Array(256 * 1024);
  function* log() {
    for (let index = 0; index < 400; index++) yield hole;
    yield bytes("\0\0 8:00:00 (acmed) OUT: ");
    yield bytes('"f" a@h\n9:00:00 (acmed) x\n');
  }
  expect(cut(log())).toEqual([' 8:00:00 (acmed) OUT: "f" a@h', "9:00:00 (acmed) x"]);
});

test("a line of several pieces, and one that never ends", () => {
  const junk = bytes("j".repeat(50_000));
  expect(cut([bytes("one "), bytes("line\r\n"), bytes("next")])).toEqual(["one line", "next"]);
  expect(cut([junk, junk, junk, junk, bytes("\nend\n")]).map((line) => line.length)).toEqual([
    100_000, 100_000, 0, 3,
  ]);
});

// Quadratic work on them takes minutes, longer than any test may.
test.each([
  ["carriage returns", () => bytes(`${"\r".repeat(4_000_000)}x`)],
  [
    "lines behind an open parenthesis",
    () => bytes(`8:00:00 (acmed) OUT: "f" a@h (open\n${"junk junk\n".repeat(200_000)}`),
  ],
  ["blanks", () => bytes(`${" ".repeat(4_000_000)}x`)],
])("hostile %s end in time", (_, make) => {
  const { reader } = readLog(make());
  expect(reader.counts.withoutHead).toBeGreaterThan(0);
});
