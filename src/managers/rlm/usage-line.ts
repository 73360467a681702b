import { endOfText, isDigit, skipBlanks, twoDigits } from "../scan.ts";

/** What a usage line says, all as printed. */
export interface UsageLine {
  readonly product: string;
  /** Version of the license the seat was taken from, e.g. `v3.0`. */
  readonly version: string | null;
  readonly user: string;
  readonly host: string | null;
  /** Version the client asked for, where the tool prints it (rlmstat before v3 and `-f`). */
  readonly requested: string | null;
  /** The first number of `A/B`: seats. */
  readonly seats: number;
  /** The second number: seats taken from a reservation. */
  readonly reserved: number;
  /** Of the checkout; the year is not printed. */
  readonly month: number;
  readonly day: number;
  /** Of the day. */
  readonly minutes: number;
  readonly handle: string | null;
  /** Text the application attached (`rlmstat -I`). */
  readonly isvData: string | null;
  readonly roaming: boolean;
}

/** A product and its version, as the pool section heads them. */
export interface Owner {
  readonly product: string;
  readonly version: string | null;
}

/** Headers of the pool section, to tell the colons in a product's name from the one behind it. */
export interface KnownProducts {
  owner(header: string): Owner | undefined;
  /** Whether some header has this length: spares the look at most colons. */
  hasLength(length: number): boolean;
}

const REQUESTED = /^(.*)\((v[^\s()]*)\) \(([0-9A-Fa-f]+)\)$/s;
const WITH_VERSION = /^(.+) (v\S+)$/s;

/**
 * `PRODUCT vVER: USER@HOST A/B at MM/DD HH:MM  (handle: 36a5) [I: data]`, taken apart from the right, because
 * everything on the left may hold blanks, colons and more than one `@`: the host is what stands behind the last `@`.
 * The old form `PRODUCT vVER: USER@HOST(vREQUESTED) (HANDLE) A/B at …` is understood too. Null for other lines.
 * By hand and not by expressions: these lines are nearly all of a large output.
 */
export function parseUsageLine(line: string, products: KnownProducts): UsageLine | null {
  const begin = skipBlanks(line, 0);
  const end = endOfText(line, 0, line.length);
  const dataAt = line[end - 1] === "]" ? line.lastIndexOf("[I: ", end) : -1;
  let counts = dataAt === -1 ? null : parseCounts(line, endOfText(line, 0, dataAt));
  const isvData = counts === null ? null : line.slice(dataAt + 4, end - 1);
  counts ??= parseCounts(line, end);
  if (counts === null || counts.begin <= begin) return null;

  const old = line[counts.begin - 1] === ")" ? REQUESTED.exec(line.slice(begin, counts.begin)) : null;
  const whoEnd = old === null ? counts.begin : begin + (old[1] ?? "").length;
  const at = line.lastIndexOf("@", whoEnd - 1);
  const userEnd = at < begin ? whoEnd : at;
  const found = findOwner(line, begin, userEnd, products);
  if (found === null) return null;
  const { owner, colon } = found;
  const host = at < begin || at + 1 === whoEnd ? null : line.slice(at + 1, whoEnd);
  return {
    product: owner.product,
    version: owner.version,
    user: line.slice(colon + 2, userEnd),
    host,
    requested: old?.[2] ?? null,
    seats: counts.seats,
    reserved: counts.reserved,
    month: counts.month,
    day: counts.day,
    minutes: counts.minutes,
    handle: counts.handle ?? old?.[3] ?? null,
    isvData,
    roaming: counts.roaming || isRoamHost(host),
  };
}

function isRoamHost(host: string | null): boolean {
  return host !== null && host.length <= 7 && /^roam(?:ing)?$/i.test(host);
}

/** Whose line this is by a header of the pool section in front of a colon, whatever stands behind it. */
export function knownOwner(line: string, products: KnownProducts): Owner | null {
  const begin = skipBlanks(line, 0);
  for (let colon = line.indexOf(":", begin); colon !== -1; colon = line.indexOf(":", colon + 1)) {
    const owner = products.hasLength(colon - begin) ? products.owner(line.slice(begin, colon)) : undefined;
    if (owner !== undefined) return owner;
  }
  return null;
}

/** In `PRODUCT vVER: USER` the first colon behind a header of the pool section, else behind a version, else the first. */
function findOwner(
  line: string,
  begin: number,
  end: number,
  products: KnownProducts,
): { readonly owner: Owner; readonly colon: number } | null {
  let byVersion = -1;
  let first = -1;
  for (
    let colon = line.indexOf(": ", begin);
    colon !== -1 && colon + 2 <= end;
    colon = line.indexOf(": ", colon + 1)
  ) {
    const owner = products.hasLength(colon - begin) ? products.owner(line.slice(begin, colon)) : undefined;
    if (owner !== undefined) return { owner, colon };
    if (first === -1) first = colon;
    if (byVersion === -1 && endsWithVersion(line, begin, colon)) byVersion = colon;
  }
  const colon = byVersion === -1 ? first : byVersion;
  return colon <= begin ? null : { owner: takeVersion(line.slice(begin, colon)), colon };
}

/** True when the word before the colon is a version with something before it. */
function endsWithVersion(line: string, begin: number, colon: number): boolean {
  const blank = line.lastIndexOf(" ", colon - 1);
  return blank > begin && line[blank + 1] === "v" && colon - blank > 2;
}

/** `PRODUCT vVER` → both; the version is null where none is printed. */
export function takeVersion(text: string): Owner {
  const found = WITH_VERSION.exec(text);
  return found === null
    ? { product: text, version: null }
    : { product: found[1] ?? text, version: found[2] ?? null };
}

/** What stands behind the host, and where it begins. */
interface Counts {
  readonly begin: number;
  readonly seats: number;
  readonly reserved: number;
  readonly month: number;
  readonly day: number;
  readonly minutes: number;
  readonly handle: string | null;
  readonly roaming: boolean;
}

const ROAMING = /^\(?roam(?:ing|ed)?\)?$/i;
const HANDLE = "(handle: ";
const HEX = /^[0-9a-f]+$/i;

/** ` A/B at MM/DD HH:MM[:SS][  (handle: H)][ roam]` before `end`. */
function parseCounts(line: string, end: number): Counts | null {
  const at = line.lastIndexOf(" at ", end - 1);
  if (at === -1 || at + 15 > end) return null;
  const month = twoDigits(line, at + 4);
  const day = twoDigits(line, at + 7);
  const hour = twoDigits(line, at + 10);
  const minute = twoDigits(line, at + 13);
  if (month < 0 || day < 0 || hour < 0 || minute < 0) return null;
  if (line[at + 6] !== "/" || line[at + 9] !== " " || line[at + 12] !== ":") return null;

  const slash = digitsBefore(line, at) - 1;
  if (slash + 1 === at || line[slash] !== "/") return null;
  const blank = digitsBefore(line, slash) - 1;
  if (blank + 1 === slash || line[blank] !== " ") return null;

  let rest = at + 15;
  if (line[rest] === ":" && twoDigits(line, rest + 1) >= 0) rest += 3;
  let handle: string | null = null;
  const handleAt = skipBlanks(line, rest);
  if (line.startsWith(HANDLE, handleAt)) {
    const close = line.indexOf(")", handleAt);
    if (close === -1 || close > end) return null;
    handle = line.slice(handleAt + HANDLE.length, close);
    if (!HEX.test(handle)) return null;
    rest = close + 1;
  }
  const roaming = rest < end;
  if (roaming && (end - rest > 20 || !ROAMING.test(line.slice(rest, end).trim()))) return null;
  return {
    begin: blank,
    seats: Number(line.slice(blank + 1, slash)),
    reserved: Number(line.slice(slash + 1, at)),
    month,
    day,
    minutes: hour > 23 || minute > 59 ? Number.POSITIVE_INFINITY : hour * 60 + minute,
    handle,
    roaming,
  };
}

/** Where the digits before `end` begin; at most nine, for RLM counts no more. */
function digitsBefore(line: string, end: number): number {
  let begin = end;
  while (end - begin < 9 && isDigit(line.charCodeAt(begin - 1))) begin--;
  return begin;
}
