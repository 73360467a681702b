import { closeSync, openSync, readSync, statSync } from "node:fs";
import { fileSize, pathsOf, refuseOther } from "../database/files.ts";
import { refuseStrange } from "../database/migrate.ts";
import { asStoreError, corrupt, errorCode, notWritable } from "../database/store-error.ts";
import { MIGRATIONS } from "../migrations/migrations.ts";

/** Layout of the header: https://sqlite.org/fileformat2.html#the_database_header, numbers are big-endian. */
const HEADER_BYTES = 100;
const MAGIC = "SQLite format 3\0";
const PAGE_COUNT_AT = 28;
const USER_VERSION_AT = 60;
const APPLICATION_ID_AT = 68;

/** Schema of a database that is there, and the one of this licmond: an older one is migrated when the daemon starts. */
export interface DatabaseVersions {
  /** Null = unknown: the header is outdated while there is a write-ahead log, which a running daemon has. */
  readonly schema: number | null;
  readonly current: number;
}

/**
 * Whether the daemon would take up the database of this directory, by its header alone: nothing is locked or made, so
 * that it can be asked beside a running daemon and by another user. Null = no file, or an empty one, which is fine.
 * Throws StoreError as `openStore` would.
 */
export function inspectDatabase(directory: string): DatabaseVersions | null {
  const path = pathsOf(directory).history;
  const header = readHeader(path);
  if (header === null) return null;
  if (header.length < HEADER_BYTES || header.toString("latin1", 0, MAGIC.length) !== MAGIC) {
    throw corrupt(`${path} is not a database`);
  }
  const marks = {
    applicationId: header.readUInt32BE(APPLICATION_ID_AT),
    version: header.readUInt32BE(USER_VERSION_AT),
    isEmpty: header.readUInt32BE(PAGE_COUNT_AT) <= 1,
  };
  refuseStrange(marks, path, MIGRATIONS);
  const isCurrent = fileSize(`${path}-wal`) === 0;
  return { schema: isCurrent ? marks.version : null, current: MIGRATIONS.length };
}

/** True where certainly neither a database lies nor a copy out of which its keys would come back. */
export function isEmptyStorage(directory: string): boolean {
  const { history, state, stateCopy } = pathsOf(directory);
  return [history, state, stateCopy, `${history}.vital`].every((path) => {
    try {
      return statSync(path, { throwIfNoEntry: false }) === undefined;
    } catch {
      // Opening it in earnest tells what is wrong.
      return false;
    }
  });
}

function readHeader(path: string): Buffer | null {
  let file: number;
  try {
    refuseOther(path);
    if (statSync(path).size === 0) return null;
    file = openSync(path, "r+");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw asStoreError(error, path) ?? notWritable(path, error);
  }
  try {
    const header = Buffer.alloc(HEADER_BYTES);
    return header.subarray(0, readSync(file, header, 0, HEADER_BYTES, 0));
  } finally {
    closeSync(file);
  }
}
