/**
 * Finds blanks and digits in a line. lmstat's only blanks are space and tab: `trim()` would also remove no-break spaces
 * and byte order marks, which may be part of names.
 */

const SPACE = 0x20;
const TAB = 0x09;

export function isBlank(code: number): boolean {
  return code === SPACE || code === TAB;
}

export function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** Returns the index of the first non-blank at or after `from`, or the length. */
export function skipBlanks(text: string, from: number): number {
  let at = from;
  while (at < text.length && isBlank(text.charCodeAt(at))) at++;
  return at;
}

/** Returns the index after the last non-blank before `to`, at least `from`. */
export function endOfText(text: string, from: number, to: number): number {
  let end = to;
  while (end > from && isBlank(text.charCodeAt(end - 1))) end--;
  return end;
}

export function trimBlanks(text: string): string {
  const from = skipBlanks(text, 0);
  return text.slice(from, endOfText(text, from, text.length));
}

export function execAt(sticky: RegExp, text: string, at: number): RegExpExecArray | null {
  sticky.lastIndex = at;
  return sticky.exec(text);
}

/**
 * Creates a reader of numbers. `read` parses up to `most` digits, returns their value (-1 without digits),
 * and sets `end` to the index after them.
 */
export function createDigits() {
  const self = {
    end: 0,
    read(text: string, from: number, most: number): number {
      const last = Math.min(text.length, from + most);
      let value = 0;
      let at = from;
      for (; at < last; at++) {
        const digit = text.charCodeAt(at) - 0x30;
        if (digit < 0 || digit > 9) break;
        value = value * 10 + digit;
      }
      self.end = at;
      return at === from ? -1 : value;
    },
  };
  return self;
}
