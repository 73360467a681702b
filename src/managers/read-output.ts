import { isUtf8 } from "node:buffer";
import { MAX_UNPARSED_KEPT, type Reading, type UnparsedLine } from "../domain/reading.ts";
import type { ReadingParser, TextParser } from "./manager.ts";

const MAX_LENGTH = 500;

/** Collects the lines of one output that no rule matched. Counts all of them and keeps the first ones. */
export function createUnparsed() {
  const unparsed: UnparsedLine[] = [];
  let unparsedLines = 0;
  return {
    add(text: string, line: number): void {
      unparsedLines++;
      if (unparsed.length < MAX_UNPARSED_KEPT) unparsed.push({ line, text: text.slice(0, MAX_LENGTH) });
    },
    read: (): Pick<Reading, "unparsedLines" | "unparsed"> => ({ unparsedLines, unparsed }),
  };
}

/**
 * Number of bytes per chunk. Parsing a chunk takes well under a millisecond, or two before the code is
 * compiled.
 */
const CHUNK_BYTES = 16 * 1024;
const SLICE_MS = 4;

/**
 * Maximum length of a line. A longer line is not parsed, but added to the unparsed lines and marked as cut.
 */
const MAX_LINE = 1024 * 1024;
const CUT = "… (cut: the line is longer than 1 MiB)";

const LF = 0x0a;
const CR = 0x0d;

/** Parses an output without yielding, for the command line and tests. The daemon uses {@link readOutput}. */
export function readOutputSync(
  bytes: Uint8Array,
  parser: ReadingParser | TextParser,
  truncated = false,
): Reading {
  if ("text" in parser) return parser.text(decodeOutput(bytes), truncated);
  const lines = createLineFeeder(bytes, parser, truncated);
  while (lines.next());
  return lines.finish();
}

/** Yields to the event loop every few milliseconds, except for JSON and XML. */
export async function readOutput(
  bytes: Uint8Array,
  parser: ReadingParser | TextParser,
  truncated = false,
): Promise<Reading> {
  if ("text" in parser) return parser.text(decodeOutput(bytes), truncated);
  const lines = createLineFeeder(bytes, parser, truncated);
  let sliceStart = performance.now();
  while (lines.next()) {
    if (performance.now() - sliceStart < SLICE_MS) continue;
    await new Promise<void>((resume) => setImmediate(resume));
    sliceStart = performance.now();
  }
  return lines.finish();
}

/**
 * Detects the encoding. UTF-16 has a byte order mark (PowerShell pipes). Windows-1252 is the last resort,
 * because every byte is a character in it.
 */
export function detectEncoding(bytes: Uint8Array): "utf-8" | "utf-16le" | "utf-16be" | "windows-1252" {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf-16be";
  if (isUtf8(bytes)) return "utf-8";
  // Ignore a multi-byte character that is cut at the end of the output.
  for (let cut = 1; cut <= 3 && cut < bytes.length; cut++) {
    const byte = bytes[bytes.length - cut] ?? 0;
    if (byte >= 0xc2 && isUtf8(bytes.subarray(0, bytes.length - cut))) return "utf-8";
  }
  return "windows-1252";
}

/** Throws RangeError if the name is not in the WHATWG Encoding Standard. */
export function decoderOf(encoding: string): TextDecoder {
  return new TextDecoder(encoding as Bun.Encoding);
}

export function decodeOutput(bytes: Uint8Array): string {
  return new TextDecoder(detectEncoding(bytes)).decode(bytes);
}

/** Converts an output to UTF-8; `encoding` null = detect it. Returns the same bytes if nothing changes. */
export function recode(
  bytes: Uint8Array,
  encoding: string | null,
  change: (text: string) => string = (text) => text,
): Uint8Array {
  const text = decoderOf(encoding ?? detectEncoding(bytes)).decode(bytes);
  const changed = change(text);
  return encoding === null && changed === text ? bytes : new TextEncoder().encode(changed);
}

function createLineFeeder(bytes: Uint8Array, parser: ReadingParser, truncated: boolean) {
  const encoding = detectEncoding(bytes);
  const decoder = new TextDecoder(encoding);
  let position = 0;
  /** Text after the last line end. A CR at its end may be the start of CRLF. */
  let rest = "";
  let count = 0;
  const tooLong: UnparsedLine[] = [];
  let isSkipping = false;

  /** Splits a line at CRs, which are the line ends of very old tools. */
  function emit(line: string): void {
    for (const part of line.slice(0, endBeforeCrs(line)).split("\r")) {
      count++;
      parser.line(part);
    }
  }

  function feed(text: string): void {
    if (isSkipping) {
      const end = text.search(/[\r\n]/);
      if (end === -1) return;
      isSkipping = false;
      // Continue at the line end, which ends the long line.
      feed(text.slice(end));
      return;
    }
    const joined = rest + text;
    const lines = joined.split("\n");
    rest = lines.pop() ?? "";
    if (joined.includes("\r")) for (const line of lines) emit(line);
    else {
      for (const line of lines) parser.line(line);
      count += lines.length;
    }
    const end = endBeforeCrs(rest);
    const lineEnd = end === 0 ? -1 : rest.lastIndexOf("\r", end - 1);
    if (lineEnd !== -1) emit(rest.slice(0, lineEnd));
    rest = rest.slice(lineEnd + 1);
    if (rest.length > MAX_LINE) giveUp();
  }

  /** Gives up a line that is too long. An empty line takes its place, to keep the line numbers right. */
  function giveUp(): void {
    const end = endBeforeCrs(rest);
    if (end > MAX_LINE) {
      tooLong.push({ line: count + 1, text: `${rest.slice(0, MAX_LENGTH - CUT.length)}${CUT}` });
      isSkipping = end === rest.length;
      rest = rest.slice(end);
    } else {
      emit(rest);
      rest = "";
    }
  }

  function end(): Reading {
    if (rest === "") return parser.finish({ rest: null, truncated });
    if (!rest.endsWith("\r")) return parser.finish({ rest, truncated });
    emit(rest);
    return parser.finish({ rest: null, truncated });
  }

  return {
    /** Returns false if no chunk is left. */
    next(): boolean {
      if (position >= bytes.length) return false;
      let end = Math.min(position + CHUNK_BYTES, bytes.length);
      // End chunks at line ends where possible, to avoid copying a long rest repeatedly.
      if (!encoding.startsWith("utf-16") && end < bytes.length) {
        const newline = bytes.subarray(position, end).lastIndexOf(LF);
        if (newline !== -1) end = position + newline + 1;
      }
      feed(decoder.decode(bytes.subarray(position, end), { stream: end < bytes.length }));
      position = end;
      return true;
    },
    finish(): Reading {
      const reading = end();
      if (tooLong.length === 0) return reading;
      const unparsed = [...reading.unparsed, ...tooLong].sort((a, b) => a.line - b.line);
      const unparsedLines = reading.unparsedLines + tooLong.length;
      return { ...reading, unparsedLines, unparsed: unparsed.slice(0, MAX_UNPARSED_KEPT), cut: true };
    },
  };
}

/** `/\r+$/` would take quadratic time over CRs elsewhere. */
function endBeforeCrs(text: string): number {
  let end = text.length;
  while (end > 0 && text.charCodeAt(end - 1) === CR) end--;
  return end;
}
