import { isBlank, skipBlanks } from "../../blanks-and-digits.ts";
import { LICENSE_EVENTS, type LicenseEvent, type LicenseEventKind } from "../../debug-log/debug-log.ts";
import type { Mutable } from "../../reading-parts.ts";

type SeatWords = Omit<LicenseEvent, "kind" | "at" | "daemon">;
type Tail = Mutable<Omit<SeatWords, "feature" | "user" | "host">>;

const QUOTE = 0x22;
const OPEN = 0x28;
const BRACKET = 0x5b;
const CARET = 0x5e;

const SEATS = /^\d{1,9}$/;
const OLD_DENIED = /^(\S+) to /;

/**
 * Parses `"feature" user@host [data] (N licenses) (reason (code)) ^^^ verbose ^^^`, with blanks in users and
 * parts missing, and FLEXlm of the nineties: `IN: f by user (2 licenses) (used: 0:01:12)`, `DENIED: 2 f to
 * user (04/28/98 12:00)`.
 */
export function readSeatWords(text: string, from: number): SeatWords | null {
  let at = skipBlanks(text, from);
  const quotes = text.charCodeAt(at) === QUOTE ? 1 : 0;
  const end = quotes === 1 ? text.indexOf('"', at + 1) : endOfWord(text, at);
  const feature = text.slice(at + quotes, end);
  if (end <= at + quotes) return null;
  at = skipBlanks(text, end + quotes);
  if (quotes === 0 && text.startsWith("by ", at))
    return behindFeature(text, feature, skipBlanks(text, at + 3));
  const old = quotes === 0 && SEATS.test(feature) ? OLD_DENIED.exec(text.slice(at)) : null;
  if (old !== null)
    return { ...behindFeature(text, old[1] ?? "", at + old[0].length), count: Number(feature) };
  // UNSUPPORTED prints the key of the feature before the user.
  if (text.charCodeAt(at) === OPEN) {
    const close = endOfGroup(text, at);
    if (close !== -1 && text.indexOf("@", close) !== -1) at = skipBlanks(text, close);
  }
  return behindFeature(text, feature, at);
}

/** Parses `user@host` and the rest. A host has no blanks; a user may contain blanks and `@`. */
function behindFeature(text: string, feature: string, from: number): SeatWords {
  let sign = text.indexOf("@", from);
  let end = 0;
  let rest = 0;
  while (sign !== -1) {
    end = endOfWord(text, sign);
    rest = skipBlanks(text, end);
    if (rest >= text.length || beginsTail(text.charCodeAt(rest))) break;
    const next = text.indexOf("@", end);
    if (next === -1) break;
    sign = next;
  }
  const first = text.charCodeAt(from);
  // No `user@host` is printed: an `@` further on belongs to checkout data or a reason.
  if (sign === -1 || first === OPEN || first === BRACKET || first === CARET) {
    const user = from < text.length && !beginsTail(first) ? text.slice(from, endOfWord(text, from)) : null;
    return { feature, user, host: null, ...readTail(text, user === null ? from : from + user.length, user) };
  }
  // In `user@domain@host` the last `@` separates the host.
  const last = text.lastIndexOf("@", end - 1);
  const user = text.slice(from, last);
  const host = last + 1 < end ? text.slice(last + 1, end) : null;
  const named = user === "" ? null : user;
  return { feature, user: named, host, ...readTail(text, rest, named) };
}

/** Matches the duration or the time that FLEXlm of the nineties prints in parentheses. */
const OLD_TIME = /^(?:used: [\d:]+|\d\d\/\d\d\/\d\d \d\d?:\d\d)$/;
const LICENSES = /^(\d{1,9}) licenses?$/;
const CODE = /\s*\(\s*(-?\d+)\s*,\s*-?\d+(?:\s*:\s*-?\d+[^()]*)?\s*\)\s*$/;

function readTail(text: string, from: number, user: string | null): Tail {
  const tail: Tail = { data: null, count: 1, reason: null, code: null, handle: null, version: null };
  let at = from;
  while (at < text.length) {
    at = skipBlanks(text, at);
    const code = text.charCodeAt(at);
    if (code === BRACKET) {
      const end = text.indexOf("]", at);
      if (end === -1) break;
      if (tail.data === null) tail.data = text.slice(at + 1, end);
      at = end + 1;
    } else if (code === OPEN) {
      const end = endOfGroup(text, at);
      readGroup(text.slice(at + 1, end === -1 ? text.length : end - 1), tail);
      if (end === -1) break;
      at = end;
    } else if (code === CARET && text.startsWith("^^^", at)) {
      const end = text.indexOf("^^^", at + 3);
      readVerbose(text.slice(at + 3, end === -1 ? text.length : end), user, tail);
      at = end === -1 ? text.length : end + 3;
    } else at = endOfWord(text, at); // Words that no rule knows: what follows them may still be known.
  }
  return tail;
}

function readGroup(words: string, tail: Tail): void {
  if (OLD_TIME.test(words)) return;
  const licenses = LICENSES.exec(words);
  if (licenses !== null) {
    tail.count = Math.max(1, Number(licenses[1]));
    return;
  }
  const code = CODE.exec(words);
  if (code !== null) tail.code = Number(code[1]);
  const reason = (code === null ? words : words.slice(0, code.index)).trim();
  if (reason !== "") tail.reason = tail.reason === null ? reason : `${tail.reason}; ${reason}`;
}

/**
 * Parses `ver user ip pid handle in_use out_of project flexver flexrev date time is_dup`. User and project may
 * contain blanks; the user is already known.
 * https://docs.revenera.com/fnp/2024r1/LicAdmin_Guide/Content/helplibrary/Verbose_Debug_Log_Messages.htm
 */
function readVerbose(words: string, user: string | null, tail: Tail): void {
  const at = skipBlanks(words, 0);
  const versionEnd = endOfWord(words, at);
  const version = words.slice(at, versionEnd);
  const behind = skipBlanks(words, versionEnd);
  const userEnd =
    user !== null && words.startsWith(user, behind) ? behind + user.length : endOfWord(words, behind);
  const [, , handle] = words.slice(userEnd).trim().split(/\s+/, 3);
  if (version !== "") tail.version = version;
  if (handle !== undefined && /^(0x)?[0-9a-f]+$/i.test(handle)) tail.handle = handle.replace(/^0x/i, "");
}

function beginsTail(code: number): boolean {
  return code === OPEN || code === BRACKET || code === CARET;
}

function endOfWord(text: string, from: number): number {
  let at = from;
  while (at < text.length && !isBlank(text.charCodeAt(at))) at++;
  return at;
}

/** Returns the index after the parenthesis that closes the one at `from`, or -1. */
function endOfGroup(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === OPEN) depth++;
    else if (code === 0x29 && --depth === 0) return at + 1;
  }
  return -1;
}

/** Reports whether a parenthesis, bracket or verbose part continues in the next line. */
export function isOpen(text: string, from: number): boolean {
  const carets = text.indexOf("^^^", from);
  if (carets !== -1) return text.indexOf("^^^", carets + 3) === -1;
  const parenthesis = text.indexOf("(", from);
  return parenthesis !== -1 && endOfGroup(text, parenthesis) === -1;
}

const KINDS = new Map(LICENSE_EVENTS.map((kind) => [`${kind}: `, kind]));

/** Returns the kind of event at the start of a message; null if it is not an event. */
export function kindAt(text: string, from: number): LicenseEventKind | null {
  const first = text.charCodeAt(from);
  // Runs for every line of a log, so check the first letter before the map.
  if (first < 0x44 || first > 0x55) return null;
  const colon = text.indexOf(": ", from);
  return (colon - from < 12 && KINDS.get(text.slice(from, colon + 2))) || null;
}
