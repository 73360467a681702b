import type { CheckoutReading } from "../../domain/reading.ts";
import type { KnownHosts } from "../manager.ts";
import { isDigit } from "../scan.ts";

/** The holder of a seat, or the client that waits for one, as far as the words before the version say. */
export interface Identity extends Pick<CheckoutReading, "host" | "display" | "qualifier"> {
  readonly user: string;
  /** Neither a display's shape nor a known host showed the host: hosts learnt later may show it. */
  readonly guessed: boolean;
}

const NONE = { host: null, display: null, qualifier: null, guessed: false };
/** Of the plain line read last: one object for all of them saves a large output 5 % of its time. */
const plain = { ...NONE, user: "", host: "", display: "" };

const PLAIN = /^[\w.:/ -]*$/;
/** Signs of an encrypted display that no name of a user, host or product has. */
const ENCRYPTED = /[!"#%&*+;<>?[\]^`{|}~]/;
/** `:0`, `:0.0`, `pc1:0.0`. */
const X_DISPLAY = /^[\p{L}\p{N}_.-]*:\d+(?:\.\d+)?$/u;

/**
 * Splits `USER HOST [DISPLAY [QUALIFIER…]]` at `from`…`to` of a line, which begins and ends with a word.
 *
 * Users, displays and qualifiers may hold blanks, so the split goes by evidence: one word is a user; two are user
 * and host, unless the second is a terminal or X display; three are user, host and display, which teaches the host.
 * With more, the host is, in this order, the word whose successor equals or extends it (`PC1 PC1:0.0`), a known
 * host (the one right before a display, else the first), or the word before something shaped like a display or
 * encrypted as one; what stands before it is the user, the next word the display, the rest a qualifier. Where none of
 * this holds, a known host at the end has no display; else one word each. A rest that is no plain words belongs to the
 * display, unless the display's own shape shows where it ends. The answer holds until the next line is read.
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
  /** Words, and the blanks between them. */
  const parts = text.split(/( +)/);
  const words = parts.filter((_, index) => index % 2 === 0);
  const count = words.length;
  const word = (index: number) => words[index] ?? "";
  const before = (index: number) => parts.slice(0, 2 * index - 1).join("");
  const rest = (index: number) => (index < count ? parts.slice(2 * index).join("") : null);
  const indexOr = (index: number) => (index === -1 ? count : index);

  const display = indexOr(words.findIndex((each, index) => index > 0 && isDisplay(each)));
  // A display is never part of a user's name, so no host follows one.
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
  // Encrypted displays hold blanks and any sign; products, versions and process ids are plain words.
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

/** `/dev/…`, `:0`, `:0.0`, `pc1:0.0`: cannot be a host. */
function isTerminal(text: string, from: number, to: number): boolean {
  if (text.charCodeAt(from) === SLASH) return text.slice(from, to).startsWith("/dev/");
  if (!isDigit(text.charCodeAt(to - 1))) return false;
  const colon = text.indexOf(":", from);
  return colon !== -1 && colon < to && X_DISPLAY.test(text.slice(from, to));
}

/** A terminal, or one of the names that clients without one give. */
function isDisplay(word: string): boolean {
  return isTerminal(word, 0, word.length) || word === "NoXDisplay" || word === "local";
}

/** True when the second word equals or extends the first, whatever the case of its letters. */
function extendsWord(word: string, next: string): boolean {
  return next.length >= word.length && next.slice(0, word.length).toLowerCase() === word.toLowerCase();
}
