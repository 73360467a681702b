import type { KnownHosts } from "../manager.ts";
import { isDigit } from "./scan.ts";

/** Who holds or waits for a seat, as far as the words in front of the version tell. */
export interface Identity {
  user: string;
  host: string | null;
  display: string | null;
  qualifier: string | null;
  /** Neither a display's shape nor a known host told the host: hosts learnt later may tell better. */
  guessed: boolean;
}

export interface IdentityReader {
  /**
   * Splits `USER HOST [DISPLAY [QUALIFIER…]]` at `from`…`to`, which begins and ends with a word. The same object
   * is filled at every call: tens of thousands of lines make no garbage.
   */
  read(text: string, from: number, to: number): Identity;
}

const PLAIN = /^[\w.:/ -]*$/;
/** Signs of an encrypted display that no name of a user, host or product has. */
const ENCRYPTED = /[!"#%&*+;<>?[\]^`{|}~]/;

/**
 * Users, displays and qualifiers may hold blanks, so the split goes by evidence: one word is a user; two are user
 * and host, unless the second is a terminal or X display; three are user, host and display, which teaches the host.
 * With more, the host is, in this order, the word whose successor equals or extends it (`PC1 PC1:0.0`), a known
 * host (the one right before a display, else the first), or the word before something shaped like a display or
 * encrypted as one; what stands before it is the user, the next word the display, the rest a qualifier. Where none of
 * this holds, a known host at the end has no display; else one word each. A rest that is no plain words belongs to the
 * display, unless the display's own shape tells where it ends.
 */
export function createIdentityReader(hosts: KnownHosts): IdentityReader {
  const out: Identity = { user: "", host: null, display: null, qualifier: null, guessed: false };
  /** Starts and ends of the words of a line with more than three. */
  const bounds: number[] = [];

  function fill(
    user: string,
    host: string | null,
    display: string | null,
    qualifier: string | null,
  ): Identity {
    out.user = user;
    out.host = host;
    out.display = display;
    out.qualifier = qualifier;
    out.guessed = false;
    return out;
  }

  function start(word: number): number {
    return bounds[2 * word] ?? 0;
  }

  function end(word: number): number {
    return bounds[2 * word + 1] ?? 0;
  }

  function takeWords(text: string, from: number, to: number): number {
    let words = 0;
    for (let at = from; at < to; at = nextWord(text, at, to)) {
      const blank = text.indexOf(" ", at);
      const last = blank === -1 || blank > to ? to : blank;
      bounds[2 * words] = at;
      bounds[2 * words + 1] = last;
      words++;
      at = last;
    }
    return words;
  }

  /** The first word from `1` on that is shaped like a display; `words` when there is none. */
  function firstDisplay(text: string, words: number): number {
    let word = 1;
    while (word < words && !isDisplay(text, start(word), end(word))) word++;
    return word;
  }

  /** The first word from `2` on that is part of an encrypted display; `words` when there is none. */
  function firstEncrypted(text: string, words: number): number {
    let word = 2;
    while (word < words && !ENCRYPTED.test(text.slice(start(word), end(word)))) word++;
    return Math.min(word, words);
  }

  function splitMany(text: string, from: number, to: number): Identity {
    const words = takeWords(text, from, to);
    const word = (index: number) => text.slice(start(index), end(index));
    /** Words from `index` to the last, with the blanks between them as printed. */
    const rest = (index: number) => (index < words ? text.slice(start(index), to) : null);

    const display = firstDisplay(text, words);
    // A display is never part of a user's name, so no host stands behind one.
    const last = Math.min(display, words - 1);
    const shown = display < words ? display : firstEncrypted(text, words);
    let host = 1;
    while (host < last && !extendsWord(text, start(host), end(host), start(host + 1), end(host + 1))) host++;
    const extended = host < last;
    if (!extended) host = shown < words && shown > 1 && hosts.has(word(shown - 1)) ? shown - 1 : 1;
    while (!extended && host < last && !hosts.has(word(host))) host++;

    const known = host < last;
    if (!known && display === 1) return fill(word(0), null, word(1), rest(2));
    if (!known && shown === words && hosts.has(word(last)))
      return fill(text.slice(from, end(last - 1)), word(last), null, null);
    if (!known) host = shown < words ? shown - 1 : 1;
    const user = text.slice(from, end(host - 1));
    const qualifier = rest(host + 2);
    // Encrypted displays hold blanks and any sign; products, versions and process ids are plain words.
    const shaped = extended || host + 1 === display;
    if (shaped || qualifier === null || PLAIN.test(qualifier))
      fill(user, word(host), word(host + 1), qualifier);
    else fill(user, word(host), rest(host + 1), null);
    out.guessed = !known && display === words;
    return out;
  }

  return {
    read(text, from, to) {
      const firstEnd = text.indexOf(" ", from);
      if (firstEnd === -1 || firstEnd >= to) return fill(text.slice(from, to), null, null, null);
      const user = text.slice(from, firstEnd);
      const second = nextWord(text, firstEnd, to);
      const secondEnd = text.indexOf(" ", second);
      const isTwo = secondEnd === -1 || secondEnd >= to;
      const terminal = isTerminal(text, second, isTwo ? to : secondEnd);
      if (isTwo) {
        const word = text.slice(second, to);
        return terminal ? fill(user, null, word, null) : fill(user, word, null, null);
      }
      const third = nextWord(text, secondEnd, to);
      const thirdEnd = text.indexOf(" ", third);
      if (terminal || (thirdEnd !== -1 && thirdEnd < to)) return splitMany(text, from, to);
      const host = text.slice(second, secondEnd);
      hosts.add(host);
      return fill(user, host, text.slice(third, to), null);
    },
  };
}

const SPACE = 0x20;
const DOT = 0x2e;
const SLASH = 0x2f;
const COLON = 0x3a;

function nextWord(text: string, blank: number, to: number): number {
  let at = blank;
  while (at < to && text.charCodeAt(at) === SPACE) at++;
  return at;
}

/** `/dev/…`, `:0`, `:0.0`, `pc1:0.0`: cannot be a host. */
function isTerminal(text: string, from: number, to: number): boolean {
  if (text.charCodeAt(from) === SLASH) return text.startsWith("/dev/", from);
  let at = to;
  while (at > from && isDigit(text.charCodeAt(at - 1))) at--;
  if (at === to) return false;
  if (text.charCodeAt(at - 1) === DOT) {
    const screen = --at;
    while (at > from && isDigit(text.charCodeAt(at - 1))) at--;
    if (at === screen) return false;
  }
  if (at <= from || text.charCodeAt(at - 1) !== COLON) return false;
  return HOST.test(text.slice(from, at - 1));
}

const HOST = /^[\p{L}\p{N}_.-]*$/u;

/** A terminal, or one of the names that clients without one give. */
function isDisplay(text: string, from: number, to: number): boolean {
  if (isTerminal(text, from, to)) return true;
  const length = to - from;
  return (
    (length === 10 && text.startsWith("NoXDisplay", from)) || (length === 5 && text.startsWith("local", from))
  );
}

/** True when the second word equals or extends the first, whatever the case of its letters. */
function extendsWord(text: string, from: number, to: number, nextFrom: number, nextTo: number): boolean {
  if (nextTo - nextFrom < to - from) return false;
  for (let at = 0; at < to - from; at++) {
    if (folded(text.charCodeAt(from + at)) !== folded(text.charCodeAt(nextFrom + at))) return false;
  }
  return true;
}

function folded(code: number): number {
  return code >= 0x41 && code <= 0x5a ? code | 0x20 : code;
}
