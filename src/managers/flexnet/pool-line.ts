import { parseExpiry } from "../../domain/expiry.ts";
import { type Expiry, UNKNOWN_EXPIRY } from "../../domain/reading.ts";
import type { PoolKind } from "../../domain/words.ts";
import { trimBlanks } from "./scan.ts";

/** `"NAME" vVERSION, vendor: DAEMON[, expiry: DATE]`; the name may differ from the block's and is not used. */
export interface PoolLine {
  readonly version: string | null;
  readonly vendor: string;
  readonly expiry: Expiry;
  /** False when the expiry text was not (wholly) understood. */
  readonly understood: boolean;
}

const VENDOR = ", vendor: ";
const EXPIRY = ", expiry: ";
const KIND = /^(uncounted )?(floating|node-?locked) license\b/i;

/** Read from the right, because the quoted name may hold anything. Null when the line is no pool line. */
export function parsePool(trimmed: string, zone: string): PoolLine | null {
  if (!trimmed.startsWith('"')) return null;
  const vendorAt = trimmed.lastIndexOf(VENDOR);
  if (vendorAt === -1) return null;
  const quote = trimmed.lastIndexOf('"', vendorAt);
  if (quote < 1) return null;
  const version = trimBlanks(trimmed.slice(quote + 1, vendorAt));
  if (version.includes(" ")) return null;
  const rest = trimmed.slice(vendorAt + VENDOR.length);
  const expiryAt = rest.indexOf(EXPIRY);
  const vendor = trimBlanks(expiryAt === -1 ? rest : rest.slice(0, expiryAt));
  const base = { version: version === "" ? null : version, vendor };
  if (expiryAt === -1) return { ...base, expiry: UNKNOWN_EXPIRY, understood: true };
  const parsed = parseExpiry(rest.slice(expiryAt + EXPIRY.length), zone);
  if (parsed === null) return { ...base, expiry: UNKNOWN_EXPIRY, understood: false };
  return { ...base, expiry: parsed.expiry, understood: parsed.rest === "" };
}

/** `floating license`, `nodelocked license, locked to "ID=…"`, `uncounted nodelocked license locked to NOTHING …`. */
export function parseKind(trimmed: string): PoolKind | null {
  const found = trimmed.includes(" license") ? KIND.exec(trimmed) : null;
  if (found === null) return null;
  if (found[1] !== undefined) return "uncounted";
  return found[2]?.toLowerCase() === "floating" ? "floating" : "nodelocked";
}

const VENDOR_STRING = "vendor_string:";

/** The text behind `vendor_string:`, untouched; null when the line is none. */
export function parseVendorString(trimmedStart: string): string | null {
  if (!trimmedStart.startsWith(VENDOR_STRING)) return null;
  const text = trimmedStart.slice(VENDOR_STRING.length);
  return text.startsWith(" ") ? text.slice(1) : text;
}
