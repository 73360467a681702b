import {
  accessSync,
  closeSync,
  constants,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  type Stats,
  statSync,
} from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { EM_386, EM_AARCH64, EM_ARM, EM_X86_64, isElf, machineName, readElf } from "./elf.ts";
import { fixForLoader } from "./missing-loader.ts";
import { mountOf } from "./mounts.ts";

export type StartReason =
  | "not_found"
  | "not_a_file"
  | "not_executable"
  | "wrong_format"
  | "missing_loader"
  | "missing_interpreter"
  | "aborted"
  | "other";

/** Why a tool could not start, in words for the administrator. */
export interface StartFailure {
  readonly reason: StartReason;
  /** The file meant; null when none was found. */
  readonly path: string | null;
  /** One sentence with its full stop. */
  readonly message: string;
  /** What to do, without a full stop; null when nothing better than the message is known. */
  readonly fix: string | null;
}

export type ToolFinding =
  | { readonly ok: true; readonly path: string }
  | { readonly ok: false; readonly failure: StartFailure };

/** The file of one tool: an argv prefix from the config, or the names under which a manager's tool is known. */
export type ToolRequest = { readonly argv: readonly string[] } | { readonly names: readonly string[] };

/** Script behind `#!`, as the kernel reads it. */
const SHEBANG_BYTES = 256;

/**
 * Looks for a tool and says whether this system can start it, without running it.
 * `path` is a $PATH value. Of several names the first that can start wins; if none can, the first that exists is explained.
 */
export function inspectTool(request: ToolRequest, path: string): ToolFinding {
  const names = "argv" in request ? request.argv.slice(0, 1) : request.names;
  let firstFailure: ToolFinding | null = null;
  for (const name of names) {
    const file = locate(name, path);
    if (file === null) continue;
    const finding = inspectFile(file);
    if (finding.ok) return finding;
    firstFailure ??= finding;
  }
  return firstFailure ?? failed(notFound(names, path));
}

/** What a spawn threw, explained: the error alone says ENOENT for a file that is there but lacks its loader. */
export function explainStart(error: unknown, tool: string, path: string): StartFailure {
  const finding = inspectTool({ argv: [tool] }, path);
  if (!finding.ok) return finding.failure;
  const code = errorCode(error);
  const file = finding.path;
  if (code === "EACCES" || code === "EPERM") {
    const forbidding = noexecMount(file);
    if (forbidding !== null) return onNoexec(file, forbidding);
    return {
      reason: "not_executable",
      path: file,
      message: `The system refuses to run ${file} although it is executable (${code}).`,
      fix: "look whether a security module (AppArmor, SELinux) forbids it: `journalctl -k | grep -i denied`, `ausearch -m avc`",
    };
  }
  if (code === "ENOEXEC") return wrongFormat(file, "The kernel does not know its format.");
  const words = error instanceof Error ? error.message : String(error);
  return { reason: "other", path: file, message: `${file} could not be started: ${words}.`, fix: null };
}

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

function inspectFile(file: string, depth = 0): ToolFinding {
  const stats = statOf(file);
  if (stats instanceof Error) return failed(unreachableFile(file, stats));
  if (!stats.isFile()) {
    const what = stats.isDirectory() ? "a directory" : "not a regular file";
    return failed({
      reason: "not_a_file",
      path: file,
      message: `${file} is ${what}, not a program.`,
      fix: stats.isDirectory() ? `name the program inside it, e.g. ${join(file, "lmutil")}` : null,
    });
  }
  if (!isExecutable(file)) {
    const forbidding = (stats.mode & 0o111) === 0 ? null : noexecMount(file);
    if (forbidding !== null) return failed(onNoexec(file, forbidding));
    return failed({
      reason: "not_executable",
      path: file,
      message: `${file} is not executable for this user.`,
      fix: `\`chmod a+rx ${file}\``,
    });
  }
  const head = readHead(file);
  // Execute-only files cannot be read, but they can be run.
  if (head === null) return { ok: true, path: file };
  if (isElf(head)) return inspectElf(file);
  if (head[0] === 0x23 && head[1] === 0x21) return inspectScript(file, head, depth);
  if (head.length === 0) return failed(wrongFormat(file, "It is empty."));
  if (head.includes(0)) return failed(wrongFormat(file, "It is no Linux program."));
  return failed({
    ...wrongFormat(file, "It is a text without a #! line."),
    fix: "if it is a shell script, put `#!/bin/sh` in its first line",
  });
}

function inspectElf(file: string): ToolFinding {
  const elf = readElf(file);
  if (elf === null) return failed(wrongFormat(file, "Its ELF header is damaged; was it copied completely?"));
  const native = nativeMachines();
  if (native !== null && !native.includes(elf.machine)) {
    // An emulator registered with the kernel may run it, with a loader of its own choice.
    if (emulatorRegistered()) return { ok: true, path: file };
    const here = machineName(native[0] ?? 0);
    return failed({
      ...wrongFormat(file, `It is built for ${machineName(elf.machine)}, and this host is ${here}.`),
      fix: `get the vendor's build for Linux on ${here}`,
    });
  }
  if (elf.interpreter === null || !isMissing(elf.interpreter)) return { ok: true, path: file };
  return failed({
    reason: "missing_loader",
    path: file,
    message: `${file} exists, but its loader ${elf.interpreter} does not (a ${elf.bits}-bit ${machineName(elf.machine)} program).`,
    fix: fixForLoader(elf.interpreter),
  });
}

function inspectScript(file: string, head: Uint8Array, depth: number): ToolFinding {
  const line = new TextDecoder("latin1").decode(head.subarray(2)).split("\n", 1)[0] ?? "";
  const interpreter = line.replace(/^[ \t]+/, "").split(/[ \t]/, 1)[0] ?? "";
  const missing = (message: string, fix: string): ToolFinding =>
    failed({ reason: "missing_interpreter", path: file, message, fix });
  if (interpreter === "")
    return missing(`${file} names no interpreter behind its #!.`, "write e.g. `#!/bin/sh`");
  if (isMissing(interpreter)) {
    return line.includes("\r")
      ? missing(
          `${file} has Windows line ends: it asks for an interpreter whose name ends in a carriage return.`,
          `\`sed -i 's/\\r$//' ${file}\``,
        )
      : missing(
          `${file} is a script for ${interpreter}, which does not exist.`,
          `install ${interpreter} or correct the script's first line`,
        );
  }
  // The kernel follows four interpreters of interpreters.
  const inner: ToolFinding =
    depth < 4 ? inspectFile(interpreter, depth + 1) : { ok: true, path: interpreter };
  if (inner.ok) return { ok: true, path: file };
  return failed({ ...inner.failure, message: `${file} cannot start: ${inner.failure.message}` });
}

/** The mount point that forbids to run a file; null = none does, or it cannot be told. */
function noexecMount(file: string): string | null {
  try {
    const mount = mountOf(realpathSync(file));
    return mount?.options.includes("noexec") ? mount.point : null;
  } catch {
    return null;
  }
}

function onNoexec(file: string, point: string): StartFailure {
  return {
    reason: "not_executable",
    path: file,
    message: `${file} lies on ${point}, which is mounted with noexec: nothing on it can be run.`,
    fix: `copy the tool to another file system, e.g. /opt, or \`mount -o remount,exec ${point}\``,
  };
}

function notFound(names: readonly string[], path: string): StartFailure {
  const [name = ""] = names;
  const looked = names.map((each) => `\`${each}\``).join(" or ");
  return {
    reason: "not_found",
    path: null,
    message: names.length === 0 ? "No tool is named." : `No ${looked} in any directory of $PATH (${path}).`,
    fix: `install the vendor's tool, or set the server's \`tool\` to its full path, e.g. tool = "/opt/licenses/${name || "lmutil"}"`,
  };
}

function unreachableFile(file: string, error: Error): StartFailure {
  const code = errorCode(error);
  if (code === "EACCES") {
    return {
      reason: "not_executable",
      path: file,
      message: `A directory above ${file} is closed to this user.`,
      fix: "open it with `chmod a+x`, or install the tool elsewhere",
    };
  }
  const gone = code === "ENOENT" || code === "ENOTDIR";
  return {
    reason: gone ? "not_found" : "other",
    path: file,
    message: gone ? `${file} does not exist.` : `${file} cannot be looked at: ${error.message}.`,
    fix: gone ? "correct the server's `tool`, or install the vendor's tool there" : null,
  };
}

function wrongFormat(file: string, why: string): StartFailure {
  return {
    reason: "wrong_format",
    path: file,
    message: `${file} cannot be run by this system (exec format error). ${why}`,
    fix: "get the vendor's build for this system",
  };
}

function failed(failure: StartFailure): ToolFinding {
  return { ok: false, failure };
}

/** Machines that this kernel runs by itself, its own first; null = not known, so nothing is claimed. */
function nativeMachines(): readonly number[] | null {
  if (process.platform !== "linux") return null;
  if (process.arch === "x64") return [EM_X86_64, EM_386];
  if (process.arch === "arm64") return [EM_AARCH64, EM_ARM];
  return null;
}

function emulatorRegistered(): boolean {
  try {
    return readdirSync("/proc/sys/fs/binfmt_misc").some(
      (entry) => entry !== "register" && entry !== "status",
    );
  } catch {
    return false;
  }
}

function statOf(file: string): Stats | Error {
  try {
    return statSync(file);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function isMissing(file: string): boolean {
  const stats = statOf(file);
  return stats instanceof Error && ["ENOENT", "ENOTDIR"].includes(errorCode(stats));
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function readHead(file: string): Uint8Array | null {
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

function errorCode(error: unknown): string {
  return typeof error === "object" && error !== null && "code" in error ? String(error.code) : "";
}
