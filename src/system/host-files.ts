import { readFileSync } from "node:fs";

/** A small text file of /proc, /sys or /etc; null when it is not there or may not be read. */
export type ReadFile = (path: string) => string | null;

export const readSystemFile: ReadFile = (path) => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
};

/** A file that holds one number; null for anything else, e.g. `max`. */
export function numberIn(text: string | null): number | null {
  const trimmed = text?.trim() ?? "";
  return /^\d+$/.test(trimmed) ? Number(trimmed) : null;
}

/** The number behind a name in lines of `name value` or `Name:  value kB`; null when it is not there. */
export function fieldIn(text: string, name: string): number | null {
  for (const line of text.split("\n")) {
    if (!line.startsWith(name)) continue;
    const found = /^:?\s+(\d+)/.exec(line.slice(name.length));
    if (found !== null) return Number(found[1]);
  }
  return null;
}
