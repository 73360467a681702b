import { isUtf8 } from "node:buffer";

export type LogNature = "text" | "utf-16" | "binary";

const LF = 0x0a;
const CR = 0x0d;
const BOM = 0xfeff;
const MAX_LINE = 64 * 1024;
const SNIFFED = 4096;

/**
 * Detects UTF-16 and binary files. Report logs are binary, because they are encrypted and contain bytes
 * that never occur in text. NULs are ignored, because a log that was truncated under its writer begins with
 * NULs.
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
 * Splits bytes into lines as they arrive. Each client writes the user's name in its own encoding, so lines
 * that are not valid UTF-8 are decoded as Windows-1252, in which every byte is a character.
 */
export function createLineCutter() {
  const utf8 = new TextDecoder("utf-8", { ignoreBOM: false });
  const latin = new TextDecoder("windows-1252");
  let begun: Uint8Array = new Uint8Array(0);

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
      // Copy the rest, because the caller may reuse its buffer. Leave out leading NULs, because there may
      // be any number of them.
      begun = isLong ? new Uint8Array(0) : all.slice(behindNuls(all, end));
    },
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

/** Removes CRs at the end, and NULs (of a truncated file) and byte order marks at the start. */
function bare(text: string): string {
  let [start, end] = [0, text.length];
  while (end > start && text.charCodeAt(end - 1) === CR) end--;
  while (start < end && (text.charCodeAt(start) === 0 || text.charCodeAt(start) === BOM)) start++;
  return text.slice(start, end);
}
