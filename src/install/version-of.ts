import type { Run } from "./host.ts";

/** `licmond 1.2.3 (commit)`, as every version prints it. */
const VERSION_LINE = /^licmond (\d+\.\d+\.\d+\S*) \((\S+)\)$/m;
const TIMEOUT_MS = 10_000;

export type VersionAnswer =
  | { readonly ok: true; readonly version: string; readonly line: string }
  | { readonly ok: false; readonly why: string };

/** Asks a licmond executable which one it is, and so whether it runs on this host. */
export async function versionOf(run: Run, binary: string): Promise<VersionAnswer> {
  const { ok, stdout, words } = await run([binary, "version"], TIMEOUT_MS);
  const [line, version] = VERSION_LINE.exec(stdout) ?? [];
  if (ok && line !== undefined && version !== undefined) return { ok: true, version, line };
  return { ok: false, why: words === "" ? "it does not tell its version" : words };
}

/** Below 0 when `one` is the older: by semver's numbers, a pre-release (`1.2.0-rc.1`) before its release. */
export function compareVersions(one: string, other: string): number {
  return Bun.semver.order(one, other);
}
