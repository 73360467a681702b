/** Sizes as in the config: `256MB` (powers of 1000, as disks are sold) or `256MiB` (powers of 1024). */

const UNIT_BYTES: Readonly<Record<string, number>> = {
  "": 1,
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KIB: 2 ** 10,
  MIB: 2 ** 20,
  GIB: 2 ** 30,
  TIB: 2 ** 40,
};

const SIZE = /^(\d{1,15}) ?([KMGT]?i?B)?$/i;

export const SIZE_FORM = "a whole number with kB, MB, GB, TB, KiB, MiB, GiB or TiB";

/** Parses a size into bytes; null if invalid. */
export function parseBytes(text: string): number | null {
  const found = SIZE.exec(text);
  if (found === null) return null;
  const unit = UNIT_BYTES[(found[2] ?? "").toUpperCase()];
  const bytes = unit === undefined ? Number.NaN : Number(found[1]) * unit;
  return Number.isSafeInteger(bytes) ? bytes : null;
}

const LARGEST_FIRST = [
  ["TB", 1e12],
  ["GB", 1e9],
  ["MB", 1e6],
  ["kB", 1e3],
] as const;

/** Formats a size with at most three significant digits: `256 MB`, `1.5 GB`, `980 B`. */
export function printBytes(bytes: number): string {
  const [unit, size] = LARGEST_FIRST.find(([, size]) => bytes >= size) ?? ["B", 1];
  return `${Number((bytes / size).toPrecision(3))} ${unit}`;
}
