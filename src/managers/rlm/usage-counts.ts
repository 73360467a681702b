/** What stands behind the host, and where it begins. */
export interface Counts {
  readonly begin: number;
  readonly seats: number;
  readonly reserved: number;
  readonly time: number;
  readonly handle: string | null;
  readonly roaming: boolean;
}

const ROAMING = /^\(?roam(?:ing|ed)?\)?$/i;
const HANDLE = "(handle: ";
const ZERO = 0x30;

/** ` A/B at MM/DD HH:MM[:SS][  (handle: H)][ roam]` before `end`. */
export function parseCounts(line: string, end: number): Counts | null {
  const at = line.lastIndexOf(" at ", end - 1);
  if (at === -1 || at + 15 > end) return null;
  const month = twoDigits(line, at + 4);
  const day = twoDigits(line, at + 7);
  const hour = twoDigits(line, at + 10);
  const minute = twoDigits(line, at + 13);
  if (month < 0 || day < 0 || hour < 0 || minute < 0) return null;
  if (line[at + 6] !== "/" || line[at + 9] !== " " || line[at + 12] !== ":") return null;

  const slash = digitsBefore(line, at) - 1;
  if (slash + 1 === at || line[slash] !== "/") return null;
  const blank = digitsBefore(line, slash) - 1;
  if (blank + 1 === slash || line[blank] !== " ") return null;

  let rest = at + 15;
  if (line[rest] === ":" && twoDigits(line, rest + 1) >= 0) rest += 3;
  let handle: string | null = null;
  const handleAt = skipBlanks(line, rest);
  if (line.startsWith(HANDLE, handleAt)) {
    const close = line.indexOf(")", handleAt);
    if (close === -1 || close > end) return null;
    handle = line.slice(handleAt + HANDLE.length, close);
    if (!isHex(handle)) return null;
    rest = close + 1;
  }
  const roaming = rest < end;
  if (roaming && (end - rest > 20 || !ROAMING.test(line.slice(rest, end).trim()))) return null;
  return {
    begin: blank,
    seats: Number(line.slice(blank + 1, slash)),
    reserved: Number(line.slice(slash + 1, at)),
    time: ((month * 100 + day) * 100 + hour) * 100 + minute,
    handle,
    roaming,
  };
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

/** Where the blanks and tabs from a place on end. */
export function skipBlanks(line: string, from: number): number {
  let begin = from;
  while (isBlank(line.charCodeAt(begin))) begin++;
  return begin;
}

/** Where the text before a place ends, without blanks and tabs. */
export function endOf(line: string, from: number): number {
  let end = from;
  while (end > 0 && isBlank(line.charCodeAt(end - 1))) end--;
  return end;
}

/** The two-digit number at a place; -1 where there is none. */
function twoDigits(line: string, at: number): number {
  const tens = line.charCodeAt(at) - ZERO;
  const ones = line.charCodeAt(at + 1) - ZERO;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : -1;
}

/** Where the digits before `end` begin; at most nine, for RLM counts no more. */
function digitsBefore(line: string, end: number): number {
  let begin = end;
  while (begin > 0 && end - begin < 9) {
    const digit = line.charCodeAt(begin - 1) - ZERO;
    // Also false for the NaN before the first character.
    if (!(digit >= 0 && digit <= 9)) break;
    begin--;
  }
  return begin;
}

function isHex(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    const letter = code | 0x20;
    if (!((code >= ZERO && code <= 0x39) || (letter >= 0x61 && letter <= 0x66))) return false;
  }
  return text !== "";
}
