import { closeSync, constants, fstatSync, openSync, readSync, statSync } from "node:fs";
import { errorCode } from "../store-error.ts";

/** Layout: https://sqlite.org/fileformat2.html#the_database_header, numbers are big-endian. */
const HEADER_BYTES = 100;
const MAGIC = "SQLite format 3\0";
/** https://sqlite.org/fileformat2.html#the_wal_file_format */
const WAL_HEADER_BYTES = 32;
const WAL_MAGIC = 0x377f0682;
const WAL_VERSION = 3_007_000;

/**
 * Why the header of a file cannot be a database's; null when it can, or the file is empty or not there. Fields that
 * SQLite would only stumble over later (a file that claims to be of a future format is opened read-only) count as well.
 * Reads the file itself: not to be called in a process that has the database open.
 */
export function headerFault(path: string): string | null {
  const header = readStart(path, HEADER_BYTES);
  if (header === null || header.length === 0) return null;
  if (header.length < HEADER_BYTES || header.toString("latin1", 0, MAGIC.length) !== MAGIC)
    return `${path} is not a database`;
  const pageSize = pageSizeOf(header.readUInt16BE(16));
  const fractions = [header[21], header[22], header[23]].join();
  const isKnown =
    isPageSize(pageSize) &&
    [header[18], header[19]].every((version) => version === 1 || version === 2) &&
    fractions === "64,32,32" &&
    header.readUInt32BE(44) <= 4 &&
    header.readUInt32BE(56) <= 3;
  if (!isKnown) return `The header of ${path} is damaged`;
  // While there is a write-ahead log the file may be shorter: the rest is in the log.
  const pages = header.readUInt32BE(28);
  const isSettled = sizeOf(`${path}-wal`) === 0 && header.readUInt32BE(24) === header.readUInt32BE(92);
  if (isSettled && sizeOf(path) < pages * pageSize) return `${path} was cut off: ${pages} pages were in it`;
  return null;
}

/**
 * Whether a write-ahead log can be read at all. SQLite takes one whose header is wrong for empty, and goes on without
 * what was committed into it. An absent or empty log is fine.
 */
export function isWalReadable(path: string): boolean {
  const header = readStart(path, WAL_HEADER_BYTES);
  if (header === null || header.length === 0) return true;
  if (header.length < WAL_HEADER_BYTES) return false;
  const magic = header.readUInt32BE(0);
  if ((magic & ~1) !== WAL_MAGIC || header.readUInt32BE(4) !== WAL_VERSION) return false;
  const bigEndian = (magic & 1) === 1;
  let [a, b] = [0, 0];
  for (let at = 0; at < 24; at += 8) {
    const word = (offset: number) => (bigEndian ? header.readUInt32BE(offset) : header.readUInt32LE(offset));
    a = (a + word(at) + b) >>> 0;
    b = (b + word(at + 4) + a) >>> 0;
  }
  return isPageSize(header.readUInt32BE(8)) && a === header.readUInt32BE(24) && b === header.readUInt32BE(28);
}

function pageSizeOf(stored: number): number {
  return stored === 1 ? 65_536 : stored;
}

function isPageSize(bytes: number): boolean {
  return bytes >= 512 && bytes <= 65_536 && (bytes & (bytes - 1)) === 0;
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function readStart(path: string, bytes: number): Buffer | null {
  let file: number;
  try {
    // A named pipe would be waited for; that it is no file is said when it is opened as one.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  }
  try {
    if (!fstatSync(file).isFile()) return null;
    const start = Buffer.alloc(bytes);
    return start.subarray(0, readSync(file, start, 0, bytes, 0));
  } finally {
    closeSync(file);
  }
}
