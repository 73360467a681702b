import { accessSync, constants, lstatSync, realpathSync } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";
import { codeOf } from "../domain/error-code.ts";

/** A program that was run: `words` is what it said, for a message. */
export interface Ran {
  /** It ended with exit code 0. */
  readonly ok: boolean;
  /** Null when it did not start, or a signal ended it. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly words: string;
}

export type Run = (argv: readonly string[], timeoutMs?: number) => Promise<Ran>;

/** The system that is installed on: this host, or a directory that holds (or will hold) one. */
export interface Host {
  /** Null = this host. Else files are laid below this directory, and nothing is run. */
  readonly root: string | null;
  /** Numeric id of who installs. */
  readonly uid: number;
  /** Where a path of the host lies. */
  at(path: string): string;
  /** For this host only; below a root it rejects. */
  readonly run: Run;
}

export function createHost(root: string | null, uid: number, run: Run): Host {
  const base = root === null ? null : resolve(root);
  return {
    root: base,
    uid,
    at: (path) => (base === null ? path : join(base, path)),
    run:
      base === null
        ? run
        : (argv) => Promise.reject(new Error(`${argv[0]} is not run for a system below ${base}`)),
  };
}

export type FileKind = "missing" | "file" | "directory" | "symlink" | "other";

/** What lies there; a link is not followed. */
export function kindOf(path: string): FileKind {
  try {
    const stats = lstatSync(path);
    if (stats.isSymbolicLink()) return "symlink";
    if (stats.isFile()) return "file";
    return stats.isDirectory() ? "directory" : "other";
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT" || code === "ENOTDIR") return "missing";
    throw error;
  }
}

export interface Obstacle {
  readonly why: string;
  readonly fix: string;
}

/** Why nothing can be written at a path of the host; null = it can, once missing directories are made. */
export function obstacle(host: Host, path: string): Obstacle | null {
  let above = dirname(host.at(path));
  while (kindOf(above) === "missing" && above !== dirname(above)) above = dirname(above);
  let real: string;
  try {
    real = realpathSync(above);
  } catch (error) {
    return { why: `${above} cannot be followed (${codeOf(error)})`, fix: "move that link away" };
  }
  if (host.root !== null && isBelow(above, host.root) && !isBelow(real, realpathSync(host.root))) {
    // In an image, a link to /etc means the image's /etc; followed from here it would be this host's.
    return { why: `${above} leads to ${real}, out of ${host.root}`, fix: "put a directory in its place" };
  }
  if (!lstatSync(real).isDirectory()) return { why: `${above} is not a directory`, fix: "move it away" };
  try {
    accessSync(real, constants.W_OK | constants.X_OK);
    return null;
  } catch (error) {
    return codeOf(error) === "EROFS"
      ? { why: `${above} is on a read-only file system`, fix: "mount it writable (mount -o remount,rw)" }
      : { why: `${above} cannot be written by this user`, fix: "use sudo" };
  }
}

function isBelow(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory === sep ? sep : `${directory}${sep}`);
}
