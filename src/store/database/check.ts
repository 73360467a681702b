import type { Database } from "bun:sqlite";
import { accessSync, constants, readdirSync, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import {
  asStoreError,
  errorCode,
  STORE_FAULTS,
  type StoreError,
  type StoreErrorCode,
} from "./store-error.ts";

/** Whether the database can be read and written now. `message` holds no path: every caller may read it. */
export interface DatabaseCheck {
  readonly ok: boolean;
  readonly message: string;
  /** Null when ok, or when the fault has no code of ours. */
  readonly code: StoreErrorCode | null;
  /** It works, and needs an administrator: e.g. a damaged file lies beside it. */
  readonly degraded?: boolean;
}

const ASIDE = "The database works; a damaged one was moved aside and lies beside it until it is moved away";

/**
 * A check that writes nothing: the file is still the one that was opened, it and its directory may be written, a page can
 * be read, and the last write (pictures are written at every poll) went well. `lastError`: with which the last write
 * failed, or damage that any query met; null when all went well.
 */
export function createDatabaseCheck(sqlite: Database, path: string) {
  const opened = statSync(path).ino;
  const read = sqlite.query("SELECT count(*) FROM sqlite_schema");
  return (lastError: StoreError | null): DatabaseCheck => {
    let isAside = false;
    try {
      if (statSync(path, { throwIfNoEntry: false })?.ino !== opened)
        return { ok: false, message: "The database file was removed or replaced", code: null };
      accessSync(path, constants.R_OK | constants.W_OK);
      isAside = hasAside(path);
      read.get();
    } catch (error) {
      const code = asStoreError(error, path)?.code ?? null;
      const message =
        code === null ? `The database cannot be read (${errorCode(error)})` : STORE_FAULTS[code];
      return { ok: false, message, code };
    }
    if (lastError !== null) return { ok: false, message: STORE_FAULTS[lastError.code], code: lastError.code };
    if (isAside) return { ok: true, message: ASIDE, code: null, degraded: true };
    return { ok: true, message: "The database works", code: null };
  };
}

/** Whether damaged files that were moved aside still lie beside the database. */
function hasAside(path: string): boolean {
  const prefix = `${basename(path)}.corrupt-`;
  return readdirSync(dirname(path)).some((name) => name.startsWith(prefix));
}
