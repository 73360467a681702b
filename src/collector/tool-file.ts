import {
  accessSync,
  closeSync,
  constants,
  openSync,
  readSync,
  realpathSync,
  type Stats,
  statSync,
} from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { mountOf } from "./mounts.ts";

/** Script behind `#!`, as the kernel reads it. */
const SHEBANG_BYTES = 256;

/** Absolute or relative path: itself. A bare name: its first match in `path`; null when there is none. */
export function locate(name: string, path: string): string | null {
  if (name === "") return null;
  if (name.includes("/")) return name;
  let other: string | null = null;
  for (const directory of path.split(delimiter)) {
    if (!isAbsolute(directory)) continue;
    const file = join(directory, name);
    const stats = statOf(file);
    if (!(stats instanceof Error) && stats.isFile()) {
      if (isExecutable(file)) return file;
      other ??= file;
    }
  }
  return other;
}

/** What the system says of a file; the error where it cannot be looked at. */
export function statOf(file: string): Stats | Error {
  try {
    return statSync(file);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

export function isMissing(file: string): boolean {
  const stats = statOf(file);
  return stats instanceof Error && ["ENOENT", "ENOTDIR"].includes(errorCode(stats));
}

export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The first bytes; null when it cannot be read. */
export function readHead(file: string): Uint8Array | null {
  let handle: number;
  try {
    handle = openSync(file, "r");
  } catch {
    return null;
  }
  try {
    const head = Buffer.alloc(SHEBANG_BYTES);
    return head.subarray(0, readSync(handle, head, 0, head.length, 0));
  } finally {
    closeSync(handle);
  }
}

/** The mount point that forbids to run a file; null = none does, or it cannot be told. */
export function noexecMount(file: string): string | null {
  try {
    const mount = mountOf(realpathSync(file));
    return mount?.options.includes("noexec") ? mount.point : null;
  } catch {
    return null;
  }
}

/** Code of a system error, e.g. `ENOENT`; empty when it has none. */
export function errorCode(error: unknown): string {
  return typeof error === "object" && error !== null && "code" in error ? String(error.code) : "";
}
