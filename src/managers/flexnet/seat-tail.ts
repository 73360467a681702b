import { execAt, skipBlanks } from "./scan.ts";

/** What stands behind the start time of a checkout; filled anew by every read. */
export interface SeatTail {
  /** Null when the line prints none, which means one. */
  count: number | null;
  /** `(linger: LEFT)` or `(linger: LEFT / TOTAL)`: the seconds left; 0 is capable of lingering, not lingering. */
  lingerSeconds: number | null;
  pid: number | null;
  /**
   * `[, N licenses][ (linger: …)][, PID: P]` in any order, each once, to the end of the line. False when something
   * else stands there too: what is known of the rest is read all the same.
   */
  read(text: string, from: number): boolean;
}

const LINGER = /,? ?\(linger: (\d{1,12})(?: \/ \d{1,12})?\)/iy;
const LICENSE = " license";
const PID = "PID: ";

const SPACE = 0x20;
const OPEN = 0x28;
const COMMA = 0x2c;
const LETTER_P = 0x50;
const LETTER_S = 0x73;
const MOST_DIGITS = 12;

export function createSeatTail(): SeatTail {
  /** Index behind the part that was read last. */
  let end = 0;

  function digits(text: string, from: number): number {
    const last = Math.min(text.length, from + MOST_DIGITS);
    let value = 0;
    let at = from;
    for (; at < last; at++) {
      const digit = text.charCodeAt(at) - 0x30;
      if (digit < 0 || digit > 9) break;
      value = value * 10 + digit;
    }
    end = at;
    return at === from ? -1 : value;
  }

  /** `PID: P` or `N licenses`, behind a comma. By hand, because nearly every line has one. */
  function numbered(text: string, from: number): boolean {
    if (text.charCodeAt(from) === LETTER_P) {
      if (!text.startsWith(PID, from)) return false;
      const pid = digits(text, from + PID.length);
      if (pid < 0 || self.pid !== null) return false;
      self.pid = pid;
      return true;
    }
    const count = digits(text, from);
    if (count < 1 || self.count !== null || !text.startsWith(LICENSE, end)) return false;
    end += LICENSE.length;
    if (text.charCodeAt(end) === LETTER_S) end++;
    self.count = count;
    return true;
  }

  function lingering(text: string, from: number): boolean {
    const found = self.lingerSeconds === null ? execAt(LINGER, text, from) : null;
    if (found === null) return false;
    end = from + found[0].length;
    self.lingerSeconds = Number(found[1]);
    return true;
  }

  const self: SeatTail = {
    count: null,
    lingerSeconds: null,
    pid: null,
    read(text, from) {
      self.count = null;
      self.lingerSeconds = null;
      self.pid = null;
      let known = true;
      for (let at = skipBlanks(text, from); at < text.length; at = skipBlanks(text, end)) {
        const listed = text.charCodeAt(at) === COMMA && text.charCodeAt(at + 1) === SPACE;
        if ((listed && numbered(text, at + 2)) || lingering(text, at)) continue;
        known = false;
        end = nextPart(text, at + 1);
      }
      return known;
    },
  };
  return self;
}

/** Index of the next sign that a known part may begin with. */
function nextPart(text: string, from: number): number {
  let at = from;
  while (at < text.length && text.charCodeAt(at) !== COMMA && text.charCodeAt(at) !== OPEN) at++;
  return at;
}
