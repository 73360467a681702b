import { decodeOutput } from "../managers/read-output.ts";

/** Longest `details` of a poll's error, in characters. */
export const MAX_DETAILS = 2000;

/** Control characters but LF, line separators, and the marks that turn the direction of text. */
const UNPRINTABLE =
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/**
 * A tool's own words, fit for a JSON answer, a log and a terminal: control characters escaped, cut at 2,000 characters.
 * Null when there is nothing but blanks.
 */
export function quoteWords(text: string): string | null {
  // Cut first as well, so that the work does not grow with the output.
  const plain = text
    .slice(0, MAX_DETAILS * 2)
    .replaceAll("\r\n", "\n")
    .trim();
  if (plain === "") return null;
  const escaped = plain.replace(UNPRINTABLE, escapeCharacter);
  if (escaped.length <= MAX_DETAILS) return escaped.toWellFormed();
  return `${escaped.slice(0, MAX_DETAILS - 1)}…`.toWellFormed();
}

/** What a tool said on both streams, what it complained of first. */
export function quoteOutput(stdout: Uint8Array, stderr: Uint8Array): string | null {
  const head = (bytes: Uint8Array) => decodeOutput(bytes.subarray(0, MAX_DETAILS * 4)).trim();
  return quoteWords([head(stderr), head(stdout)].filter((words) => words !== "").join("\n"));
}

function escapeCharacter(character: string): string {
  if (character === "\t") return "\\t";
  if (character === "\r") return "\\r";
  const code = character.charCodeAt(0);
  return code < 0x100
    ? `\\x${code.toString(16).padStart(2, "0")}`
    : `\\u${code.toString(16).padStart(4, "0")}`;
}
