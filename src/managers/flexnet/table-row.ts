import { parseExpiry } from "../../domain/expiry.ts";
import { type Expiry, UNKNOWN_EXPIRY } from "../../domain/reading.ts";
import { wordBounds } from "./scan.ts";

/** The order of the last two columns: old tools print Expires first, newer ones Vendor. */
export type TableOrder = "expires-vendor" | "vendor-expires";

/** A row of the table that `lmstat -i` adds: one line of the license file. */
export interface TableRow {
  readonly feature: string;
  readonly version: string;
  /** Null when uncounted (printed as `0` or `uncounted`). */
  readonly count: number | null;
  readonly vendor: string;
  readonly expiry: Expiry;
  /** False when the expiry text was not (wholly) understood. */
  readonly understood: boolean;
}

const HEADER = /^Feature\s+Version\s+#\s?licen[sc]es\s+(Expires|Vendor)\s+(?:Vendor|Expires)[ \t]*$/i;
const EXPIRY_START = /^(?:permanent|\d{1,2}-[a-z]{3}-\d)/i;
const COUNT = /^(?:\d{1,15}|uncounted)$/i;

/** The heading of the table, which tells the order of its columns; null when the line is none. */
export function parseTableHeader(trimmed: string): TableOrder | null {
  const found = HEADER.exec(trimmed);
  if (found === null) return null;
  return found[1]?.toLowerCase() === "expires" ? "expires-vendor" : "vendor-expires";
}

/**
 * `feature version count vendor expiry…` or `feature version count expiry… vendor`, read from the expiry,
 * which may hold blanks (`permanent(no expiration date)`). Null when the line is no row.
 */
export function parseTableRow(text: string, order: TableOrder, zone: string): TableRow | null {
  const bounds = wordBounds(text, 0, text.length);
  const words = bounds.length / 2;
  const word = (index: number) => text.slice(bounds[2 * index], bounds[2 * index + 1]);
  const vendorLast = order === "expires-vendor";

  let expiryAt = words - (vendorLast ? 2 : 1);
  while (expiryAt > 0 && !EXPIRY_START.test(word(expiryAt))) expiryAt--;
  // An expiry that nobody can read still leaves the other columns where they are.
  if (expiryAt <= 0) expiryAt = vendorLast ? 3 : 4;

  const countAt = vendorLast ? expiryAt - 1 : expiryAt - 2;
  if (countAt < 2 || expiryAt >= words - (vendorLast ? 1 : 0)) return null;
  const countText = word(countAt);
  if (!COUNT.test(countText)) return null;
  const number = Number(countText);
  const expiryEnd = vendorLast ? words - 2 : words - 1;
  const expiry = parseExpiry(text.slice(bounds[2 * expiryAt], bounds[2 * expiryEnd + 1]), zone);
  return {
    feature: text.slice(bounds[0], bounds[2 * (countAt - 2) + 1]),
    version: word(countAt - 1),
    count: number > 0 ? number : null,
    vendor: vendorLast ? word(words - 1) : word(countAt + 1),
    expiry: expiry?.expiry ?? UNKNOWN_EXPIRY,
    understood: expiry !== null && expiry.rest === "",
  };
}
