/** Whole lines that lmstat prints and that say nothing; true also marks the text as lmstat's. */
export function isPreamble(trimmed: string): boolean {
  return (
    COPYRIGHT.test(trimmed) ||
    DETECTING.test(trimmed) ||
    trimmed.startsWith("License file(s) on ") ||
    trimmed === "lmstat" ||
    NOTES.has(trimmed)
  );
}

/** Whole lines of anybody: separators between servers, cuts made by hand, comments of scripts. */
export function isSeparator(text: string, trimmed: string): boolean {
  return /^[-=_ \t]+$/.test(trimmed) || /^\.{3,}$/.test(trimmed) || text.startsWith("#");
}

const COPYRIGHT = /^\S{1,60} - Copyright \(c\) \d{4}/i;
const DETECTING = /^\[Detecting [^\]]*\]$/i;
const NOTES = new Set([
  "NOTE: lmstat -i does not give information from the server,",
  "but only reads the license file.  For this reason,",
  "lmstat -a is recommended instead.",
]);
