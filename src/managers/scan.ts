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

/** Index behind the last character before `to` that is no blank, at least `from`. */
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

/** Words between blanks as pairs of start and end, flat: `[start0, end0, start1, end1, …]`. */
export function wordBounds(text: string, from: number, to: number): number[] {
  const bounds: number[] = [];
  let at = from;
  while (at < to) {
    while (at < to && isBlank(text.charCodeAt(at))) at++;
    if (at >= to) break;
    bounds.push(at);
    while (at < to && !isBlank(text.charCodeAt(at))) at++;
    bounds.push(at);
  }
  return bounds;
}

/** A sticky expression at one place of the text. */
export function execAt(sticky: RegExp, text: string, at: number): RegExpExecArray | null {
  sticky.lastIndex = at;
  return sticky.exec(text);
}

/** The two-digit number at a place; -1 where there is none. */
export function twoDigits(line: string, at: number): number {
  const tens = line.charCodeAt(at) - 0x30;
  const ones = line.charCodeAt(at + 1) - 0x30;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : -1;
}
