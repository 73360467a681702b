import { isUtf8 } from "node:buffer";

/** What a log's first bytes say of it. */
export type LogNature = "text" | "utf-16" | "binary";

const LF = 0x0a;
const CR = 0x0d;
/** A line of a license daemon is some hundred bytes; a longer one is cut here and counts as several. */
const MAX_LINE = 64 * 1024;
const SNIFFED = 4096;

/**
 * Report logs are encrypted and can only be read by the vendor's tools: bytes that no text has tell them apart.
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
export interface LineCutter {
  feed(bytes: Uint8Array, line: (text: string) => void): void;
  /** The last line, if it has no line end. */
  finish(line: (text: string) => void): void;
}

export function createLineCutter(): LineCutter {
  const utf8 = new TextDecoder("utf-8", { ignoreBOM: false });
  const latin = new TextDecoder("windows-1252");
  let begun: Uint8Array = new Uint8Array(0);

  function decodeLine(bytes: Uint8Array): string {
    const text = isUtf8(bytes) ? utf8.decode(bytes) : latin.decode(bytes);
    return withoutEnds(text);
  }

  function tell(bytes: Uint8Array, line: (text: string) => void): void {
    if (isUtf8(bytes)) {
      const text = utf8.decode(bytes);
      let from = 0;
      for (let end = text.indexOf("\n", from); end !== -1; end = text.indexOf("\n", from)) {
        line(lineOf(text, from, end));
        from = end + 1;
      }
      return;
    }
    let from = 0;
    for (let end = bytes.indexOf(LF, from); end !== -1; end = bytes.indexOf(LF, from)) {
      line(decodeLine(bytes.subarray(from, end)));
      from = end + 1;
    }
  }

  return {
    feed(bytes, line) {
      let rest = bytes;
      if (begun.length > 0) {
        const end = bytes.indexOf(LF);
        const head = end === -1 ? bytes : bytes.subarray(0, end);
        begun = joined(begun, head);
        if (end === -1 && begun.length <= MAX_LINE) return;
        line(decodeLine(begun));
        begun = new Uint8Array(0);
        if (end === -1) return;
        rest = bytes.subarray(end + 1);
      }
      const last = rest.lastIndexOf(LF);
      if (last !== -1) tell(rest.subarray(0, last + 1), line);
      // The caller may use its buffer again. A hole of NULs may be of any size, and the line behind it is whole.
      begun = rest.slice(behindNuls(rest, last + 1));
    },
    finish(line) {
      if (begun.length > 0) line(decodeLine(begun));
      begun = new Uint8Array(0);
    },
  };
}

function behindNuls(bytes: Uint8Array, from: number): number {
  let at = from;
  while (bytes[at] === 0) at++;
  return at;
}

function lineOf(text: string, from: number, end: number): string {
  const to = end > from && text.charCodeAt(end - 1) === CR ? end - 1 : end;
  // A NUL at the front: the hole of a truncated file.
  return text.charCodeAt(from) === 0 ? withoutEnds(text.slice(from, to)) : text.slice(from, to);
}

function withoutEnds(text: string): string {
  // Not by `/\r+$/`, which takes quadratic time over CRs that stand elsewhere.
  let end = text.length;
  while (end > 0 && text.charCodeAt(end - 1) === CR) end--;
  return text.slice(0, end).replace(/^[\0\uFEFF]+/, "");
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
