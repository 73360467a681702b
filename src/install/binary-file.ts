import { readFileSync, statSync } from "node:fs";
import type { Run } from "./host.ts";

/** What stands at the end of every executable that Bun has compiled. */
const TRAILER = "\n---- Bun! ----\n";
/** The name under which the build embeds its entry file. */
const ENTRY = "/$bunfs/root/licmond";

/** Whether a file is a licmond executable, by what is in it: it is not run, because it may be any program. */
export function isLicmondBinary(path: string): boolean {
  const bytes = readFileSync(path);
  return bytes.includes(TRAILER) && bytes.includes(ENTRY);
}

/** True when both files hold the same bytes. */
export function sameBytes(one: string, other: string): boolean {
  const [a, b] = [statSync(one), statSync(other)];
  if (a.dev === b.dev && a.ino === b.ino) return true;
  return a.size === b.size && readFileSync(one).equals(readFileSync(other));
}

/** `licmond 1.2.3 (commit)`, as every version prints it. */
const VERSION_LINE = /^licmond (\d+\.\d+\.\d+\S*) \((\S+)\)$/m;
const VERSION_TIMEOUT_MS = 10_000;

export type VersionAnswer =
  | { readonly ok: true; readonly version: string; readonly line: string }
  | { readonly ok: false; readonly why: string };

/** Asks a licmond executable which one it is, and so whether it runs on this host. */
export async function versionOf(run: Run, binary: string): Promise<VersionAnswer> {
  const { ok, stdout, words } = await run([binary, "version"], VERSION_TIMEOUT_MS);
  const [line, version] = VERSION_LINE.exec(stdout) ?? [];
  if (ok && line !== undefined && version !== undefined) return { ok: true, version, line };
  return { ok: false, why: words === "" ? "it does not tell its version" : words };
}

/** By semver's numbers, a pre-release (`1.2.0-rc.1`) before its release. */
export function isOlder(one: string, other: string): boolean {
  return Bun.semver.order(one, other) < 0;
}
