import type { Unit } from "./words.ts";

/**
 * Makes untrusted text (from license tools, clients, config files) safe for logs and terminals: no control
 * characters that move the cursor or forge a line, and nothing that looks like a secret.
 */

/** Control and format characters, line and paragraph separators, lone surrogates. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const PRINTABLE = /^[\x20-\x7e]*$/;
const NAMED: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Escapes characters that a terminal would act on, as `\n`, `\t`, `\u001b`. */
export function escapeControls(text: string): string {
  if (PRINTABLE.test(text)) return text;
  return text.replaceAll(
    UNPRINTABLE,
    (character) => NAMED[character] ?? `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`,
  );
}

/** Cuts text to at most `length` characters. */
export function cutText(text: string, length: number): string {
  const characters = [...text];
  return characters.length <= length ? text : `${characters.slice(0, length - 1).join("")}…`;
}

/** API keys in all forms in which they travel, sign-in cookies, and URL credentials. */
const SECRETS: readonly (readonly [RegExp, string])[] = [
  [/lmk_[A-Za-z0-9_-]*/g, "lmk_***"],
  [/(licmond_[0-9a-f]{8}=)[^;\s"']+/g, "$1***"],
  [/([?&;]|\b)(api_key|apikey)(=|%3D)[^&\s"'#]*/gi, "$1$2$3***"],
  [/\bBearer\s+[^\s"',]+/gi, "Bearer ***"],
  [/(\bauthorization["']?\s*[:=]\s*["']?Basic\s+)[^\s"',]+/gi, "$1***"],
  [/(:\/\/)[^/\s@"']+@/g, "$1***@"],
];
const MAYBE_SECRET = /lmk_|licmond_|api_?key|bearer|authorization|@/i;

/**
 * Masks everything that looks like a key. This is a last line of defense: callers should not pass secrets.
 */
export function maskSecrets(text: string): string {
  if (!MAYBE_SECRET.test(text)) return text;
  return SECRETS.reduce((masked, [pattern, mask]) => masked.replaceAll(pattern, mask), text);
}

/** Compiles a glob: `*` matches any characters, `?` matches one. */
export function globPattern(glob: string): RegExp {
  const source = glob
    .split(/([*?])/)
    .map((part) => (part === "*" ? ".*" : part === "?" ? "." : RegExp.escape(part)))
    .join("");
  return new RegExp(`^${source}$`, "su");
}

/**
 * Returns a function that reports whether a name matches a pattern. Null patterns match everything; patterns
 * never match a null name.
 */
export function nameMatcher(globs: readonly string[] | null): (name: string | null) => boolean {
  const patterns = globs?.map(globPattern);
  return (name) => patterns?.some((pattern) => name !== null && pattern.test(name)) ?? true;
}

/** Returns `seat` for one, else `seats`. */
export function wordFor(count: number, one: string, many = `${one}s`): string {
  return count === 1 ? one : many;
}

/** `1 seat`, `2 seats`. */
export function countOf(count: number, one: string, many?: string): string {
  return `${count} ${wordFor(count, one, many)}`;
}

/** `1 seat`, `25000 tokens`. */
export function amountOf(count: number, unit: Unit = "seats"): string {
  return countOf(count, unit.slice(0, -1));
}

const NAMES_SHOWN = 3;

/** `a`, `a and b`, `a, b, c and 5 others`. */
export function namesOf(names: readonly string[]): string {
  const more = names.length - NAMES_SHOWN;
  const shown = more > 1 ? [...names.slice(0, NAMES_SHOWN), `${more} others`] : names;
  return shown.length < 2 ? shown.join("") : `${shown.slice(0, -1).join(", ")} and ${shown.at(-1)}`;
}
