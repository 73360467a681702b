import { constants } from "node:fs";
import { open, rename, stat, unlink } from "node:fs/promises";
import type { CommandIo } from "./io.ts";

/** Where an export goes, piece by piece. */
export interface Output {
  /** Resolves when the piece is out of the process' hands, so that nothing piles up. */
  write(text: string): Promise<void>;
  /** The whole is there. */
  finish(): Promise<void>;
  /** It ended half-way: what was made is taken away. */
  abandon(): Promise<void>;
}

/** The rows name people: the file is its owner's alone. */
const OWNER_ONLY = 0o600;

export function standardOutput(io: CommandIo): Output {
  return {
    write(text) {
      io.out(text);
      return io.flushed();
    },
    finish: () => Promise.resolve(),
    abandon: () => Promise.resolve(),
  };
}

/** A file appears when it is whole; a pipe or a device is written to as it is. */
export async function fileOutput(path: string): Promise<Output> {
  const known = await stat(path).catch(() => null);
  const direct = known !== null && !known.isFile();
  const target = direct ? path : `${path}.part`;
  const flags = constants.O_WRONLY | constants.O_CREAT | (direct ? 0 : constants.O_TRUNC);
  const file = await open(target, flags, OWNER_ONLY);
  return {
    write: (text) => file.appendFile(text),
    async finish() {
      await file.close();
      if (!direct) await rename(target, path);
    },
    async abandon() {
      await file.close();
      if (!direct) await unlink(target);
    },
  };
}
