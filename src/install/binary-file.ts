import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import type { Run } from "./host.ts";

/** What stands at the end of every executable that Bun has compiled. */
const TRAILER = "\n---- Bun! ----\n";
/** The name under which the build embeds its entry file. */
const ENTRY = "/$bunfs/root/licmond";
const CHUNK_BYTES = 4 * 1024 * 1024;

/** Whether a file is a licmond executable, by what is in it; it is not run, so that it may be anybody's. */
export function isLicmondBinary(path: string): boolean {
  return contains(path, TRAILER) && contains(path, ENTRY);
}

/** True when both files hold the same bytes. */
export function sameBytes(one: string, other: string): boolean {
  const [a, b] = [statSync(one), statSync(other)];
  if (a.dev === b.dev && a.ino === b.ino) return true;
  return a.size === b.size && hashOfFile(one) === hashOfFile(other);
}

function hashOfFile(path: string): string {
  const hasher = new Bun.CryptoHasher("sha256");
  for (const chunk of chunksOf(path)) hasher.update(chunk);
  return hasher.digest("hex");
}

/** Looked for from behind: what the build embeds is appended to the runtime. */
function contains(path: string, text: string): boolean {
  const needle = Buffer.from(text, "latin1");
  const file = openSync(path, "r");
  try {
    const buffer = Buffer.alloc(CHUNK_BYTES + needle.length);
    for (let end = fstatSync(file).size; end > 0; end -= CHUNK_BYTES) {
      const from = Math.max(0, end - CHUNK_BYTES);
      const length = readSync(file, buffer, 0, end - from + needle.length, from);
      if (buffer.subarray(0, length).includes(needle)) return true;
    }
    return false;
  } finally {
    closeSync(file);
  }
}

function* chunksOf(path: string): Generator<Uint8Array> {
  const file = openSync(path, "r");
  try {
    const buffer = Buffer.alloc(CHUNK_BYTES);
    for (;;) {
      const length = readSync(file, buffer);
      if (length === 0) return;
      yield buffer.subarray(0, length);
    }
  } finally {
    closeSync(file);
  }
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

/** Below 0 when `one` is the older: by semver's numbers, a pre-release (`1.2.0-rc.1`) before its release. */
export function compareVersions(one: string, other: string): number {
  return Bun.semver.order(one, other);
}
