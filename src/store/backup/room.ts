import { statfsSync } from "node:fs";
import { printBytes } from "../../domain/bytes.ts";
import { asStoreError, StoreError } from "../store-error.ts";
import { openReader } from "./untouched.ts";

/** What a copy leaves free: the daemon's write-ahead log needs room to go on. */
const LEFT_FREE_BYTES = 32 * 1024 * 1024;

/** Bytes that a copy of the database takes at most: its pages in use, those in the write-ahead log included. */
export function bytesInUse(path: string): number {
  const sqlite = openReader(path);
  try {
    const pragma = (name: string) =>
      Object.values(sqlite.query<Record<string, number>, []>(`PRAGMA ${name}`).get() ?? {})[0] ?? 0;
    return (pragma("page_count") - pragma("freelist_count")) * pragma("page_size");
  } catch (error) {
    throw asStoreError(error, path) ?? error;
  } finally {
    sqlite.close();
  }
}

/** Throws StoreError `FULL`, with the figures, when a directory's file system has no room for a copy of so many bytes. */
export function requireRoom(
  directory: string,
  bytes: number,
  fix: string,
  free = freeBytes(directory),
): void {
  if (free >= bytes + LEFT_FREE_BYTES) return;
  throw new StoreError(
    "FULL",
    `There is too little room in ${directory}: ${printBytes(free)} free, a copy of the database needs ` +
      `${printBytes(bytes)} and leaves ${printBytes(LEFT_FREE_BYTES)} to others`,
    fix,
  );
}

function freeBytes(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}
