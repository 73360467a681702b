import { endOfText, isDigit, skipBlanks, twoDigits } from "../scan.ts";

/** A product and its version, as the pool section heads them. */
export interface Owner {
  readonly product: string;
  readonly version: string | null;
}

/** What a usage line says, all as printed. */
export interface UsageLine {
  /** The license that the seat was taken from. */
  readonly owner: Owner;
  readonly user: string;
  readonly host: string | null;
  /** Version the client asked for, where the tool prints it (rlmstat before v3 and `-f`). */
  readonly requested: string | null;
  readonly counts: Counts;
  readonly handle: string | null;
  /** Text the application attached (`rlmstat -I`). */
  readonly isvData: string | null;
  readonly roaming: boolean;
}

/** ` A/B at MM/DD HH:MM[:SS][  (handle: H)][ roam]`, and where it begins. */
interface Counts {
  readonly begin: number;
  /** A: seats. */
  readonly seats: number;
  /** B: seats taken from a reservation. */
  readonly reserved: number;
  readonly month: number;
  readonly day: number;
  /** Of the day; infinite for a time that no clock shows. */
  readonly minutes: number;
  readonly handle: string | null;
  readonly roaming: boolean;
}

export type Headers = ReturnType<typeof createHeaders>;

/** Headers of the pool section, to tell the colons in a product's name from the one behind it. */
export function createHeaders() {
  const owners = new Map<string, Owner>();
  /** Spares the look at most colons. */
  const lengths = new Set<number>();
  /** The header that was found last, with its mark: the next line nearly always has the same. */
  let last = "";
  let lastOwner: Owner | undefined;
  return {
    add(owner: Owner): void {
      const header = owner.version === null ? owner.product : `${owner.product} ${owner.version}`;
      owners.set(header, owner);
      lengths.add(header.length);
      lastOwner = undefined;
    },
    /** The one that ends at the first such `mark` before `end`. */
    find(line: string, begin: number, end: number, mark: ":" | ": "): Owner | undefined {
      const cached = lastOwner !== undefined && mark === ": " && begin + last.length <= end;
      if (cached && line.startsWith(last, begin)) return lastOwner;
      let at = line.indexOf(mark, begin);
      for (; at !== -1 && at + mark.length <= end; at = line.indexOf(mark, at + 1)) {
        const owner = lengths.has(at - begin) ? owners.get(line.slice(begin, at)) : undefined;
        if (owner === undefined) continue;
        if (mark === ": ") {
          last = line.slice(begin, at + mark.length);
          lastOwner = owner;
        }
        return owner;
      }
      return undefined;
    },
  };
}

const REQUESTED = /^(.*)\((v[^\s()]*)\) \(([0-9A-Fa-f]+)\)$/s;
const WITH_VERSION = /^(.+) (v\S+)$/s;

/**
 * `PRODUCT vVER: USER@HOST A/B at MM/DD HH:MM  (handle: 36a5) [I: data]`, taken apart from the right, because
 * everything on the left may hold blanks, colons and more than one `@`: the host is what stands behind the last `@`.
 * The old form `PRODUCT vVER: USER@HOST(vREQUESTED) (HANDLE) A/B at …` is understood too. Null for other lines.
 * By hand and not by expressions: these lines are nearly all of a large output.
 */
export function parseUsageLine(line: string, headers: Headers): UsageLine | null {
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
    requested: old?.[2] ?? null,
    counts,
    handle: counts.handle ?? old?.[3] ?? null,
    isvData: beforeData === null ? null : line.slice(dataAt + 4, end - 1),
    roaming: counts.roaming || (host !== null && host.length <= 7 && /^roam(?:ing)?$/i.test(host)),
  };
}

/** In `PRODUCT vVER: USER`, without a known header, the first colon behind a version ends the product, else the first. */
function ownerOf(line: string, begin: number, end: number): Owner | null {
  const first = line.indexOf(": ", begin);
  for (let colon = first; colon !== -1 && colon + 2 <= end; colon = line.indexOf(": ", colon + 1)) {
    const blank = line.lastIndexOf(" ", colon - 1);
    if (blank > begin && line[blank + 1] === "v" && colon - blank > 2)
      return takeVersion(line.slice(begin, colon));
  }
  return first <= begin || first + 2 > end ? null : takeVersion(line.slice(begin, first));
}

/** `PRODUCT vVER` → both; the version is null where none is printed. */
export function takeVersion(text: string): Owner {
  const [, product = text, version = null] = WITH_VERSION.exec(text) ?? [];
  return { product, version };
}

const ROAMING = /^\(?roam(?:ing|ed)?\)?$/i;
const HANDLE = "(handle: ";
const HEX = /^[0-9a-f]+$/i;

const SPACE = 0x20;
const CLOSE = 0x29;
const SLASH = 0x2f;
const COLON = 0x3a;
const CLOSE_BRACKET = 0x5d;

function parseCounts(line: string, end: number): Counts | null {
  const at = line.lastIndexOf(" at ", end - 1);
  if (at === -1 || at + 15 > end) return null;
  const month = twoDigits(line, at + 4);
  const day = twoDigits(line, at + 7);
  const hour = twoDigits(line, at + 10);
  const minute = twoDigits(line, at + 13);
  if (month < 0 || day < 0 || hour < 0 || minute < 0 || line.charCodeAt(at + 6) !== SLASH) return null;
  if (line.charCodeAt(at + 9) !== SPACE || line.charCodeAt(at + 12) !== COLON) return null;

  const slash = digitsBefore(line, at) - 1;
  if (slash + 1 === at || line.charCodeAt(slash) !== SLASH) return null;
  const begin = digitsBefore(line, slash) - 1;
  if (begin + 1 === slash || line.charCodeAt(begin) !== SPACE) return null;

  let rest = at + 15;
  if (line.charCodeAt(rest) === COLON && twoDigits(line, rest + 1) >= 0) rest += 3;
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
  const seats = Number(line.slice(begin + 1, slash));
  const reserved = Number(line.slice(slash + 1, at));
  const minutes = hour > 23 || minute > 59 ? Number.POSITIVE_INFINITY : hour * 60 + minute;
  return { begin, seats, reserved, month, day, minutes, handle, roaming };
}

/** Where the digits before `end` begin; at most nine, for RLM counts no more. */
function digitsBefore(line: string, end: number): number {
  let begin = end;
  while (end - begin < 9 && isDigit(line.charCodeAt(begin - 1))) begin--;
  return begin;
}
