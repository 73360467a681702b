import {
  accessSync,
  chownSync,
  closeSync,
  constants,
  fchmodSync,
  mkdirSync,
  openSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import { asStoreError, errorCode, notWritable, StoreError } from "./store-error.ts";

/** Makes the storage directory when only it is missing, and makes sure that files can be made in it. */
export function ensureDirectory(directory: string): void {
  try {
    // 0700: the files tell who works when.
    mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT") {
      throw new StoreError(
        "NOT_WRITABLE",
        `The storage directory ${directory} cannot be made: ${dirname(directory)} does not exist`,
        `Make it (mkdir -p ${dirname(directory)}), or set storage.directory to another place.`,
        error,
      );
    }
    if (code !== "EEXIST") throw asStoreError(error, directory) ?? notWritable(directory, error);
  }
  if (!statSync(directory).isDirectory()) {
    throw new StoreError(
      "NOT_WRITABLE",
      `${directory} is not a directory`,
      "Set storage.directory to a directory.",
    );
  }
  try {
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw notWritable(directory, error);
  }
}

/**
 * Makes an empty file that only its owner can read, whatever the umask, unless it is there already.
 * Root gives it to the directory's owner, so that a root's `keys create` does not lock the daemon out; SQLite
 * itself does the same for the -wal and -shm beside it.
 */
export function ensurePrivateFile(path: string): void {
  let file: number;
  try {
    file = openSync(path, constants.O_CREAT | constants.O_EXCL | constants.O_RDWR, 0o600);
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw asStoreError(error, path) ?? notWritable(path, error);
    ensureWritable(path);
    return;
  }
  try {
    fchmodSync(file, 0o600);
    if (process.getuid?.() === 0) {
      const { uid, gid } = statSync(dirname(path));
      chownSync(path, uid, gid);
    }
  } finally {
    closeSync(file);
  }
}

function ensureWritable(path: string): void {
  if (!statSync(path).isFile()) {
    throw new StoreError("NOT_WRITABLE", `${path} is not a file`, `Move ${path} away.`);
  }
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
  } catch (error) {
    throw notWritable(path, error);
  }
}
