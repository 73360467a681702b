import { randomUUID } from "node:crypto";
import { closeSync, openSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import { ensureDirectory, makePrivateFile } from "../store/files.ts";
import { errorCode } from "../store/store-error.ts";
import { fileSource, LogReadError, type LogSource } from "./import-sources.ts";

/** From so many bytes on it is worth a word where they are kept. */
export const TOLD_FROM_BYTES = 256 * 1024 * 1024;

/** What came in on stdin, kept in a file, because a log is looked at more than once and may be larger than memory. */
export interface KeptStdin {
  /** Written now. */
  readonly source: LogSource;
  /** Gives the room back. */
  close(): void;
}

/**
 * Writes stdin to a file without a name in the storage directory: whatever ends the process, nothing is left of it.
 * `tell` is told once when it grows large. Rejects with LogReadError where it does not fit, and with what `ensureDirectory`
 * throws.
 */
export async function keepStdin(
  pieces: AsyncIterable<Uint8Array>,
  directory: string,
  now: number,
  tell: (message: string) => void,
  toldFrom = TOLD_FROM_BYTES,
): Promise<KeptStdin> {
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
        `stdin is kept in a file of ${directory} until it is imported, because it is read more than once; where there is no room for that, name the logs instead`,
      );
    }
    const source = fileSource(`/proc/self/fd/${file}`);
    return { source: { ...source, name: "stdin", lastWrite: now }, close: () => closeSync(file) };
  } catch (error) {
    closeSync(file);
    if (errorCode(error) !== "ENOSPC" && errorCode(error) !== "EDQUOT") throw error;
    throw new LogReadError(
      `stdin does not fit into ${directory}, which is full after ${(bytes / 1e6).toFixed(0)} MB of it: make room there, or name the logs (also packed by gzip), which are read where they lie`,
    );
  }
}
