import type { CheckoutReading, QueueReading } from "../../domain/reading.ts";
import type { KnownHosts } from "../manager.ts";
import { endOfText, execAt, isBlank, isDigit, skipBlanks } from "../scan.ts";
import { type Identity, readIdentity } from "./identity.ts";
import type { StartTimes } from "./start-time.ts";

/** `any`: what stands behind the bracket of the server need not be wholly known. */
export type LineEnd = "known" | "any";

const START_MARK = "), start ";
const QUEUE_MARK = ") queued for ";
const QUEUED = { known: /(\d{1,9}) licen[sc]es?[ \t]*$/iy, any: /(\d{1,9}) licen[sc]es?\b/iy };
/** `, N licenses`, `, PID: P` or ` (linger: LEFT / TOTAL)`. */
const TAIL_PART =
  /, (\d{1,12}) licenses?|, PID: (\d{1,12})|,? ?\((?i:linger): (\d{1,12})(?: \/ \d{1,12})?\)/y;
const NEXT_PART = /[,(]|$/g;

const SPACE = 0x20;
const OPEN = 0x28;
const CLOSE = 0x29;
const DOT = 0x2e;
const SLASH = 0x2f;
const UNDERSCORE = 0x5f;

/**
 * `USER HOST [DISPLAY [QUALIFIER…]] [(vVER)] (SRV/PORT [HANDLE]), start DOW M/D H:MM[tail]` and
 * `USER HOST DISPLAY [VER] (vVER) (SRV/PORT HANDLE) queued for N license[s]`.
 * Both are read from the right: users and encrypted displays hold blanks, brackets, quotes and commas,
 * while everything behind them is the tool's own.
 */
export function createSeatReader(times: StartTimes, hosts: KnownHosts) {
  let identity: Identity = { user: "", host: null, display: null, qualifier: null, guessed: false };
  let version: string | null = null;
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
    version = text.slice(open + 1, to - 1);
    to = endOfText(text, from, open);
  }

  /**
   * The parts of the tail in any order, each once, to the end of the line. False when something else stands there too:
   * what is known of the rest is read all the same.
   */
  function readTail(text: string, start: number): boolean {
    let known = true;
    count = 0;
    pid = null;
    lingerSeconds = null;
    for (let at = skipBlanks(text, start); at < text.length; at = skipBlanks(text, at)) {
      const found = execAt(TAIL_PART, text, at);
      const isNew = found !== null && takePart(found[1], found[2], found[3]);
      known &&= isNew;
      at = isNew ? TAIL_PART.lastIndex : (execAt(NEXT_PART, text, at + 1)?.index ?? text.length);
    }
    return known;
  }

  function takePart(seats?: string, process?: string, linger?: string): boolean {
    if (seats !== undefined && count === 0) {
      count = Number(seats);
      return count > 0;
    }
    if (process !== undefined && pid === null) pid = Number(process);
    else if (linger !== undefined && lingerSeconds === null) lingerSeconds = Number(linger);
    else return false;
    return true;
  }

  return {
    /** A checkout whose first word begins at `start`, under the pool with this index; null when the line is none. */
    checkout(text: string, start: number, pool: number | null, end: LineEnd): CheckoutReading | null {
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
    /** A queue entry, likewise. */
    queued(text: string, start: number, pool: number | null, end: LineEnd): QueueReading | null {
      const mark = text.lastIndexOf(QUEUE_MARK);
      if (mark === -1) return null;
      const found = execAt(QUEUED[end], text, mark + QUEUE_MARK.length);
      const seats = found === null ? 0 : Number(found[1]);
      if (seats < 1 || !holder(text, start, mark)) return null;
      const { user, host, display, qualifier } = identity;
      return { user, host, display, qualifier, version, count: seats, handle, pool };
    },
    /** Of the line read last: the license server that gave the seat, `host/port` as printed. */
    server: () => line.slice(serverFrom, serverTo),
    /** Of the line read last: the place of an identity that was split without evidence, else null. */
    guessedAt: () => (identity.guessed ? { from, to } : null),
  };
}

/** Letters, digits, `_` and `.`. */
function isVersion(code: number): boolean {
  const letter = code | 0x20;
  return isDigit(code) || (letter >= 0x61 && letter <= 0x7a) || code === DOT || code === UNDERSCORE;
}
