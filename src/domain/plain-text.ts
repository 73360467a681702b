import type { Unit } from "./words.ts";

/**
 * Text of strangers (license tools, clients, config files) made fit for a log line or a terminal: no control character
 * that could move a cursor or forge a line, and nothing that looks like a secret.
 */

/** Control and format characters, line and paragraph separators, lone surrogates. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const PRINTABLE = /^[\x20-\x7e]*$/;
const NAMED: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Every character that a terminal would act on, written as `\n`, `\t`, `\u001b`. */
export function escapeControls(text: string): string {
  if (PRINTABLE.test(text)) return text;
  return text.replaceAll(
    UNPRINTABLE,
    (character) => NAMED[character] ?? `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`,
  );
}

/** At most so many characters, cut between them and never inside one. */
export function cutText(text: string, length: number): string {
  const characters = [...text];
  return characters.length <= length ? text : `${characters.slice(0, length - 1).join("")}…`;
}

/** API keys in any of the ways in which they travel, cookies of sign-ins, and the credentials of a URL. */
const SECRETS: readonly (readonly [RegExp, string])[] = [
  [/lmk_[A-Za-z0-9_-]*/g, "lmk_***"],
  [/(licmond_[0-9a-f]{8}=)[^;\s"']+/g, "$1***"],
  [/([?&;]|\b)(api_key|apikey)(=|%3D)[^&\s"'#]*/gi, "$1$2$3***"],
  [/\bBearer\s+[^\s"',]+/gi, "Bearer ***"],
  [/(\bauthorization["']?\s*[:=]\s*["']?Basic\s+)[^\s"',]+/gi, "$1***"],
  [/(:\/\/)[^/\s@"']+@/g, "$1***@"],
];
const MAYBE_SECRET = /lmk_|licmond_|api_?key|bearer|authorization|@/i;

/** The text with everything masked that looks like a key. A last line of defence: no code should have put it there. */
export function maskSecrets(text: string): string {
  if (!MAYBE_SECRET.test(text)) return text;
  return SECRETS.reduce((masked, [pattern, mask]) => masked.replaceAll(pattern, mask), text);
}

/** A name in which `*` stands for any characters, and `?` for one. */
export function globPattern(glob: string): RegExp {
  const source = glob
    .split(/([*?])/)
    .map((part) => (part === "*" ? ".*" : part === "?" ? "." : RegExp.escape(part)))
    .join("");
  return new RegExp(`^${source}$`, "su");
}

/** Whether a name fits one of some patterns. Null fits everything; a pattern fits no absent name. */
export function nameMatcher(globs: readonly string[] | null): (name: string | null) => boolean {
  const patterns = globs?.map(globPattern);
  return (name) => patterns?.some((pattern) => name !== null && pattern.test(name)) ?? true;
}

/** `1 seat`, `2 seats`. */
export function countOf(count: number, word: string, many = `${word}s`): string {
  return `${count} ${count === 1 ? word : many}`;
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
