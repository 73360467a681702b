import { isUtf8 } from "node:buffer";

/** What a log's first bytes say of it. */
export type LogNature = "text" | "utf-16" | "binary";

const LF = 0x0a;
const CR = 0x0d;
const BOM = 0xfeff;
/** A line of a license daemon is some hundred bytes; a longer one is cut here and counts as several. */
const MAX_LINE = 64 * 1024;
const SNIFFED = 4096;

/**
 * Report logs are encrypted and can only be read by the vendor's tools: bytes that no text has mark them.
 * A hole of NULs at the start is what a log becomes that was truncated under its writer.
 */
export function natureOf(bytes: Uint8Array): LogNature {
  if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)) return "utf-16";
  let controls = 0;
  let seen = 0;
  for (const byte of bytes.subarray(0, SNIFFED)) {
    if (byte === 0) continue;
    seen++;
    if (byte < 0x20 && byte !== LF && byte !== CR && byte !== 0x09 && byte !== 0x0c) controls++;
  }
  return controls > 0 && controls * 50 > seen ? "binary" : "text";
}

/**
 * Bytes to lines, in pieces as they come. UTF-8 and Latin-1 may stand in one file (each client writes its user's name
 * in its own encoding), so a line that is no UTF-8 is read as Windows-1252, in which every byte has a character.
 */
export function createLineCutter() {
  const utf8 = new TextDecoder("utf-8", { ignoreBOM: false });
  const latin = new TextDecoder("windows-1252");
  let begun: Uint8Array = new Uint8Array(0);

  /** Whole lines, each with its end, or the last one without. */
  function cut(bytes: Uint8Array, line: (text: string) => void): void {
    if (isUtf8(bytes)) {
      const lines = utf8.decode(bytes).split("\n");
      if (bytes.at(-1) === LF) lines.pop();
      for (const text of lines) line(bare(text));
      return;
    }
    for (let from = 0, end = 0; from < bytes.length; from = end + 1) {
      end = bytes.indexOf(LF, from);
      if (end === -1) end = bytes.length;
      const one = bytes.subarray(from, end);
      line(bare((isUtf8(one) ? utf8 : latin).decode(one)));
    }
  }

  return {
    feed(bytes: Uint8Array, line: (text: string) => void): void {
      const all = begun.length === 0 ? bytes : Buffer.concat([begun, bytes]);
      const end = all.lastIndexOf(LF) + 1;
      const isLong = end === 0 && begun.length > 0 && all.length > MAX_LINE;
      if (end > 0 || isLong) cut(isLong ? all : all.subarray(0, end), line);
      // The caller may use its buffer again. A hole of NULs may be of any size, and the line after it is whole.
      begun = isLong ? new Uint8Array(0) : all.slice(behindNuls(all, end));
    },
    /** The last line, if it has no line end. */
    finish(line: (text: string) => void): void {
      if (begun.length > 0) cut(begun, line);
      begun = new Uint8Array(0);
    },
  };
}

function behindNuls(bytes: Uint8Array, from: number): number {
  let at = from;
  while (bytes[at] === 0) at++;
  return at;
}

/** Without the CRs at its end, and without the NULs (of a truncated file) and byte order marks at its front. */
function bare(text: string): string {
  let [start, end] = [0, text.length];
  while (end > start && text.charCodeAt(end - 1) === CR) end--;
  while (start < end && (text.charCodeAt(start) === 0 || text.charCodeAt(start) === BOM)) start++;
  return text.slice(start, end);
}
