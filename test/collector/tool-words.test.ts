import { expect, test } from "bun:test";
import { MAX_DETAILS, quoteOutput, quoteWords } from "../../src/collector/poll-error.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

test("control characters are escaped, lines stay lines", () => {
  expect(quoteWords("  a\tb\r\nc\x1b[31m\x07\u202e\u2028 ")).toBe("a\\tb\nc\\x1b[31m\\x07\\u202e");
  expect(quoteWords("a\rb")).toBe("a\\rb");
  expect(quoteWords(" \r\n\t")).toBeNull();
});

test("cut at 2,000 characters, never inside a character", () => {
  expect(quoteWords("x".repeat(MAX_DETAILS))?.length).toBe(MAX_DETAILS);
  const cut = quoteWords(`${"x".repeat(MAX_DETAILS - 2)}😀😀`);
  expect(cut?.length).toBe(MAX_DETAILS);
  expect(cut?.isWellFormed()).toBe(true);
  expect(quoteWords("\x1b".repeat(5000))?.length).toBe(MAX_DETAILS);
});

test("complaints come first", () => {
  expect(quoteOutput(bytes("out\n"), bytes("err\n"))).toBe("err\nout");
  expect(quoteOutput(bytes(""), bytes(" \n"))).toBeNull();
  expect(quoteOutput(Buffer.from("München", "latin1"), bytes(""))).toBe("München");
});
