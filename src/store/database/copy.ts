import type { Database } from "bun:sqlite";
import { statfsSync } from "node:fs";
import { printBytes } from "../../domain/bytes.ts";
import { MIGRATIONS, type Migration } from "../migrations/migrations.ts";
import type { Paths } from "./files.ts";
import { assertOurs } from "./migrate.ts";
import { packState } from "./precious.ts";
import { openReader, openUntouched, tableNames } from "./read-only.ts";
import { asStoreError, errorCode, StoreError } from "./store-error.ts";

/** What a copy leaves free: the daemon's write-ahead log needs room to go on. */
const LEFT_FREE_BYTES = 32 * 1024 * 1024;

/**
 * Copies both databases, each as it is at one moment, into the one empty file `to`: a licmond.db that has the rows of
 * state.db as well. Others may work on them meanwhile. Throws StoreError.
 */
export function copyBoth({ history, state }: Paths, to: string): void {
  copyDatabase(history, to, "live");
  const copy = openUntouched(to);
  // A licmond.db of before there was a state.db has all of it.
  const isOld = !tableNames(copy).includes("key_uses");
  copy.close();
  if (!isOld) packState(to, state);
}

/**
 * Copies a database as it is at one moment into the empty file `to`. `live` = others may work on it: they do not wait
 * for the copy, nor it for them, because a reader beside a write-ahead log sees what was committed when it began.
 *
 * VACUUM INTO rather than the bytes of the files: those belong together only under a lock, and in a process that has
 * the database open, closing a second descriptor would drop SQLite's own locks on it
 * (https://sqlite.org/howtocorrupt.html, "canceled by a separate thread doing close()").
 * It is one statement that cannot report its progress: the size of `to` shows it. Throws StoreError.
 */
export function copyDatabase(
  from: string,
  to: string,
  kind: "live" | "file",
  migrations: readonly Migration[] = MIGRATIONS,
): void {
  let sqlite: Database | null = null;
  try {
    sqlite = kind === "live" ? openReader(from) : openUntouched(from);
    assertOurs(sqlite, from, migrations);
    sqlite.run("VACUUM INTO ?", [to]);
  } catch (error) {
    // The source is only read: what cannot be written is the copy.
    const isOfCopy = /^SQLITE_(FULL|READONLY|IOERR_(WRITE|FSYNC|TRUNCATE))/.test(errorCode(error) ?? "");
    throw asStoreError(error, isOfCopy ? to : from) ?? error;
  } finally {
    sqlite?.close();
  }
}

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
export function requireSpace(
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

export function freeBytes(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}
