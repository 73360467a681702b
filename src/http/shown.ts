const LONGEST = 100;
/** A key, whole or in part, or its secret alone: 43 characters of base64url. */
const KEY_LIKE = /lmk_[A-Za-z0-9_-]*|[A-Za-z0-9_-]{43,}/g;

/**
 * A value of the client's, fit for a message: anything like a key masked, cut at 100 characters, control
 * characters (line separators and direction marks too) escaped, in quotes.
 */
export function shown(value: string): string {
  const masked = value.replaceAll(KEY_LIKE, (key) => (key.startsWith("lmk_") ? "lmk_***" : "***"));
  const cut = masked.length > LONGEST ? `${masked.slice(0, LONGEST)}…` : masked;
  const escaped = cut.replaceAll(
    /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu,
    (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`,
  );
  return `"${escaped}"`;
}
