/**
 * Compares an output with the one that a document shows. Numbers, times and keys may differ. `…` matches
 * any text, or any lines if it is alone on a line. The rest must be equal.
 */

/** Returns how the outputs differ, or null. */
export function difference(shown: string, real: string, isOpenEnded = false): string | null {
  if (shown.trimStart().startsWith("{")) return jsonDifference(shown, real);
  if (isCsv(shown)) return csvDifference(shown, real);
  const expected = linesOf(shown);
  const found = match(expected, linesOf(real), isOpenEnded);
  if (found === null) return null;
  const missing = expected[found];
  if (missing === undefined) return `there is more than what is shown:\n${real}`;
  return `no line is (or not at that place)\n  ${missing}\nin\n${real}`;
}

/**
 * Returns the index of the first shown line that has no match; null if all match. Returns the number of
 * shown lines if the real text has further lines.
 */
function match(shown: readonly string[], real: readonly string[], isOpenEnded: boolean): number | null {
  let furthest = 0;
  const from = (i: number, j: number): boolean => {
    furthest = Math.max(furthest, i);
    const line = shown[i];
    if (line === undefined) return isOpenEnded || j === real.length;
    if (line === "…") return from(i + 1, j) || (j < real.length && from(i, j + 1));
    const actual = real[j];
    return actual !== undefined && isLine(line, actual) && from(i + 1, j + 1);
  };
  return from(0, 0) ? null : furthest;
}

function isLine(shown: string, real: string): boolean {
  const json = shown.indexOf('{"');
  if (json >= 0) return shape(shown.slice(0, json)) === shape(real.slice(0, json)) && hasKeys(shown, real);
  const pattern = shape(shown).split("…").map(escaped).join(".*");
  return new RegExp(`^${pattern}$`).test(shape(real));
}

/** Replaces numbers by `#`: columns of a table row, and dates as a whole. */
function shape(line: string): string {
  return line
    .replace(/\blmk_[\w-]+/g, "lmk_")
    .replace(/\b[0-9a-f]{7,40}\b(?=\))/g, "#")
    .replace(/-?\d[\d\s.,:/TZ-]*\d(Z\b)?|-?\d/g, "#")
    .replace(/\s+/g, " ")
    .trim();
}

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

function linesOf(text: string): string[] {
  const lines = text.split("\n").map((line) => line.trimEnd());
  return lines.filter((line) => line !== "");
}

function jsonDifference(shown: string, real: string): string | null {
  try {
    JSON.parse(real);
  } catch {
    return `this is no JSON:\n${real}`;
  }
  return hasKeys(shown, real) ? null : `not all shown keys are there, in their order:\n${real}`;
}

/**
 * Reports whether both texts have the same keys in the same order. The real text may have more keys at an
 * `…`.
 */
function hasKeys(shown: string, real: string): boolean {
  const parts = shown.split("…").map(keysOf);
  const keys = keysOf(real);
  let at = 0;
  for (const [index, part] of parts.entries()) {
    let place = keys.findIndex((_, from) => from >= at && part.every((key, i) => keys[from + i] === key));
    if (index === 0 && place !== 0) place = -1;
    if (place === -1) return false;
    at = place + part.length;
  }
  return shown.includes("…") || at === keys.length;
}

const keysOf = (text: string) => [...text.matchAll(/"(\w+)":/g)].map(([, key]) => key);

const isCsv = (text: string) => /^[\w.]+(,[\w.]+)+(,…)?\n/.test(`${text}\n`);

function csvDifference(shown: string, real: string): string | null {
  const [head = "", ...rows] = linesOf(shown);
  const [realHead = "", ...realRows] = linesOf(real);
  const names = head.replace(/,…$/, "");
  if (head.endsWith("…") ? !realHead.startsWith(`${names},`) : realHead !== names)
    return `the columns are others:\n${realHead}`;
  return realRows.length < rows.filter((row) => row !== "…").length ? `there are fewer rows:\n${real}` : null;
}
