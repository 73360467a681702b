import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { createFirstDay } from "../managers/flexnet/debug-log/first-day.ts";
import { createLineCutter, natureOf } from "../managers/flexnet/debug-log/lines.ts";
import { createDebugLogReader } from "../managers/flexnet/debug-log/reader.ts";

/** A log to import. */
export interface LogSource {
  readonly name: string;
  readonly size: number;
  /** When it was written last, epoch ms. */
  readonly lastWrite: number;
  /** Pieces from the start; can be asked for again. A piece is valid until the next one is asked for. */
  pieces(): Iterable<Uint8Array>;
}

const PIECE_BYTES = 256 * 1024;

/** A file. Throws the error of the file system when it cannot be opened. */
export function fileSource(path: string): LogSource {
  const file = openSync(path, "r");
  try {
    const { size, mtimeMs } = fstatSync(file);
    return { name: path, size, lastWrite: mtimeMs, pieces: () => piecesOf(path) };
  } finally {
    closeSync(file);
  }
}

function* piecesOf(path: string): Generator<Uint8Array> {
  const file = openSync(path, "r");
  const buffer = new Uint8Array(PIECE_BYTES);
  try {
    for (;;) {
      const length = readSync(file, buffer, 0, PIECE_BYTES, null);
      if (length === 0) return;
      yield buffer.subarray(0, length);
    }
  } finally {
    closeSync(file);
  }
}

/** What came in on stdin: written now. */
export function bytesSource(name: string, bytes: Uint8Array, now: number): LogSource {
  return {
    ...{ name, size: bytes.length, lastWrite: now },
    *pieces() {
      for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
    },
  };
}

/** What is wrong with a log, in words for an administrator; null when it can be read. */
export function problemOf(source: LogSource, zone: string): string | null {
  for (const piece of source.pieces()) {
    const nature = natureOf(piece);
    if (nature === "binary")
      return `${source.name} is no text: it may be packed, or an encrypted report log, which only the vendor's tools can read. Give the debug log`;
    if (nature === "utf-16")
      return `${source.name} is UTF-16 text: convert it first (iconv -f utf-16 -t utf-8)`;
    if (firstTime(source, zone) !== null) return null;
  }
  return `${source.name} is no FlexNet debug log: no line of it begins with a time and a daemon`;
}

/** The day of a log's first line, in days since 1970-01-01; `inferred` when no line prints a date. */
export function firstDay(
  source: LogSource,
  zone: string,
): { readonly day: number; readonly inferred: boolean } {
  const finder = createFirstDay(zone);
  const cutter = createLineCutter();
  let found = false;
  const line = (text: string) => {
    found ||= finder.line(text);
  };
  for (const piece of source.pieces()) {
    cutter.feed(piece, line);
    if (found) break;
  }
  if (!found) cutter.finish(line);
  return finder.result(source.lastWrite);
}

/** Logs by the time of their first line: rotated ones may be given in any order. */
export function inOrder(
  sources: readonly LogSource[],
  zone: string,
): readonly { readonly source: LogSource; readonly firstAt: number | null }[] {
  return sources
    .map((source) => ({ source, firstAt: firstTime(source, zone) }))
    .sort((a, b) => (a.firstAt ?? 0) - (b.firstAt ?? 0));
}

/** Time of the first line with a time, epoch ms; null when there is none in the first pieces. */
function firstTime(source: LogSource, zone: string): number | null {
  const { day } = firstDay(source, zone);
  const reader = createDebugLogReader({
    ...{ zone, hold: false, start: { day, second: -1, daemons: [] } },
    onEvent: () => {},
  });
  const cutter = createLineCutter();
  for (const piece of source.pieces()) {
    cutter.feed(piece, reader.line);
    if (reader.firstAt === null) cutter.finish(reader.line);
    if (reader.firstAt !== null || reader.counts.lines > 1000) break;
  }
  return reader.firstAt;
}
