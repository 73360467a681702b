import type { CheckoutReading, QueueReading } from "../../domain/reading.ts";
import type { KnownHosts } from "../manager.ts";
import { createDigits, endOfText, execAt, isBlank, isDigit, skipBlanks } from "../scan.ts";
import { type Identity, readIdentity } from "./identity.ts";
import type { StartTimes } from "./start-time.ts";

/**
 * `USER HOST [DISPLAY [QUALIFIER…]] [(vVER)] (SRV/PORT [HANDLE]), start DOW M/D H:MM[tail]` and
 * `USER HOST DISPLAY [VER] (vVER) (SRV/PORT HANDLE) queued for N license[s]`.
 * Both are read from the right: users and encrypted displays hold blanks, brackets, quotes and commas,
 * while everything behind them is the tool's own.
 */
export interface SeatReader {
  /** A checkout whose first word begins at `start`, under the pool with this index; null when the line is none. */
  checkout(text: string, start: number, pool: number | null, end: LineEnd): CheckoutReading | null;
  /** A queue entry, likewise. */
  queued(text: string, start: number, pool: number | null, end: LineEnd): QueueReading | null;
  /** Of the line read last: the license server that gave the seat, `host/port` as printed. */
  server(): string;
  /** Of the line read last: the place of an identity that was split without evidence, else null. */
  guessedAt(): { readonly from: number; readonly to: number } | null;
}

/** `any`: what stands behind the bracket of the server need not be wholly known. */
export type LineEnd = "known" | "any";

const START_MARK = "), start ";
const QUEUE_MARK = ") queued for ";
const QUEUED = { known: /(\d{1,9}) licen[sc]es?[ \t]*$/iy, any: /(\d{1,9}) licen[sc]es?\b/iy };
const LINGER = /,? ?\(linger: (\d{1,12})(?: \/ \d{1,12})?\)/iy;
const NEXT_PART = /[,(]|$/g;
const PID = ", PID: ";
const LICENSE = " license";
const MOST_DIGITS = 12;

const SPACE = 0x20;
const OPEN = 0x28;
const CLOSE = 0x29;
const COMMA = 0x2c;
const DOT = 0x2e;
const SLASH = 0x2f;
const UNDERSCORE = 0x5f;

export function createSeatReader(times: StartTimes, hosts: KnownHosts): SeatReader {
  const digits = createDigits();
  let identity: Identity = { user: "", host: null, display: null, qualifier: null, guessed: false };
  let version: string | null = null;
  let lastVersion = "";
  let handle: string | null = null;
  let line = "";
  let serverFrom = 0;
  let serverTo = 0;
  let from = 0;
  let to = 0;
  /** 0 where the line prints none, which means one. */
  let count = 0;
  let pid: number | null = null;
  /** Null when the line prints none; 0 is capable of lingering, not lingering. */
  let lingerSeconds: number | null = null;

  /** `IDENTITY [(vVER)] (SRV/PORT [HANDLE])`, the last bracket closing at `close`. */
  function holder(text: string, start: number, close: number): boolean {
    let open = close - 1;
    let blank = close;
    let slashed = false;
    for (let code = text.charCodeAt(open); open > 0 && code !== OPEN; code = text.charCodeAt(--open)) {
      if (code === SLASH) slashed = true;
      else if (code === SPACE && blank === close) blank = open;
    }
    if (open < 1 || !slashed) return false;
    handle = blank + 1 < close ? text.slice(blank + 1, close) : null;
    line = text;
    serverFrom = open + 1;
    serverTo = blank;

    from = start;
    to = endOfText(text, from, open);
    version = null;
    if (to > from && text.charCodeAt(to - 1) === CLOSE) versionBefore(text);
    if (to <= from) return false;
    identity = readIdentity(text, from, to, hosts);
    return true;
  }

  /** Takes a bracket at the end of the identity as the version, when something stands before it. */
  function versionBefore(text: string): void {
    let open = to - 2;
    while (open > from && isVersion(text.charCodeAt(open))) open--;
    if (open <= from || open === to - 2) return;
    if (text.charCodeAt(open) !== OPEN || !isBlank(text.charCodeAt(open - 1))) return;
    // The lines of a pool nearly all name one version.
    if (lastVersion.length !== to - open - 2 || !text.startsWith(lastVersion, open + 1))
      lastVersion = text.slice(open + 1, to - 1);
    version = lastVersion;
    to = endOfText(text, from, open);
  }

  /**
   * `[, N licenses][ (linger: LEFT / TOTAL)][, PID: P]` in any order, each once, to the end of the line. False when
   * something else stands there too: what is known of the rest is read all the same.
   */
  function readTail(text: string, start: number): boolean {
    let known = true;
    count = 0;
    pid = null;
    lingerSeconds = null;
    for (let at = skipBlanks(text, start); at < text.length; at = skipBlanks(text, at)) {
      const end = tailPart(text, at);
      known &&= end !== -1;
      at = end === -1 ? (execAt(NEXT_PART, text, at + 1)?.index ?? text.length) : end;
    }
    return known;
  }

  /** Index behind the part at `at`, -1 when none stands there that is new. By hand, because nearly every line has one. */
  function tailPart(text: string, at: number): number {
    if (text.charCodeAt(at) === COMMA && text.charCodeAt(at + 1) === SPACE) {
      if (isDigit(text.charCodeAt(at + 2))) {
        const read = count === 0 ? digits.read(text, at + 2, MOST_DIGITS) : 0;
        if (read > 0 && text.startsWith(LICENSE, digits.end)) {
          count = read;
          const end = digits.end + LICENSE.length;
          return text[end] === "s" ? end + 1 : end;
        }
      } else if (text.startsWith(PID, at)) {
        const read = pid === null ? digits.read(text, at + PID.length, MOST_DIGITS) : -1;
        if (read !== -1) pid = read;
        return read === -1 ? -1 : digits.end;
      }
    }
    const found = lingerSeconds === null ? execAt(LINGER, text, at) : null;
    if (found === null) return -1;
    lingerSeconds = Number(found[1]);
    return LINGER.lastIndex;
  }

  return {
    checkout(text, start, pool, end) {
      const close = text.lastIndexOf(START_MARK);
      if (close === -1) return null;
      const time = close + START_MARK.length;
      const startedAt = times.read(text, time);
      const known = readTail(text, startedAt === undefined ? time : times.end) && startedAt !== undefined;
      if ((!known && end === "known") || !holder(text, start, close)) return null;
      return {
        user: identity.user,
        host: identity.host,
        display: identity.display,
        qualifier: identity.qualifier,
        version,
        count: count === 0 ? 1 : count,
        handle,
        pid,
        startedAt: startedAt ?? null,
        lingerSeconds,
        borrowed: lingerSeconds !== null && lingerSeconds > 0,
        pool,
      };
    },
    queued(text, start, pool, end) {
      const mark = text.lastIndexOf(QUEUE_MARK);
      if (mark === -1) return null;
      const found = execAt(QUEUED[end], text, mark + QUEUE_MARK.length);
      const seats = found === null ? 0 : Number(found[1]);
      if (seats < 1 || !holder(text, start, mark)) return null;
      const { user, host, display, qualifier } = identity;
      return { user, host, display, qualifier, version, count: seats, handle, pool };
    },
    server: () => line.slice(serverFrom, serverTo),
    guessedAt: () => (identity.guessed ? { from, to } : null),
  };
}

/** Letters, digits, `_` and `.`. */
function isVersion(code: number): boolean {
  const letter = code | 0x20;
  return isDigit(code) || (letter >= 0x61 && letter <= 0x7a) || code === DOT || code === UNDERSCORE;
}
