import { type FileHandle, open, readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/** A place in a log that stays right over renames, truncations and restarts. Plain JSON. */
export interface FilePlace {
  /** Bytes read; a line begins here. */
  readonly offset: number;
  /** Hashes of the first bytes of the file and of those before `offset`: another file has others. */
  readonly head: Print;
  readonly tail: Print;
}

interface Print {
  readonly bytes: number;
  readonly hash: string;
}

export interface Piece {
  /** Whole lines; empty when there is nothing new. */
  readonly bytes: Uint8Array;
  /** Nothing more stands in the file now. */
  readonly atEnd: boolean;
  /** Lines between the last place and this piece are gone: the log was moved or emptied, and the old text is not to be had. */
  readonly lost: boolean;
}

export interface FileFollower {
  /** The next piece, at most `limit` bytes, as it is found at `now` (epoch ms). Rejects with the error of the file system. */
  next(limit: number, now: number): Promise<Piece>;
  /** The first bytes of the file, at most `limit`: what kind of file it is. Rejects as `next` does. */
  head(limit: number): Promise<Uint8Array>;
  /** Null before the first `next`. */
  readonly place: FilePlace | null;
}

const PRINT_BYTES = 1024;
const LF = 0x0a;
/** File systems round times, and their clock may be a tick behind. */
const CLOCK_SLACK_MS = 20;
/** A line this long is none; it is told in pieces. */
const MAX_LINE = 64 * 1024;
const EMPTY: Print = { bytes: 0, hash: "" };
const START: FilePlace = { offset: 0, head: EMPTY, tail: EMPTY };
const NOTHING: Piece = { bytes: new Uint8Array(0), atEnd: true, lost: false };

/**
 * Follows a growing log by looking at it now and then, which works on every file system. A log that was renamed or
 * copied and emptied is read to its end where it went (in the same folder), then from the start where it should be.
 * Without a place it begins at the end: what stands there is history. Of a log that was looked for in vain and then
 * made, all is news.
 */
export function createFileFollower(path: string, from: FilePlace | null): FileFollower {
  let place = from;
  /** The file as it was when it was found to be read to its end. */
  let seen: { size: number; modified: number; inode: number } | null = null;
  /** Where the rest of the old log is, while it is read. */
  let former: string | null = null;
  /** Since when it is known that there is none, epoch ms. */
  let missingSince: number | null = null;

  async function openAt(now: number): Promise<FileHandle> {
    try {
      return await open(path, "r");
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") missingSince ??= now;
      throw error;
    }
  }

  async function next(limit: number, now: number): Promise<Piece> {
    if (former !== null) {
      const rest = await readFormer(former, limit);
      if (rest !== null) return rest;
    }
    const file = await openAt(now);
    try {
      const { size, mtimeMs, birthtimeMs, ino } = await file.stat();
      if (place === null) {
        // What was mounted or moved here is older than the look that missed it.
        const made = missingSince !== null && birthtimeMs >= missingSince - CLOCK_SLACK_MS;
        place = made ? START : await placeAt(file, await lastLineStart(file, size));
        if (!made) return NOTHING;
      }
      if (seen?.size === size && seen.modified === mtimeMs && seen.inode === ino) return NOTHING;
      const lost = await settle(file, size);
      if (lost === "former") return next(limit, now);
      const piece = await take(file, size, limit);
      if (piece.atEnd) seen = { size, modified: mtimeMs, inode: ino };
      return { ...piece, lost };
    } finally {
      await file.close();
    }
  }

  /** Whether the file is the one that was read so far; else finds out what became of that one. True = text is lost. */
  async function settle(file: FileHandle, size: number): Promise<boolean | "former"> {
    if (place === null || (await isAt(file, size, place))) return false;
    seen = null;
    if (await isHole(file, size, place.offset)) {
      // Emptied under a writer that keeps its place: the front is a hole, and the writer goes on behind it.
      place = await placeAt(file, place.offset);
      return false;
    }
    former = await findFormer(path, place);
    if (former !== null) return "former";
    const lost = place.offset > 0;
    place = START;
    return lost;
  }

  async function take(file: FileHandle, size: number, limit: number): Promise<Piece> {
    const offset = place?.offset ?? 0;
    const wanted = Math.min(limit, size - offset);
    if (wanted <= 0) return NOTHING;
    const bytes = await readAt(file, offset, wanted);
    const whole = bytes.lastIndexOf(LF) + 1;
    const end = whole > 0 ? whole : bytes.length >= Math.min(limit, MAX_LINE) ? bytes.length : 0;
    if (end === 0) return NOTHING;
    place = await placeAt(file, offset + end);
    return { bytes: bytes.subarray(0, end), atEnd: offset + bytes.length >= size, lost: false };
  }

  /** The rest of the old log; null once it is at its end, or gone. */
  async function readFormer(old: string, limit: number): Promise<Piece | null> {
    const file = await open(old, "r").catch(() => null);
    if (file !== null) {
      try {
        const { size } = await file.stat();
        if (place !== null && (await isAt(file, size, place))) {
          const piece = await take(file, size, limit);
          if (piece.bytes.length > 0) return { ...piece, atEnd: false };
        }
      } finally {
        await file.close();
      }
    }
    former = null;
    place = START;
    return null;
  }

  return {
    next,
    async head(limit) {
      const file = await open(path, "r");
      try {
        return await readAt(file, 0, limit);
      } finally {
        await file.close();
      }
    },
    get place() {
      return place;
    },
  };
}

async function findFormer(path: string, place: FilePlace): Promise<string | null> {
  if (place.offset === 0) return null;
  const folder = dirname(path);
  const own = basename(path);
  const stem = own.replace(/\.[^.]*$/, "");
  const names = (await readdir(folder).catch(() => [])).filter(
    (name) => name !== own && name.startsWith(stem),
  );
  for (const name of names) {
    const candidate = join(folder, name);
    const file = await open(candidate, "r").catch(() => null);
    if (file === null) continue;
    try {
      const stat = await file.stat();
      if (stat.isFile() && (await isAt(file, stat.size, place))) return candidate;
    } finally {
      await file.close();
    }
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
  if (bytes.length === 0) return EMPTY;
  return { bytes: bytes.length, hash: Bun.hash(bytes).toString(36) };
}

/** Where the last line begins that may still be growing; the size when the text ends with a line end. */
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
  return filled === length ? bytes : bytes.subarray(0, filled);
}
