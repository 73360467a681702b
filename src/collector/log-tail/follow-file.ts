import { type FileHandle, open, readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { codeOf } from "../../domain/error-code.ts";

/** A position in a log that survives renames, truncations and restarts. Plain JSON. */
export interface FilePlace {
  /** Number of bytes read, up to the start of a line. */
  readonly offset: number;
  /** Hashes of the file's first bytes and of the bytes before `offset`, to recognize the file. */
  readonly head: Print;
  readonly tail: Print;
}

interface Print {
  readonly bytes: number;
  readonly hash: string;
}

export interface Follower<Place> {
  readonly name: string;
  /**
   * Returns the next piece, about `limit` bytes or less, as of `now` (epoch ms); null if the log is not
   * available yet. Rejects with a message for the administrator, or with the file system's error.
   */
  next(limit: number, now: number): Promise<Piece | null>;
  /** Returns the first bytes, to detect the type of the log. Rejects like `next`. */
  head(limit: number): Promise<Uint8Array>;
  /** Position up to which the log was read; null before the first piece. */
  readonly place: Place | null;
  /** Returns the time (epoch ms) until which the log was followed without a gap; null = until now. */
  seenAt(): number | null;
  close(): void;
}

interface Piece {
  /** Complete lines; empty if nothing is new. */
  readonly bytes: Uint8Array;
  readonly atEnd: boolean;
  /**
   * True if lines before this piece are lost, because the log was moved or emptied and the old text was not
   * found.
   */
  readonly lost: boolean;
  /** True if the piece was written while the log was not followed. */
  readonly resumed?: boolean;
}

const PRINT_BYTES = 1024;
const LF = 0x0a;
/** Maximum error of a file's creation time, because file systems round times and their clock may lag. */
const CLOCK_SLACK_MS = 20;
/** Maximum length of a line; a longer one is split. */
export const MAX_LINE = 64 * 1024;
const EMPTY: Print = { bytes: 0, hash: "" };
const START: FilePlace = { offset: 0, head: EMPTY, tail: EMPTY };
const NOTHING: Piece = { bytes: new Uint8Array(0), atEnd: true, lost: false };

/**
 * Follows a growing log by checking it periodically, which works on every file system. If the log was
 * renamed, or copied and emptied, its rest is read at its new place in the same folder before the new file.
 * Without a saved place, following starts at the end. A log that appears later is read completely.
 */
export function createFileFollower(path: string, from: FilePlace | null) {
  let place = from;
  /** Inode, size and time of the file when its end was last reached. */
  let seen = "";
  /** Path of the old log while its rest is read. */
  let former: string | null = null;
  /** Since when the file is missing, epoch ms. */
  let missingSince: number | null = null;

  async function next(limit: number, now: number): Promise<Piece> {
    const rest = former === null ? null : await readFormer(former, limit);
    if (rest !== null) return rest;
    await using file = await open(path, "r").catch((error: unknown) => {
      if (codeOf(error) === "ENOENT") missingSince ??= now;
      throw error;
    });
    const { size, mtimeMs, birthtimeMs, ino } = await file.stat();
    if (place === null) {
      // A file that is older than the gap was mounted or moved here, so follow it from its end.
      const isNew = missingSince !== null && birthtimeMs >= missingSince - CLOCK_SLACK_MS;
      place = isNew ? START : await placeAt(file, await lastLineStart(file, size));
      if (!isNew) return NOTHING;
    }
    const state = `${ino} ${size} ${mtimeMs}`;
    if (seen === state) return NOTHING;
    let lost = false;
    if (!(await isAt(file, size, place))) {
      seen = "";
      if (await isHole(file, size, place.offset)) {
        // The file was emptied, but its writer kept its position, so the new text follows a hole.
        place = await placeAt(file, place.offset);
      } else {
        former = await findFormer(path, place);
        if (former !== null) return next(limit, now);
        lost = place.offset > 0;
        place = START;
      }
    }
    const piece = await take(file, size, place.offset, limit);
    if (piece.atEnd) seen = state;
    return { ...piece, lost };
  }

  async function take(file: FileHandle, size: number, offset: number, limit: number): Promise<Piece> {
    const wanted = Math.min(limit, size - offset);
    if (wanted <= 0) return NOTHING;
    const bytes = await readAt(file, offset, wanted);
    const whole = bytes.lastIndexOf(LF) + 1;
    const end = whole > 0 ? whole : bytes.length >= Math.min(limit, MAX_LINE) ? bytes.length : 0;
    if (end === 0) return NOTHING;
    place = await placeAt(file, offset + end);
    return { bytes: bytes.subarray(0, end), atEnd: offset + bytes.length >= size, lost: false };
  }

  /** Reads the rest of the old log. Returns null once the log's end is reached or the log is gone. */
  async function readFormer(old: string, limit: number): Promise<Piece | null> {
    await using file = await open(old, "r").catch(() => null);
    const size = (await file?.stat())?.size ?? 0;
    if (file !== null && place !== null && (await isAt(file, size, place))) {
      const piece = await take(file, size, place.offset, limit);
      if (piece.bytes.length > 0) return { ...piece, atEnd: false };
    }
    former = null;
    place = START;
    return null;
  }

  return {
    name: path,
    next,
    async head(limit: number) {
      await using file = await open(path, "r");
      return await readAt(file, 0, limit);
    },
    get place() {
      return place;
    },
    seenAt: () => null,
    close() {},
  };
}

async function findFormer(path: string, place: FilePlace): Promise<string | null> {
  if (place.offset === 0) return null;
  const own = basename(path);
  const stem = own.replace(/\.[^.]*$/, "");
  for (const name of await readdir(dirname(path)).catch(() => [])) {
    if (name === own || !name.startsWith(stem)) continue;
    const candidate = join(dirname(path), name);
    await using file = await open(candidate, "r").catch(() => null);
    const stats = await file?.stat();
    if (file !== null && stats?.isFile() && (await isAt(file, stats.size, place))) return candidate;
  }
  return null;
}

async function isAt(file: FileHandle, size: number, { offset, head, tail }: FilePlace): Promise<boolean> {
  if (size < offset) return false;
  const first = await readAt(file, 0, head.bytes);
  if (printOf(first).hash !== head.hash) return false;
  return printOf(await readAt(file, offset - tail.bytes, tail.bytes)).hash === tail.hash;
}

async function isHole(file: FileHandle, size: number, offset: number): Promise<boolean> {
  if (offset === 0 || size <= offset) return false;
  const length = Math.min(PRINT_BYTES, offset);
  const parts = [await readAt(file, 0, length), await readAt(file, offset - length, length)];
  return parts.every((bytes) => bytes.every((byte) => byte === 0));
}

async function placeAt(file: FileHandle, offset: number): Promise<FilePlace> {
  const length = Math.min(PRINT_BYTES, offset);
  const head = printOf(await readAt(file, 0, length));
  return { offset, head, tail: printOf(await readAt(file, offset - length, length)) };
}

function printOf(bytes: Uint8Array): Print {
  return bytes.length === 0 ? EMPTY : { bytes: bytes.length, hash: Bun.hash(bytes).toString(36) };
}

/** Returns the start of the last line, which may still grow; the size if the text ends with a line end. */
async function lastLineStart(file: FileHandle, size: number): Promise<number> {
  const length = Math.min(size, MAX_LINE);
  const found = (await readAt(file, size - length, length)).lastIndexOf(LF);
  return found === -1 ? size : size - length + found + 1;
}

async function readAt(file: FileHandle, offset: number, length: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(bytes, filled, length - filled, offset + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}
