/**
 * Small readers over a line. lmstat's only blanks are space and tab: `trim()` would also eat the no-break
 * spaces and marks that may stand in names.
 */

const SPACE = 0x20;
const TAB = 0x09;

export function isBlank(code: number): boolean {
  return code === SPACE || code === TAB;
}

export function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** Index of the first character at or after `from` that is no blank; the length when there is none. */
export function skipBlanks(text: string, from: number): number {
  let at = from;
  while (at < text.length && isBlank(text.charCodeAt(at))) at++;
  return at;
}

/** Index after the last non-blank before `to`, at least `from`. */
export function endOfText(text: string, from: number, to: number): number {
  let end = to;
  while (end > from && isBlank(text.charCodeAt(end - 1))) end--;
  return end;
}

/** The text without blanks at its ends. */
export function trimBlanks(text: string): string {
  const from = skipBlanks(text, 0);
  return text.slice(from, endOfText(text, from, text.length));
}

/** A sticky expression at one place of the text. */
export function execAt(sticky: RegExp, text: string, at: number): RegExpExecArray | null {
  sticky.lastIndex = at;
  return sticky.exec(text);
}

/** Reads up to `most` digits: their number, -1 when there is none; `end` is set after them. */
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
