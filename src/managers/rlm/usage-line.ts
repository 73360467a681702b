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
  readonly month: string;
  readonly day: string;
  readonly hour: string;
  readonly minute: string;
  readonly handle: string | null;
  /** Text the application attached (`rlmstat -I`). */
  readonly isvData: string | null;
  readonly roaming: boolean;
}

/** Products printed in the pool section, to tell the colons in a product's name from the one behind it. */
export interface KnownProducts {
  has(product: string, version: string | null): boolean;
  /** Whether some `product vVERSION` has this length: spares the look at most colons. */
  hasLength(length: number): boolean;
}

const LINE =
  /^(.*) (\d{1,9})\/(\d{1,9}) at (\d\d)\/(\d\d) (\d\d):(\d\d)(?::\d\d)?(?: {1,9}\(handle: ([0-9A-Fa-f]+)\))?(.*)$/s;
const ROAMING = /^\(?roam(?:ing|ed)?\)?$/i;
const REQUESTED = /^(.*)\((v[^\s()]*)\) \(([0-9A-Fa-f]+)\)$/s;
const WITH_VERSION = /^(.+) (v\S+)$/s;

/**
 * `PRODUCT vVER: USER@HOST A/B at MM/DD HH:MM  (handle: 36a5) [I: data]`, taken apart from the right, because
 * everything on the left may hold blanks, colons and more than one `@`: the host is what stands behind the last `@`.
 * The old form `PRODUCT vVER: USER@HOST(vREQUESTED) (HANDLE) A/B at …` is understood too. Null for other lines.
 */
export function parseUsageLine(line: string, products: KnownProducts): UsageLine | null {
  const text = line.trim();
  const withData = splitIsvData(text);
  let found = withData === null ? null : LINE.exec(withData.head);
  const isvData = found === null ? null : (withData?.data ?? null);
  found ??= LINE.exec(text);
  if (found === null) return null;
  const [, whole = "", a = "", b = "", month = "", day = "", hour = "", minute = ""] = found;
  const tail = (found[9] ?? "").trim();
  if (tail !== "" && !ROAMING.test(tail)) return null;

  const old = whole.endsWith(")") ? REQUESTED.exec(whole) : null;
  const who = old?.[1] ?? whole;
  const at = who.lastIndexOf("@");
  const owner = splitProduct(at === -1 ? who : who.slice(0, at), products);
  if (owner === null) return null;
  const host = at === -1 ? "" : who.slice(at + 1);
  return {
    ...owner,
    host: host === "" ? null : host,
    requested: old?.[2] ?? null,
    seats: Number(a),
    reserved: Number(b),
    month,
    day,
    hour,
    minute,
    handle: found[8] ?? old?.[3] ?? null,
    isvData,
    roaming: tail !== "" || /^roam(?:ing)?$/i.test(host),
  };
}

function splitIsvData(text: string): { head: string; data: string } | null {
  if (!text.endsWith("]")) return null;
  const begin = text.lastIndexOf("[I: ");
  return begin === -1 ? null : { head: text.slice(0, begin).trimEnd(), data: text.slice(begin + 4, -1) };
}

/** `PRODUCT vVER: USER`: the first colon behind a product of the pool section, else behind a version, else the first. */
function splitProduct(
  text: string,
  products: KnownProducts,
): { product: string; version: string | null; user: string } | null {
  let byVersion = -1;
  let first = -1;
  for (let colon = text.indexOf(": "); colon !== -1; colon = text.indexOf(": ", colon + 1)) {
    if (first === -1) first = colon;
    if (products.hasLength(colon)) {
      const owner = takeVersion(text.slice(0, colon));
      if (products.has(owner.product, owner.version)) return { ...owner, user: text.slice(colon + 2) };
    }
    if (byVersion === -1 && endsWithVersion(text, colon)) byVersion = colon;
  }
  const colon = byVersion === -1 ? first : byVersion;
  if (colon < 1) return null;
  return { ...takeVersion(text.slice(0, colon)), user: text.slice(colon + 2) };
}

/** True when the word before the colon is a version with something before it. */
function endsWithVersion(text: string, colon: number): boolean {
  const blank = text.lastIndexOf(" ", colon - 1);
  return blank > 0 && text[blank + 1] === "v" && colon - blank > 2;
}

/** `PRODUCT vVER` → both; the version is null where none is printed. */
export function takeVersion(text: string): { product: string; version: string | null } {
  const found = WITH_VERSION.exec(text);
  return found === null
    ? { product: text, version: null }
    : { product: found[1] ?? text, version: found[2] ?? null };
}
