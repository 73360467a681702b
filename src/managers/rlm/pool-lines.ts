import { parseExpiry } from "../../domain/expiry.ts";
import { type Expiry, UNKNOWN_EXPIRY } from "../../domain/reading.ts";
import { takeVersion } from "./usage-line.ts";

/** No product of a license file comes near this; what is longer is junk. */
const MAX_HEADER = 1024;

/** `PRODUCT vVER, pool: 3`; version and pool number are each missing in some outputs. */
export interface PoolHeader {
  readonly product: string;
  readonly version: string | null;
  readonly number: string | null;
  /** It has a version or a pool number. A bare word is a header only when a line of counts follows. */
  readonly certain: boolean;
}

const POOL_NUMBER = /^(.*), pool: (\w+)$/s;

export function parsePoolHeader(line: string): PoolHeader | null {
  const text = line.trim();
  if (text === "" || text.length > MAX_HEADER) return null;
  const numbered = POOL_NUMBER.exec(text);
  const { product, version } = takeVersion(numbered?.[1] ?? text);
  if (product === "") return null;
  const number = numbered?.[2] ?? null;
  return { product, version, number, certain: version !== null || number !== null };
}

/** What a line of counts says; undefined where it does not say it. */
export interface PoolCounts {
  readonly kind: "counted" | "uncounted" | "token";
  readonly total: number | null;
  readonly used: number | null;
  readonly reserved: number | null;
  readonly expiry: Expiry;
  /** Something stood in the line that no rule knows, although the rest was understood. */
  readonly unknownRest: boolean;
}

const KEYS = new Set(["count", "# reservations", "inuse", "exp"]);
const NUMBER = /^\d{1,15}$/;
const TOKEN_BASED = /^\s*token-based license\s*$/i;
const BEGINS = /^\s*(?:count:|UNCOUNTED\b|# reservations:|inuse:)/;

/**
 * `count: 45, # reservations: 0, inuse: 3, exp: 31-jan-2022`, `UNCOUNTED, inuse: 2[, exp: …]` or
 * `Token-based license`. Null when the line is none of them or a number in it is none.
 */
export function parsePoolCounts(line: string, zone: string): PoolCounts | null {
  let kind: PoolCounts["kind"] = TOKEN_BASED.test(line) ? "token" : "counted";
  if (kind === "counted" && !BEGINS.test(line)) return null;
  const counts = new Map<string, number>();
  let expiry = UNKNOWN_EXPIRY;
  let unknownRest = false;
  for (const part of kind === "token" ? [] : line.trim().split(", ")) {
    if (part === "UNCOUNTED" || /^count: (?:unlimited|uncounted)$/i.test(part)) {
      kind = "uncounted";
      continue;
    }
    const colon = part.indexOf(":");
    const key = colon === -1 ? "" : part.slice(0, colon);
    const value = part.slice(colon + 1).trim();
    if (key === "exp") {
      const parsed = parseExpiry(value, zone);
      if (parsed === null || parsed.rest !== "") unknownRest = true;
      if (parsed !== null) expiry = parsed.expiry;
    } else if (!KEYS.has(key)) unknownRest = true;
    else if (NUMBER.test(value)) counts.set(key, Number(value));
    else return null;
  }
  return {
    kind,
    total: kind === "counted" ? (counts.get("count") ?? null) : null,
    used: counts.get("inuse") ?? null,
    reserved: counts.get("# reservations") ?? null,
    expiry,
    unknownRest,
  };
}

const DETAIL =
  /^(?:obsolete|min_remove|total checkouts|soft_limit|hold|max_roam|max_share|min_checkout|min_timeout|timeout|share|tz|hbased|user_based|host_based|named_user|roaming|roam_allowed): \S{1,80}$/;

/** `obsolete: 0, min_remove: 120, total checkouts: 26`: closes a counted pool; its numbers are not kept. */
export function isPoolDetail(line: string): boolean {
  const text = line.trim();
  return text.length < MAX_HEADER && text.split(", ").every((part) => DETAIL.test(part));
}
