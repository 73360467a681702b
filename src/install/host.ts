import { accessSync, constants, existsSync, lstatSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";
import { createCommandRunner } from "../collector/run-command.ts";
import { locate } from "../collector/tool.ts";
import { codeOf } from "../domain/error-code.ts";
import { SERVICE_NAME, UNIT_NAME } from "./layout.ts";

/** Result of a program. `words` is its output, for messages. */
export interface Ran {
  readonly ok: boolean;
  /** Null if the program did not start or was killed by a signal. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly words: string;
}

export type Run = (argv: readonly string[], timeoutMs?: number) => Promise<Ran>;

export type Host = ReturnType<typeof createHost>;

/** Creates the system to install on: this host, or a directory with the files of another system. */
export function createHost(root: string | null, uid: number, run: Run) {
  const base = root === null ? null : resolve(root);
  const refuse: Run = (argv) =>
    Promise.reject(new Error(`cannot run ${argv[0]} while installing into ${base}`));
  return {
    /** Directory of another system to install on, where nothing is run; null for this host. */
    root: base,
    uid,
    at: (path: string) => (base === null ? path : join(base, path)),
    run: base === null ? run : refuse,
  };
}

export type FileKind = "missing" | "file" | "directory" | "symlink" | "other";

export function kindOf(path: string): FileKind {
  try {
    const stats = lstatSync(path);
    if (stats.isSymbolicLink()) return "symlink";
    if (stats.isFile()) return "file";
    return stats.isDirectory() ? "directory" : "other";
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(codeOf(error))) return "missing";
    throw error;
  }
}

/**
 * Returns why a path of the host cannot be written, with a fix. Returns null if the path is writable,
 * possibly after creating directories.
 */
export function obstacle(host: Host, path: string): readonly [why: string, fix: string] | null {
  let above = dirname(host.at(path));
  while (kindOf(above) === "missing" && above !== dirname(above)) above = dirname(above);
  let real: string;
  try {
    real = realpathSync(above);
  } catch (error) {
    return [`${above} cannot be followed (${codeOf(error)})`, "move that link away"];
  }
  // In an image, a link to /etc means the image's /etc, but from here it leads to the /etc of this host.
  if (host.root !== null && isBelow(above, host.root) && !isBelow(real, realpathSync(host.root)))
    return [`${above} leads to ${real}, outside of ${host.root}`, "put a directory in its place"];
  if (!lstatSync(real).isDirectory()) return [`${above} is not a directory`, "move it away"];
  try {
    accessSync(real, constants.W_OK | constants.X_OK);
    return null;
  } catch (error) {
    return codeOf(error) === "EROFS"
      ? [`${above} is on a read-only file system`, "mount it writable (mount -o remount,rw)"]
      : [`${above} cannot be written by this user`, "use sudo"];
  }
}

const isBelow = (path: string, directory: string) =>
  path === directory || path.startsWith(directory === sep ? sep : `${directory}${sep}`);

/** Numeric owner; null = the owner stays unchanged, because the installing user is not root. */
type Owner = { readonly uid: number; readonly gid: number } | null;

export interface FileRights {
  readonly mode: number;
  readonly owner: Owner;
}

/** Owner of a file, as for chown(1). */
export type OwnerName = "root:root" | "root:licmond" | "licmond:licmond";

const ROOT = { uid: 0, gid: 0 };

/** Returns rights with owner root, or with the installing user if that is not root. */
export const rootsOwn = (host: Host, mode: number): FileRights => ({
  mode,
  owner: host.uid === 0 ? ROOT : null,
});

/**
 * Returns the uid and gid of a name; null if this user cannot set them. If an image lacks the user, returns
 * root, and tmpfiles.d(5) sets the owner at boot.
 */
export async function ownerOf(host: Host, name: OwnerName): Promise<Owner> {
  if (host.uid !== 0) return null;
  if (name === "root:root") return ROOT;
  const account = await serviceAccount(host);
  if (account === null && host.root !== null) return ROOT;
  if (account === null) throw new Error(`user ${SERVICE_NAME} does not exist on this host`);
  return name === "root:licmond" ? { uid: 0, gid: account.gid } : account;
}

/** Returns uid and gid of the service, from passwd(5) and group(5), or from getent(1); null if missing. */
export async function serviceAccount(host: Host): Promise<NonNullable<Owner> | null> {
  const uid = await idOf(host, "passwd");
  const gid = await idOf(host, "group");
  return uid === null || gid === null ? null : { uid, gid };
}

async function idOf(host: Host, table: "passwd" | "group"): Promise<number | null> {
  const lines = textOf(host.at(`/etc/${table}`)).split("\n");
  let line = lines.find((each) => each.startsWith(`${SERVICE_NAME}:`));
  // Users of a directory service are only found with getent(1).
  if (line === undefined && host.root === null)
    line = (await host.run(["getent", table, SERVICE_NAME])).stdout;
  const number = line?.split(":")[2] ?? "";
  return /^\d+$/.test(number) ? Number(number) : null;
}

export function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return "";
    throw error;
  }
}

/** Reports whether systemd runs this host and answers. A container may have sd_booted(3)'s directory without systemd. */
export async function isSystemdHost(run: Run): Promise<boolean> {
  if (!existsSync("/run/systemd/system")) return false;
  return (await run(["systemctl", "show", "--property=Version"])).ok;
}

/** Returns the state of the service. A missing unit is neither active nor enabled. Throws if systemd does not answer. */
export async function serviceState(run: Run, unit = UNIT_NAME) {
  const asked = "--property=ActiveState,UnitFileState,NeedDaemonReload";
  const { ok, stdout, words } = await run(["systemctl", "show", asked, unit]);
  if (!ok) throw new Error(`systemctl show: ${words}`);
  const value = (name: string) => new RegExp(`^${name}=(.*)$`, "m").exec(stdout)?.[1] ?? "";
  return {
    isActive: ["active", "activating", "reloading"].includes(value("ActiveState")),
    isEnabled: value("UnitFileState") === "enabled",
    needsReload: value("NeedDaemonReload") === "yes",
  };
}

/**
 * Time limit for starting or stopping the service. It is longer than the limits in the unit, which leave
 * time to migrate years of history.
 */
export const SERVICE_TIMEOUT_MS = 17 * 60_000;

/** Runs a command line, with single quotes around words with blanks. Throws with the command's output if it fails. */
export async function must(run: Run, line: string, timeoutMs?: number): Promise<void> {
  const argv = (line.match(/'[^']*'|\S+/g) ?? []).map((word) => word.replaceAll("'", ""));
  const { ok, words } = await run(argv, timeoutMs);
  if (!ok) throw new Error(words === "" ? "the command failed" : words);
}

/** Returns the unit's last lines of the journal, for messages. */
export async function lastWords(run: Run, unit: string): Promise<string> {
  const { stdout } = await run(["journalctl", "--no-pager", "-o", "cat", "-n", "15", "-u", unit]);
  return stdout.trimEnd();
}

/** Starts or restarts the service. Throws with the output of systemd and the service. */
export async function restartService(run: Run, unit = UNIT_NAME): Promise<void> {
  // Reset the start limit. Ignore the result, because the command fails if there is nothing to reset.
  await run(["systemctl", "reset-failed", unit]);
  const { ok, words } = await run(["systemctl", "restart", unit], SERVICE_TIMEOUT_MS);
  if (!ok) throw new Error(`${words}\nlast log lines:\n${await lastWords(run, unit)}`);
}

/** Directories of system programs. They do not depend on the caller's $PATH, because the programs run as root. */
const SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const RUN_TIMEOUT_MS = 30_000;

export function systemRun(): Run {
  const runner = createCommandRunner({ path: SYSTEM_PATH, home: "/" });
  return async (argv, timeoutMs = RUN_TIMEOUT_MS) => {
    const result = await runner.run({ argv, env: {}, timeoutMs });
    const failed = { ok: false, exitCode: null };
    if (!result.started) return { ...failed, stdout: "", words: result.failure.message };
    const stdout = new TextDecoder().decode(result.stdout);
    const stderr = new TextDecoder().decode(result.stderr);
    if (result.timedOut) return { ...failed, stdout, words: `timed out after ${timeoutMs / 1000} s` };
    const words = (stderr.trim() || stdout.trim()).slice(-2000);
    return { ok: result.exitCode === 0, exitCode: result.exitCode, stdout, words };
  };
}

export const hasProgram = (program: string) => locate(program, SYSTEM_PATH) !== null;
