import { accessSync, constants, existsSync, lstatSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";
import { createCommandRunner } from "../collector/run-command.ts";
import { locate } from "../collector/tool.ts";
import { codeOf } from "../domain/error-code.ts";
import { SERVICE_NAME, UNIT_NAME } from "./layout.ts";

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

export type Host = ReturnType<typeof createHost>;

/** The system that is installed on: this host, or a directory that holds (or will hold) one. */
export function createHost(root: string | null, uid: number, run: Run) {
  const base = root === null ? null : resolve(root);
  const refuse: Run = (argv) => Promise.reject(new Error(`${argv[0]} is not run for a system below ${base}`));
  return {
    /** Null = this host. Else files are laid below this directory, and nothing is run. */
    root: base,
    /** Numeric id of the installing user. */
    uid,
    /** Where a path of the host lies. */
    at: (path: string) => (base === null ? path : join(base, path)),
    run: base === null ? run : refuse,
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
    if (["ENOENT", "ENOTDIR"].includes(codeOf(error))) return "missing";
    throw error;
  }
}

/** Why nothing can be written at a path of the host, and what helps; null = it can, once missing directories are made. */
export function obstacle(host: Host, path: string): readonly [why: string, fix: string] | null {
  let above = dirname(host.at(path));
  while (kindOf(above) === "missing" && above !== dirname(above)) above = dirname(above);
  let real: string;
  try {
    real = realpathSync(above);
  } catch (error) {
    return [`${above} cannot be followed (${codeOf(error)})`, "move that link away"];
  }
  // In an image, a link to /etc means the image's /etc; followed from here it would be this host's.
  if (host.root !== null && isBelow(above, host.root) && !isBelow(real, realpathSync(host.root)))
    return [`${above} leads to ${real}, out of ${host.root}`, "put a directory in its place"];
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

function isBelow(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory === sep ? sep : `${directory}${sep}`);
}

/** Numeric owner; null = as it comes, when the installing user is not root. */
type Owner = { readonly uid: number; readonly gid: number } | null;

export interface FileRights {
  readonly mode: number;
  readonly owner: Owner;
}

/** Owner of a file, in chown(1)'s words. */
export type OwnerName = "root:root" | "root:licmond" | "licmond:licmond";

const ROOT = { uid: 0, gid: 0 };

/** Root's, with this mode; when another user installs below a root: that user's. */
export function rootsOwn(host: Host, mode: number): FileRights {
  return { mode, owner: host.uid === 0 ? ROOT : null };
}

/**
 * The uid and gid of a name; null = ownership is not set, because only root can. Below a root without the user, root
 * stands in: tmpfiles.d(5) puts it right when the system boots.
 */
export async function ownerOf(host: Host, name: OwnerName): Promise<Owner> {
  if (host.uid !== 0) return null;
  if (name === "root:root") return ROOT;
  const account = await serviceAccount(host);
  if (account === null && host.root !== null) return ROOT;
  if (account === null) throw new Error(`there is no user ${SERVICE_NAME} on this host`);
  return name === "root:licmond" ? { uid: 0, gid: account.gid } : account;
}

/** The service's user and group: of passwd(5) and group(5), else of what getent(1) finds; null = none yet. */
export async function serviceAccount(host: Host): Promise<NonNullable<Owner> | null> {
  const uid = await idOf(host, "passwd");
  const gid = await idOf(host, "group");
  return uid === null || gid === null ? null : { uid, gid };
}

/** The third field of both tables is the number. */
async function idOf(host: Host, table: "passwd" | "group"): Promise<number | null> {
  const lines = textOf(host.at(`/etc/${table}`)).split("\n");
  let line = lines.find((each) => each.startsWith(`${SERVICE_NAME}:`));
  // Users of a directory service are in no file.
  if (line === undefined && host.root === null)
    line = (await host.run(["getent", table, SERVICE_NAME])).stdout;
  const number = line?.split(":")[2] ?? "";
  return /^\d+$/.test(number) ? Number(number) : null;
}

/** Empty when there is no such file. */
export function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return "";
    throw error;
  }
}

/**
 * Whether systemd runs this host and can be reached. sd_booted(3) alone looks for the directory, which a container may
 * have without it.
 */
export async function isSystemdHost(run: Run): Promise<boolean> {
  if (!existsSync("/run/systemd/system")) return false;
  return (await run(["systemctl", "show", "--property=Version"])).ok;
}

/** What systemd knows of the service; a unit that is not there is neither active nor enabled. Throws when it is not reached. */
export async function serviceState(run: Run, unit = UNIT_NAME) {
  const asked = "--property=ActiveState,UnitFileState,NeedDaemonReload";
  const { ok, stdout, words } = await run(["systemctl", "show", asked, unit]);
  if (!ok) throw new Error(`systemctl show: ${words}`);
  const value = (name: string) => new RegExp(`^${name}=(.*)$`, "m").exec(stdout)?.[1] ?? "";
  return {
    isActive: ["active", "activating", "reloading"].includes(value("ActiveState")),
    isEnabled: value("UnitFileState") === "enabled",
    /** Files of the unit changed since systemd read them. */
    needsReload: value("NeedDaemonReload") === "yes",
  };
}

/** How long systemd may take: the unit's own bounds (a start that migrates years of history) end before. */
export const SERVICE_TIMEOUT_MS = 17 * 60_000;

/** Runs a command line, whose words with blanks stand in single quotes. Throws with its words when it fails. */
export async function must(run: Run, line: string, timeoutMs?: number): Promise<void> {
  const argv = (line.match(/'[^']*'|\S+/g) ?? []).map((word) => word.replaceAll("'", ""));
  const { ok, words } = await run(argv, timeoutMs);
  if (!ok) throw new Error(words === "" ? "it failed" : words);
}

/** The journal's last lines of a unit, for a message; empty when there are none. */
export async function lastWords(run: Run, unit: string): Promise<string> {
  const { stdout } = await run(["journalctl", "--no-pager", "-o", "cat", "-n", "15", "-u", unit]);
  return stdout.trimEnd();
}

/** Starts the service, or starts it again. Throws with what systemd and the service said. */
export async function restartService(run: Run, unit = UNIT_NAME): Promise<void> {
  // Attempts from before must not count against this one; it fails when there is nothing to reset.
  await run(["systemctl", "reset-failed", unit]);
  const { ok, words } = await run(["systemctl", "restart", unit], SERVICE_TIMEOUT_MS);
  if (!ok) throw new Error(`${words}\nits last words:\n${await lastWords(run, unit)}`);
}

/** Where the system's own programs lie, whatever the caller's $PATH says: they are run as root. */
const SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const RUN_TIMEOUT_MS = 30_000;

/** Runs programs of this host, with nothing of the caller's environment. */
export function systemRun(): Run {
  const runner = createCommandRunner({ path: SYSTEM_PATH, home: "/" });
  return async (argv, timeoutMs = RUN_TIMEOUT_MS) => {
    const result = await runner.run({ argv, env: {}, timeoutMs });
    const failed = { ok: false, exitCode: null };
    if (!result.started) return { ...failed, stdout: "", words: result.failure.message };
    const stdout = new TextDecoder().decode(result.stdout);
    const stderr = new TextDecoder().decode(result.stderr);
    if (result.timedOut) return { ...failed, stdout, words: `it took longer than ${timeoutMs / 1000} s` };
    const words = (stderr.trim() || stdout.trim()).slice(-2000);
    return { ok: result.exitCode === 0, exitCode: result.exitCode, stdout, words };
  };
}

/** Whether the system has a program. */
export function hasProgram(program: string): boolean {
  return locate(program, SYSTEM_PATH) !== null;
}
