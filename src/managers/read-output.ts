import { isUtf8 } from "node:buffer";
import type { Reading } from "../domain/reading.ts";
import type { OutputEnd, ReadingParser } from "./manager.ts";

/** Bytes decoded at a time: well under a millisecond of parsing, or two before the code is compiled. */
const CHUNK_BYTES = 16 * 1024;
/** How long the event loop may be held before we let others in. */
const SLICE_MS = 4;

/** No tool prints a line this long: binary junk is fed in pieces, each of which counts as unparsed. */
const MAX_LINE = 1024 * 1024;

const LF = 0x0a;
const CR = 0x0d;

/**
 * Tool output → lines → parser, all at once. For the command line and tests; the daemon uses {@link readOutput}.
 */
export function readOutputSync(bytes: Uint8Array, parser: ReadingParser, truncated = false): Reading {
  const lines = createLineFeeder(bytes, parser, truncated);
  while (lines.next());
  return lines.finish();
}

/** Tool output → lines → parser, giving the event loop back every few milliseconds. */
export async function readOutput(
  bytes: Uint8Array,
  parser: ReadingParser,
  truncated = false,
): Promise<Reading> {
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
 * Encoding of a tool's output: UTF-16 by its byte order mark (PowerShell pipes), UTF-8 when every byte fits,
 * else Windows-1252, in which every byte has a character, so that nothing is lost.
 */
export function detectEncoding(bytes: Uint8Array): "utf-8" | "utf-16le" | "utf-16be" | "windows-1252" {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf-16be";
  if (isUtf8(bytes)) return "utf-8";
  // A multi-byte character cut in two at the end of the output is no reason to misread all the others.
  for (let cut = 1; cut <= 3 && cut < bytes.length; cut++) {
    const byte = bytes[bytes.length - cut] ?? 0;
    if (byte >= 0xc2 && isUtf8(bytes.subarray(0, bytes.length - cut))) return "utf-8";
  }
  return "windows-1252";
}

/** The whole output as text, for people. */
export function decodeOutput(bytes: Uint8Array): string {
  return new TextDecoder(detectEncoding(bytes)).decode(bytes);
}

function createLineFeeder(bytes: Uint8Array, parser: ReadingParser, truncated: boolean) {
  const encoding = detectEncoding(bytes);
  const decoder = new TextDecoder(encoding);
  const wide = encoding.startsWith("utf-16");
  let position = 0;
  /** The begun line: pieces, joined once its end is seen, so that a line without end costs linear time. */
  let begun: string[] = [];
  let begunLength = 0;
  /** The last character: without any text, nothing is cut. */
  let lastCode = LF;

  /** CRLF, and the lone CR of very old tools as a line end of its own. */
  const emit = (line: string) => {
    let end = line.length;
    while (end > 0 && line.charCodeAt(end - 1) === CR) end--;
    if (end === 0 || line.lastIndexOf("\r", end - 1) === -1) parser.line(line.slice(0, end));
    else for (const part of line.slice(0, end).split("\r")) parser.line(part);
  };
  const emitBegun = (last: string) => {
    emit(begun.length === 0 ? last : begun.join("") + last);
    begun = [];
    begunLength = 0;
  };
  /** Keeps the text behind the last line end; CRs at its very end may still become CRLF. */
  const begin = (text: string) => {
    let end = text.length;
    while (end > 0 && text.charCodeAt(end - 1) === CR) end--;
    const lineEnd = end === 0 ? -1 : text.lastIndexOf("\r", end - 1);
    if (lineEnd !== -1) emitBegun(text.slice(0, lineEnd));
    const rest = text.slice(lineEnd + 1);
    begun.push(rest);
    begunLength += rest.length;
    if (begunLength > MAX_LINE) emitBegun("");
  };
  const feed = (text: string) => {
    if (text === "") return;
    lastCode = text.charCodeAt(text.length - 1);
    const lines = text.split("\n");
    const rest = lines.pop() ?? "";
    const [first] = lines;
    if (first !== undefined) emitBegun(first);
    const bare = !text.includes("\r");
    for (let index = 1; index < lines.length; index++) {
      const line = lines[index] ?? "";
      if (bare) parser.line(line);
      else emit(line);
    }
    if (rest !== "") begin(rest);
  };

  return {
    /** Feeds one chunk; false when there is none left. */
    next(): boolean {
      if (position >= bytes.length) return false;
      let end = Math.min(position + CHUNK_BYTES, bytes.length);
      // Chunks end at line ends where there is one, so that no long rest is copied again and again.
      if (!wide && end < bytes.length) {
        const newline = bytes.subarray(position, end).lastIndexOf(LF);
        if (newline !== -1) end = position + newline + 1;
      }
      const last = end >= bytes.length;
      feed(decoder.decode(bytes.subarray(position, end), { stream: !last }));
      position = end;
      return true;
    },
    finish(): Reading {
      if (begun.length > 0) emitBegun("");
      const end: OutputEnd = { endsWithNewline: lastCode === LF || lastCode === CR, truncated };
      return parser.finish(end);
    },
  };
}
