import type { Database } from "bun:sqlite";
import { assertOurs } from "../migrate.ts";
import { MIGRATIONS } from "../migrations.ts";
import { asStoreError, errorCode } from "../store-error.ts";
import { openReader, openUntouched } from "./untouched.ts";

/**
 * Copies a database as it is at one moment into the empty file `to`. `live` = others may work on it: they do not wait
 * for the copy, nor it for them, because a reader beside a write-ahead log sees what was committed when it began.
 *
 * VACUUM INTO rather than the bytes of the files: those belong together only under a lock, and in a process that has
 * the database open, closing a second descriptor would drop SQLite's own locks on it
 * (https://sqlite.org/howtocorrupt.html, "canceled by a separate thread doing close()").
 * It is one statement that cannot be asked how far it is: who wants to know looks at the size of `to`.
 *
 * Throws StoreError.
 */
export function copyDatabase(from: string, to: string, kind: "live" | "file"): void {
  let sqlite: Database | null = null;
  try {
    sqlite = kind === "live" ? openReader(from) : openUntouched(from);
    assertOurs(sqlite, from, MIGRATIONS);
    sqlite.run("VACUUM INTO ?", [to]);
  } catch (error) {
    // The source is only read: what cannot be written is the copy.
    const isOfCopy = /^SQLITE_(FULL|READONLY|IOERR_(WRITE|FSYNC|TRUNCATE))/.test(errorCode(error) ?? "");
    throw asStoreError(error, isOfCopy ? to : from) ?? error;
  } finally {
    sqlite?.close();
  }
}
