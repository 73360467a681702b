import { describe, expect, test } from "bun:test";
import type { OutputEnd, ReadingParser, TextParser } from "../../src/managers/manager.ts";
import {
  decodeOutput,
  detectEncoding,
  readOutput,
  readOutputSync,
  recode,
} from "../../src/managers/read-output.ts";
import { readAs } from "./read-as.ts";

const NOTHING = readAs("flexnet", "");

function listener() {
  const lines: string[] = [];
  const ends: OutputEnd[] = [];
  const parser: ReadingParser = {
    line: (text) => void lines.push(text),
    finish: (end) => {
      if (end.rest !== null) lines.push(end.rest);
      ends.push(end);
      return NOTHING;
    },
  };
  return { parser, lines, ends };
}

function linesOf(bytes: Uint8Array): string[] {
  const { parser, lines } = listener();
  readOutputSync(bytes, parser);
  return lines;
}

const utf8 = (text: string) => new TextEncoder().encode(text);
const utf16le = (text: string) => new Uint8Array(Buffer.from(`\uFEFF${text}`, "utf16le"));
const utf16be = (text: string) => new Uint8Array(Buffer.from(`\uFEFF${text}`, "utf16le").swap16());

describe("line ends", () => {
  const rows: [string, string, string[]][] = [
    ["LF", "a\nb\n", ["a", "b"]],
    ["no line end at the end", "a\nb", ["a", "b"]],
    ["blank lines", "a\n\n\nb\n", ["a", "", "", "b"]],
    ["CRLF", "a\r\nb\r\n", ["a", "b"]],
    ["CRLF behind a CR of its own", "a\r\r\nb\r\r\n", ["a", "b"]],
    ["lone CR", "a\rb\rc\r", ["a", "b", "c"]],
    ["lone CR without a last one", "a\rb", ["a", "b"]],
    ["all kinds", "a\r\nb\rc\nd", ["a", "b", "c", "d"]],
    ["nothing", "", []],
  ];
  test.each(rows)("%s", (_, text, expected) => {
    expect(linesOf(utf8(text))).toEqual(expected);
  });

  test("splits lone CRs over many chunks", () => {
    const expected = Array.from({ length: 40_000 }, (_, index) => `line ${index} ${"x".repeat(40)}`);
    expect(linesOf(utf8(expected.join("\r")))).toEqual(expected);
  });

  test("CRLF over many chunks", () => {
    const expected = Array.from({ length: 20_000 }, (_, index) => `line ${index} ${"x".repeat(index % 91)}`);
    expect(linesOf(utf8(`${expected.join("\r\n")}\r\n`))).toEqual(expected);
  });
});

describe("the end of the output", () => {
  const rows: [string, Uint8Array, string | null][] = [
    ["nothing is not cut", utf8(""), null],
    ["LF", utf8("a\n"), null],
    ["CR", utf8("a\r"), null],
    ["text", utf8("a"), "a"],
    ["text behind a lone CR", utf8("a\rb"), "b"],
    ["UTF-16 LE with a line end", utf16le("a\n"), null],
    ["UTF-16 LE without", utf16le("a"), "a"],
    ["UTF-16 LE, a character whose byte is LF", utf16le("\u0a41"), "\u0a41"],
    ["UTF-16 BE with a line end", utf16be("a\n"), null],
    ["UTF-16 BE, a character whose byte is LF", utf16be("\u410a"), "\u410a"],
  ];
  test.each(rows)("%s", (_, bytes, rest) => {
    const { parser, ends } = listener();
    readOutputSync(bytes, parser);
    expect(ends).toEqual([{ rest, truncated: false }]);
  });

  test("truncation is passed on", () => {
    const { parser, ends } = listener();
    readOutputSync(utf8("a\n"), parser, true);
    expect(ends).toEqual([{ rest: null, truncated: true }]);
  });
});

describe("encodings", () => {
  const text = "Jürgen\n名前\n🙂\n";
  const lines = ["Jürgen", "名前", "🙂"];
  const rows: [string, Uint8Array, ReturnType<typeof detectEncoding>, string[]][] = [
    ["UTF-8", utf8(text), "utf-8", lines],
    ["UTF-8 with a byte order mark", utf8(`\uFEFF${text}`), "utf-8", lines],
    ["UTF-16 LE", utf16le(text), "utf-16le", lines],
    ["UTF-16 BE", utf16be(text), "utf-16be", lines],
    ["Windows-1252", new Uint8Array([0x4a, 0xfc, 0x72, 0x80, 0x0a]), "windows-1252", ["Jür€"]],
    ["UTF-8 cut inside its last character", utf8("aü").slice(0, 2), "utf-8", ["a\uFFFD"]],
    ["UTF-8 cut inside four bytes", utf8("a🙂").slice(0, 4), "utf-8", ["a\uFFFD"]],
    ["nothing at the end", new Uint8Array([0x61, 0x81, 0x8d]), "windows-1252", ["a\u0081\u008d"]],
  ];
  test.each(rows)("%s", (_, bytes, encoding, expected) => {
    expect(detectEncoding(bytes)).toBe(encoding);
    expect(linesOf(bytes)).toEqual(expected);
    expect(decodeOutput(bytes).trimEnd().split("\n")).toEqual(expected);
  });

  test("every byte has a character in Windows-1252", () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index).filter(
      (byte) => byte !== 0x0a && byte !== 0x0d,
    );
    const [line = ""] = linesOf(bytes);
    expect(line).toHaveLength(254);
    expect(line).not.toContain("\uFFFD");
  });

  const spans: [string, string, (text: string) => Uint8Array][] = [
    ["two bytes", "ü", utf8],
    ["three bytes", "名", utf8],
    ["four bytes", "🙂", utf8],
    ["UTF-16 LE surrogates", "🙂", utf16le],
    ["UTF-16 BE surrogates", "🙂", utf16be],
  ];
  test.each(spans)("no chunk border breaks a character of %s", (_, sign, encode) => {
    // One line far longer than a chunk, at all offsets of the border inside a character.
    for (let shift = 0; shift < 4; shift++) {
      const line = "x".repeat(shift) + sign.repeat(70_000);
      expect(linesOf(encode(`${line}\n`)).join("")).toBe(line);
    }
  });
});

describe("a line that is longer than 1 MiB", () => {
  const long = "x".repeat(3 * 2 ** 20);
  const cut = `${"x".repeat(462)}… (cut: the line is longer than 1 MiB)`;

  test.each([
    ["between others", `a\n${long}\nb\nc`, ["a", "", "b", "c"], "c", [2]],
    ["before a CRLF", `a\r\n${long}\r\nb\r\n`, ["a", "", "b"], null, [2]],
    ["before a lone CR", `a\r${long}\rb\r`, ["a", "", "b"], null, [2]],
    ["without an end", `a\n${long}`, ["a"], null, [2]],
    ["twice", `${long}\n${long}\nb\n`, ["", "", "b"], null, [1, 2]],
    ["alone", long, [], null, [1]],
  ])("%s is one unparsed line", (_, text, lines, rest, numbers) => {
    const heard = listener();
    const reading = readOutputSync(utf8(text), heard.parser);
    expect(heard.lines).toEqual(lines);
    expect(heard.ends).toEqual([{ rest, truncated: false }]);
    expect(reading).toMatchObject({ cut: true, unparsedLines: numbers.length });
    expect(reading.unparsed).toEqual(numbers.map((line) => ({ line, text: cut })));
  });

  test("a line of 1 MiB is passed on", () => {
    const line = "x".repeat(2 ** 20);
    expect(linesOf(utf8(`${line}\n`))).toEqual([line]);
  });
});

test("a parser of whole texts gets the decoded text at once", async () => {
  const heard: [string, boolean][] = [];
  const parser: TextParser = {
    text(whole, truncated) {
      heard.push([whole, truncated]);
      return NOTHING;
    },
  };
  const text = `{"users": ["${"ü".repeat(2 ** 21)}"]}\n`;
  readOutputSync(utf8(text), parser);
  await readOutput(utf16le(text), parser, true);
  expect(heard).toEqual([
    [text, false],
    [text, true],
  ]);
});

test.each([
  ["euc-kr", [0xb0, 0xa1, 0x41], "가A"],
  ["shift_jis", [0x83, 0x5c, 0x0a, 0x83], "ソ\n\uFFFD"],
  ["utf-16le", [0x41, 0x00, 0x0a, 0x00], "A\n"],
  [null, [0xfc, 0x41], "üA"],
])("an output in %s becomes UTF-8", (encoding, bytes, text) => {
  expect(decodeOutput(recode(Uint8Array.from(bytes), encoding, (each) => each))).toBe(text);
});

test("recoding returns the same bytes if nothing changes", () => {
  const bytes = Uint8Array.from([0xfc, 0x41]);
  expect(recode(bytes, null)).toBe(bytes);
  expect(decodeOutput(recode(bytes, null, (text) => text.toLowerCase()))).toBe("üa");
});

// Quadratic work on a million characters would take minutes and time out.
test("reads many CRs in linear time", () => {
  expect(linesOf(utf8(`${"\r".repeat(500_000)}x${"\r".repeat(500_000)}`)).join("")).toBe("x");
});

test("readOutput yields to the event loop", async () => {
  const bytes = utf8(Array.from({ length: 30_000 }, (_, index) => `line ${index}`).join("\n"));
  const whole = listener();
  readOutputSync(bytes, whole.parser, true);
  const sliced = listener();
  let others = 0;
  let done = false;
  const slow: ReadingParser = {
    line: (text) => {
      // Slower than a slice, so that the reader must yield.
      for (const until = performance.now() + 0.001; performance.now() < until; );
      sliced.parser.line(text);
    },
    finish: sliced.parser.finish,
  };
  const beat = () => {
    others++;
    if (!done) setImmediate(beat);
  };
  setImmediate(beat);
  await readOutput(bytes, slow, true);
  done = true;
  expect(sliced.lines).toEqual(whole.lines);
  expect(sliced.ends).toEqual(whole.ends);
  expect(others).toBeGreaterThan(0);
});
