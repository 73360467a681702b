import type { CheckoutReading } from "../../domain/reading.ts";
import { isDigit } from "../blanks-and-digits.ts";
import type { KnownHosts } from "../manager.ts";

/** Holder of a seat or waiting client, parsed from the words before the version. */
export interface Identity extends Pick<CheckoutReading, "host" | "display" | "qualifier"> {
  readonly user: string;
  /** True if the host is neither known nor next to a display; hosts learnt later may then correct the split. */
  readonly guessed: boolean;
}

const NONE = { host: null, display: null, qualifier: null, guessed: false };
/** Result for plain lines. It is reused, because an allocation per line costs 5 % of a large output's time. */
const plain = { ...NONE, user: "", host: "", display: "" };

const PLAIN = /^[\w.:/ -]*$/;
/** Characters of encrypted displays that do not occur in names of users, hosts or products. */
const ENCRYPTED = /[!"#%&*+;<>?[\]^`{|}~]/;
const X_DISPLAY = /^[\p{L}\p{N}_.-]*:\d+(?:\.\d+)?$/u;

/**
 * Splits `USER HOST [DISPLAY [QUALIFIER…]]` between `from` and `to`, which are word boundaries. The result is valid
 * until the next call.
 *
 * Users, displays and qualifiers may contain blanks, so the split depends on the words. One word is a user. Two words
 * are user and host, or user and display if the second looks like a terminal or X display. Three words are user, host
 * and display, and the host is remembered. With more words, the host is the first match of: a word that the next word
 * equals or extends (`PC1 PC1:0.0`); a known host (the one directly before a display, else the first one); the word
 * before a word that looks like a display or is encrypted like one. Words before the host are the user, the next word
 * is the display, the others are the qualifier. Without a match, a known host at the end has no display; otherwise
 * user, host and display have one word each. A rest that is not plain words belongs to the display, unless the
 * display's shape shows its end.
 */
export function readIdentity(text: string, from: number, to: number, hosts: KnownHosts): Identity {
  const firstEnd = endOfWord(text, from, to);
  const user = text.slice(from, firstEnd);
  if (firstEnd === to) return { user, ...NONE };
  const second = nextWord(text, firstEnd);
  const secondEnd = endOfWord(text, second, to);
  const terminal = isTerminal(text, second, secondEnd);
  const host = text.slice(second, secondEnd);
  if (secondEnd === to) return { user, ...NONE, [terminal ? "display" : "host"]: host };
  const third = nextWord(text, secondEnd);
  if (terminal || endOfWord(text, third, to) < to) return splitMany(text.slice(from, to), hosts);
  hosts.add(host);
  plain.user = user;
  plain.host = host;
  plain.display = text.slice(third, to);
  return plain;
}

function splitMany(text: string, hosts: KnownHosts): Identity {
  /** Words at even indexes, the blanks between them at odd ones. */
  const parts = text.split(/( +)/);
  const words = parts.filter((_, index) => index % 2 === 0);
  const count = words.length;
  const word = (index: number) => words[index] ?? "";
  const before = (index: number) => parts.slice(0, 2 * index - 1).join("");
  const rest = (index: number) => (index < count ? parts.slice(2 * index).join("") : null);
  const indexOr = (index: number) => (index === -1 ? count : index);

  const display = indexOr(words.findIndex((each, index) => index > 0 && isDisplay(each)));
  // A user's name contains no display, so the host is not behind the first display.
  const last = Math.min(display, count - 1);
  const encrypted = () => words.findIndex((each, index) => index > 1 && ENCRYPTED.test(each));
  const shown = display < count ? display : indexOr(encrypted());
  let host = 1;
  while (host < last && !extendsWord(word(host), word(host + 1))) host++;
  const extended = host < last;
  if (!extended) host = shown < count && shown > 1 && hosts.has(word(shown - 1)) ? shown - 1 : 1;
  while (!extended && host < last && !hosts.has(word(host))) host++;

  const known = host < last;
  if (!known && display === 1) return { ...NONE, user: word(0), display: word(1), qualifier: rest(2) };
  if (!known && shown === count && hosts.has(word(last)))
    return { ...NONE, user: before(last), host: word(last) };
  if (!known) host = shown < count ? shown - 1 : 1;
  const qualifier = rest(host + 2);
  const guessed = !known && display === count;
  // Encrypted displays contain blanks and special characters; products, versions and process ids are plain words.
  const isPlain = extended || host + 1 === display || qualifier === null || PLAIN.test(qualifier);
  const named = { user: before(host), host: word(host), guessed };
  return isPlain
    ? { ...named, display: word(host + 1), qualifier }
    : { ...named, display: rest(host + 1), qualifier: null };
}

const SPACE = 0x20;
const SLASH = 0x2f;

function endOfWord(text: string, from: number, to: number): number {
  const blank = text.indexOf(" ", from);
  return blank === -1 || blank > to ? to : blank;
}

function nextWord(text: string, blank: number): number {
  let at = blank;
  while (text.charCodeAt(at) === SPACE) at++;
  return at;
}

function isTerminal(text: string, from: number, to: number): boolean {
  if (text.charCodeAt(from) === SLASH) return text.slice(from, to).startsWith("/dev/");
  if (!isDigit(text.charCodeAt(to - 1))) return false;
  const colon = text.indexOf(":", from);
  return colon !== -1 && colon < to && X_DISPLAY.test(text.slice(from, to));
}

function isDisplay(word: string): boolean {
  return isTerminal(word, 0, word.length) || word === "NoXDisplay" || word === "local";
}

function extendsWord(word: string, next: string): boolean {
  return next.length >= word.length && next.slice(0, word.length).toLowerCase() === word.toLowerCase();
}
