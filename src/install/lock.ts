import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { codeOf } from "../domain/error-code.ts";
import type { Host } from "./host.ts";
import { isRunning } from "./process-running.ts";

/** On the host it is gone with the next boot; below a root it lies where nothing is looked for. */
export function lockPath(host: Host): string {
  return host.at(host.root === null ? "/run/licmond-install.lock" : "/.licmond-install.lock");
}

export type Locked = { readonly release: () => void } | { readonly holder: number };

/**
 * Makes one process the only one to change an installation: two upgrades at once would keep the new binary as the
 * previous one. `holder` = process id of who is at work. One that was killed holds nothing any more, and what the
 * holder itself has started (`upgrade` runs the new binary's `install`) works under its lock.
 * Throws the system's error when the file cannot be written.
 */
export function lockInstallation(path: string, pid = process.pid, parent = process.ppid): Locked {
  mkdirSync(dirname(path), { recursive: true });
  // Appears with its content: an empty one could not be told from what a killed process left.
  const own = `${path}.${pid}`;
  rmSync(own, { force: true });
  writeFileSync(own, `${pid}\n`, { mode: 0o600, flag: "wx" });
  try {
    for (;;) {
      try {
        linkSync(own, path);
        return { release: () => rmSync(path, { force: true }) };
      } catch (error) {
        if (codeOf(error) !== "EEXIST") throw error;
      }
      const holder = holderOf(path);
      if (holder === parent) return { release: () => {} };
      if (holder !== null && isRunning(holder)) return { holder };
      rmSync(path, { force: true });
    }
  } finally {
    rmSync(own, { force: true });
  }
}

/** Null when it has just gone, or is not ours to read as a number. */
function holderOf(path: string): number | null {
  try {
    const pid = Number(readFileSync(path, "utf8"));
    return Number.isInteger(pid) && pid > 0 ? pid : null;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
}
