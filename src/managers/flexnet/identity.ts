import type { KnownHosts } from "../manager.ts";
import { wordBounds } from "./scan.ts";

/** Who holds or waits for a seat, as far as the words in front of the version tell. */
export interface Identity {
  readonly user: string;
  readonly host: string | null;
  readonly display: string | null;
  readonly qualifier: string | null;
  /** Nothing in the line told the host: hosts learnt later may tell better. */
  readonly guessed: boolean;
}

const COLON = 0x3a;
const PLAIN = /^[\w.:/ \t-]*$/;
const X_DISPLAY = /^[\p{L}\p{N}_.-]*:\d+(?:\.\d+)?$/u;

/**
 * Splits `USER HOST [DISPLAY [QUALIFIER…]]`, where users, displays and qualifiers may hold blanks, by evidence:
 * one word is a user; two are user and host, unless the second is a terminal or X display; three are user, host
 * and display, which teaches the host. With more, the host is, in this order, the word whose successor
 * equals or extends it (`PC1 PC1:0.0`), a known host, or the word before something shaped like a display; what
 * stands before it is the user, the next word the display, the rest a qualifier. Without evidence: one word each.
 */
export function splitIdentity(text: string, from: number, to: number, hosts: KnownHosts): Identity {
  const bounds = wordBounds(text, from, to);
  const count = bounds.length / 2;
  const word = (index: number) => text.slice(bounds[2 * index], bounds[2 * index + 1]);
  /** Words `first`…`last` with the blanks between them as printed. */
  const span = (first: number, last: number) => text.slice(bounds[2 * first], bounds[2 * last + 1]);

  if (count <= 1) return { user: word(0), host: null, display: null, qualifier: null, guessed: false };
  const second = word(1);
  if (count === 2) {
    return isTerminal(second)
      ? { user: word(0), host: null, display: second, qualifier: null, guessed: false }
      : { user: word(0), host: second, display: null, qualifier: null, guessed: false };
  }
  if (count === 3 && !isTerminal(second)) {
    hosts.add(second);
    return { user: word(0), host: second, display: word(2), qualifier: null, guessed: false };
  }

  const words: string[] = [];
  for (let index = 0; index < count; index++) words.push(word(index));
  const host = hostByEvidence(words, hosts);
  if (host !== null) {
    return {
      user: span(0, Math.max(0, host - 1)),
      host: host === 0 ? null : (words[host] ?? null),
      display: words[host + 1] ?? null,
      qualifier: host + 2 < count ? span(host + 2, count - 1) : null,
      guessed: false,
    };
  }
  const rest = span(3, count - 1);
  // Encrypted displays hold blanks and any sign; products, versions and process ids are plain words.
  const restIsDisplay = !PLAIN.test(rest);
  return {
    user: word(0),
    host: second,
    display: restIsDisplay ? span(2, count - 1) : word(2),
    qualifier: restIsDisplay ? null : rest,
    guessed: true,
  };
}

/** Index of the host; 0 when the line has a display and, before it, only the user; null without evidence. */
function hostByEvidence(words: readonly string[], hosts: KnownHosts): number | null {
  const firstDisplay = words.findIndex((word, index) => index > 0 && isDisplay(word));
  // A display is never part of a user's name, so no host stands behind one.
  const end = firstDisplay === -1 ? words.length - 1 : firstDisplay;
  for (let index = 1; index < end; index++) {
    const word = words[index] ?? "";
    if ((words[index + 1] ?? "").toLowerCase().startsWith(word.toLowerCase())) return index;
  }
  for (let index = 1; index < end; index++) if (hosts.has(words[index] ?? "")) return index;
  return firstDisplay === -1 ? null : firstDisplay - 1;
}

function isTerminal(word: string): boolean {
  return word.startsWith("/dev/") || (hasColon(word) && X_DISPLAY.test(word));
}

function isDisplay(word: string): boolean {
  return isTerminal(word) || word === "NoXDisplay" || word === "local";
}

function hasColon(word: string): boolean {
  for (let at = 0; at < word.length; at++) if (word.charCodeAt(at) === COLON) return true;
  return false;
}
