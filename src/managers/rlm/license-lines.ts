import { parseExpiry } from "../../domain/expiry.ts";
import { type Expiry, UNKNOWN_EXPIRY } from "../../domain/reading.ts";
import { endOfText, execAt, isDigit, skipBlanks } from "../blanks-and-digits.ts";

const MAX_HEADER = 1024;

const POOL_NUMBER = /^(.*), pool: (\w+)$/s;

export type PoolHeader = NonNullable<ReturnType<typeof parsePoolHeader>>;

/** Parses `PRODUCT vVER, pool: 3`. A line without version and number is a header only if a line of counts follows. */
export function parsePoolHeader(line: string) {
  const text = line.trim();
  if (text === "" || text.length > MAX_HEADER) return null;
  const numbered = POOL_NUMBER.exec(text);
  const { product, version } = takeVersion(numbered?.[1] ?? text);
  if (product === "") return null;
  const number = numbered?.[2] ?? null;
  return { product, version, number, certain: version !== null || number !== null };
}

export interface PoolCounts {
  readonly kind: "counted" | "uncounted" | "token";
  readonly total: number | null;
  readonly used: number | null;
  readonly reserved: number | null;
  readonly expiry: Expiry;
  readonly unknownRest: boolean;
}

const KEYS = new Set(["count", "# reservations", "inuse", "exp"]);
const NUMBER = /^\d{1,15}$/;
const TOKEN_BASED = /^\s*token-based license\s*$/i;
const BEGINS = /^\s*(?:count:|UNCOUNTED\b|# reservations:|inuse:)/;

/**
 * Parses `count: 45, # reservations: 0, inuse: 3, exp: …`, `UNCOUNTED, inuse: 2[, exp: …]` or `Token-based
 * license`.
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

/** Matches `obsolete: 0, min_remove: 120, total checkouts: 26`, the last line of a counted pool. */
export function isPoolDetail(line: string): boolean {
  const text = line.trim();
  return text.length < MAX_HEADER && text.split(", ").every((part) => DETAIL.test(part));
}

interface Owner {
  readonly product: string;
  readonly version: string | null;
}

export type UsageLine = NonNullable<ReturnType<typeof parseUsageLine>>;
type Headers = ReturnType<typeof createHeaders>;

/** Collects the headers of the pool section, which show where a product's name ends and its user begins. */
export function createHeaders() {
  const owners = new Map<string, Owner>();
  /** Lengths of the headers, used to skip most colons without a look-up. */
  const lengths = new Set<number>();
  return {
    add(owner: Owner): void {
      const header = owner.version === null ? owner.product : `${owner.product} ${owner.version}`;
      owners.set(header, owner);
      lengths.add(header.length);
    },
    /** Returns the header that ends at the first matching `mark` before `end`. */
    find(line: string, begin: number, end: number, mark: ":" | ": "): Owner | undefined {
      let at = line.indexOf(mark, begin);
      for (; at !== -1 && at + mark.length <= end; at = line.indexOf(mark, at + 1)) {
        const owner = lengths.has(at - begin) ? owners.get(line.slice(begin, at)) : undefined;
        if (owner !== undefined) return owner;
      }
      return undefined;
    },
  };
}

const REQUESTED = /^(.*)\((v[^\s()]*)\) \(([0-9A-Fa-f]+)\)$/s;
const WITH_VERSION = /^(.+) (v\S+)$/s;

/**
 * Parses `PRODUCT vVER: USER@HOST A/B at MM/DD HH:MM  (handle: 36a5) [I: data]` and the old `PRODUCT vVER:
 * USER@HOST(vREQUESTED) (HANDLE) A/B at …` from the right: the left part may contain blanks, colons and
 * several `@`. Most lines of a large output are usage lines, so expressions would be too slow.
 */
export function parseUsageLine(line: string, headers: Headers) {
  const begin = skipBlanks(line, 0);
  const end = endOfText(line, 0, line.length);
  const dataAt = line.charCodeAt(end - 1) === CLOSE_BRACKET ? line.lastIndexOf("[I: ", end) : -1;
  const beforeData = dataAt === -1 ? null : parseCounts(line, endOfText(line, 0, dataAt));
  const counts = beforeData ?? parseCounts(line, end);
  if (counts === null || counts.begin <= begin) return null;

  const isOld = line.charCodeAt(counts.begin - 1) === CLOSE;
  const old = isOld ? REQUESTED.exec(line.slice(begin, counts.begin)) : null;
  const whoEnd = old === null ? counts.begin : begin + (old[1] ?? "").length;
  const at = line.lastIndexOf("@", whoEnd - 1);
  const userEnd = at < begin ? whoEnd : at;
  const owner = headers.find(line, begin, userEnd, ": ") ?? ownerOf(line, begin, userEnd);
  if (owner === null) return null;
  const header =
    owner.version === null ? owner.product.length : owner.product.length + 1 + owner.version.length;
  const host = at < begin || at + 1 === whoEnd ? null : line.slice(at + 1, whoEnd);
  return {
    owner,
    user: line.slice(begin + header + 2, userEnd),
    host,
    /** Version that the client requested, printed by rlmstat before v3 and with `-f`. */
    requested: old?.[2] ?? null,
    counts,
    handle: counts.handle ?? old?.[3] ?? null,
    /** Data attached by the application (`rlmstat -I`). */
    isvData: beforeData === null ? null : line.slice(dataAt + 4, end - 1),
    roaming: counts.roaming || (host !== null && host.length <= 7 && /^roam(?:ing)?$/i.test(host)),
  };
}

/** Without a known header, the product ends at the first colon after a version, else at the first colon. */
function ownerOf(line: string, begin: number, end: number): Owner | null {
  const first = line.indexOf(": ", begin);
  for (let colon = first; colon !== -1 && colon + 2 <= end; colon = line.indexOf(": ", colon + 1)) {
    const blank = line.lastIndexOf(" ", colon - 1);
    if (blank > begin && line[blank + 1] === "v" && colon - blank > 2)
      return takeVersion(line.slice(begin, colon));
  }
  return first <= begin || first + 2 > end ? null : takeVersion(line.slice(begin, first));
}

function takeVersion(text: string): Owner {
  const [, product = text, version = null] = WITH_VERSION.exec(text) ?? [];
  return { product, version };
}

const ROAMING = /^\(?roam(?:ing|ed)?\)?$/i;
const TIME = / at (\d\d)\/(\d\d) (\d\d):(\d\d)(?::\d\d)?(?:[ \t]*\(handle: ([0-9A-Fa-f]+)\))?/y;

const SPACE = 0x20;
const CLOSE = 0x29;
const SLASH = 0x2f;
const CLOSE_BRACKET = 0x5d;

/** Parses ` A/B at MM/DD HH:MM[:SS][  (handle: H)][ roam]`. A: seats, B: seats from a reservation. */
function parseCounts(line: string, end: number) {
  const at = line.lastIndexOf(" at ", end - 1);
  const found = at === -1 ? null : execAt(TIME, line, at);
  if (found === null) return null;
  const [month, day, hour, minute] = [Number(found[1]), Number(found[2]), Number(found[3]), Number(found[4])];

  const slash = digitsBefore(line, at) - 1;
  if (slash + 1 === at || line.charCodeAt(slash) !== SLASH) return null;
  const begin = digitsBefore(line, slash) - 1;
  if (begin + 1 === slash || line.charCodeAt(begin) !== SPACE) return null;

  const rest = TIME.lastIndex;
  const roaming = rest < end;
  if (roaming && (end - rest > 20 || !ROAMING.test(line.slice(rest, end).trim()))) return null;
  const seats = Number(line.slice(begin + 1, slash));
  const reserved = Number(line.slice(slash + 1, at));
  /** Minute of the day; infinite if the time is impossible. */
  const minutes = hour > 23 || minute > 59 ? Number.POSITIVE_INFINITY : hour * 60 + minute;
  return { begin, seats, reserved, month, day, minutes, handle: found[5] ?? null, roaming };
}

function digitsBefore(line: string, end: number): number {
  let begin = end;
  while (end - begin < 9 && isDigit(line.charCodeAt(begin - 1))) begin--;
  return begin;
}
