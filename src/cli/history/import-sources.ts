import { randomUUID } from "node:crypto";
import { closeSync, createReadStream, fstatSync, openSync, readSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { createGunzip } from "node:zlib";
import { messageOf } from "../../domain/error-code.ts";
import type { DebugLog } from "../../managers/debug-log/debug-log.ts";
import { createLineCutter, natureOf } from "../../managers/debug-log/lines.ts";
import { ensureDirectory, makePrivateFile } from "../../store/database/files.ts";
import { errorCode } from "../../store/database/store-error.ts";

export interface LogSource {
  readonly name: string;
  /** Size of the stored file in bytes. The file may be compressed. */
  readonly size: number;
  readonly lastWrite: number;
  /**
   * Yields the text from the start; can be called repeatedly. A piece is valid until the next piece is
   * requested. `onRead` gets the number of bytes read from the file. Rejects with LogReadError.
   */
  pieces(onRead?: (bytes: number) => void): AsyncIterable<Uint8Array>;
}

export class LogReadError extends Error {
  override readonly name = "LogReadError";
}

const PIECE_BYTES = 256 * 1024;

/** Opens a file, which may be compressed by gzip. Throws file system errors. */
export function fileSource(path: string): LogSource {
  const file = openSync(path, "r");
  try {
    const { size, mtimeMs } = fstatSync(file);
    const magic = new Uint8Array(2);
    readSync(file, magic, 0, 2, 0);
    const isPacked = magic[0] === 0x1f && magic[1] === 0x8b;
    return { name: path, size, lastWrite: mtimeMs, pieces: (onRead) => piecesOf(path, isPacked, onRead) };
  } finally {
    closeSync(file);
  }
}

async function* piecesOf(path: string, isPacked: boolean, onRead?: (bytes: number) => void) {
  const file = createReadStream(path, { highWaterMark: isPacked ? PIECE_BYTES / 4 : PIECE_BYTES });
  const text = isPacked ? createGunzip({ chunkSize: PIECE_BYTES }) : new PassThrough();
  file.on("data", (bytes) => onRead?.(bytes.length));
  file.on("error", (error) => text.destroy(error));
  file.pipe(text);
  try {
    for await (const piece of text) yield piece as Uint8Array;
  } catch (error) {
    const verb = isPacked ? "decompressed" : "read";
    throw new LogReadError(`${path} cannot be ${verb} completely: ${messageOf(error)}`);
  } finally {
    file.destroy();
    text.destroy();
  }
}

export type DatedLog = Awaited<ReturnType<typeof dated>>;

/**
 * Finds the start of a log. `day` is the day of its first line, in days since 1970-01-01; `inferred` is
 * true if no line has a date. `firstAt` is the time of the first line with a time, in epoch ms. Reads only
 * as much of the log as needed. Rejects with LogReadError if the file is not such a log.
 */
export async function dated(source: LogSource, zone: string, debugLog: DebugLog) {
  const finder = debugLog.createFirstDay(zone);
  let hasDate = false;
  const find = (text: string) => {
    hasDate ||= finder.line(text);
  };
  await readLines(source, find, () => hasDate);
  const { day, inferred } = finder.result(source.lastWrite);
  const start = { day, second: -1, daemons: [] };
  const reader = debugLog.createReader({ zone, start, hold: false, onEvent: () => {} });
  await readLines(source, reader.line, () => reader.firstAt !== null);
  if (reader.firstAt !== null) return { source, day, inferred, firstAt: reader.firstAt };
  const none = "no line begins with a time and a daemon";
  throw new LogReadError(`${source.name} is not a ${debugLog.title}: ${none}`);
}

/** Reads lines until `isEnough`, which is checked once per piece. */
async function readLines(source: LogSource, line: (text: string) => void, isEnough: () => boolean) {
  const cutter = createLineCutter();
  for await (const piece of source.pieces()) {
    const nature = natureOf(piece);
    if (nature === "binary")
      throw new LogReadError(
        `${source.name} is not a text file: it may be compressed (only gzip is supported), or an encrypted report log, which only the vendor's tools can read. Import the debug log instead`,
      );
    if (nature === "utf-16")
      throw new LogReadError(`${source.name} is UTF-16 text: convert it first (iconv -f utf-16 -t utf-8)`);
    cutter.feed(piece, line);
    if (isEnough()) return;
  }
  cutter.finish(line);
}

/** Size of stdin from which a message says where the data is kept. */
const TOLD_FROM_BYTES = 256 * 1024 * 1024;

/**
 * Keeps stdin in an unlinked file in the storage directory, because logs are read more than once and may be larger than
 * memory. The file disappears with the process. `close` frees the space. `tell` gets a message once the file is large.
 * Rejects with LogReadError if the disk is full, and with errors of `ensureDirectory`.
 */
export async function keepStdin(
  pieces: AsyncIterable<Uint8Array>,
  directory: string,
  now: number,
  tell: (message: string) => void,
  toldFrom = TOLD_FROM_BYTES,
): Promise<{ readonly source: LogSource; close(): void }> {
  ensureDirectory(directory);
  const path = join(directory, `import-${randomUUID()}.tmp`);
  makePrivateFile(path, null);
  const file = openSync(path, "r+");
  unlinkSync(path);
  let bytes = 0;
  let told = false;
  try {
    for await (const piece of pieces) {
      for (let at = 0; at < piece.length; ) at += writeSync(file, piece, at);
      bytes += piece.length;
      if (bytes < toldFrom || told) continue;
      told = true;
      tell(
        `keeping stdin in ${directory} until it is imported, because it is read more than once; if there is not enough space, pass the files instead`,
      );
    }
    const source = fileSource(`/proc/self/fd/${file}`);
    return { source: { ...source, name: "stdin", lastWrite: now }, close: () => closeSync(file) };
  } catch (error) {
    closeSync(file);
    if (errorCode(error) !== "ENOSPC" && errorCode(error) !== "EDQUOT") throw error;
    throw new LogReadError(
      `stdin does not fit into ${directory}, which is full after ${(bytes / 1e6).toFixed(0)} MB: free space, or pass the files (also compressed by gzip), which are read in place`,
    );
  }
}
