import { accessSync, closeSync, constants, openSync, readdirSync, readSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { codeOf, messageOf } from "../domain/error-code.ts";

/**
 * Reasons why a tool could not start. They contain no paths of the host, because every key that may read
 * the server's record sees them.
 */
export const WHY_NOT = {
  not_found: "it does not exist",
  not_a_file: "it is not a program",
  not_executable: "this user is not allowed to run it",
  wrong_format: "it is not built for this system",
  missing_loader: "its loader is missing",
  missing_interpreter: "its interpreter is missing",
  aborted: "it was cancelled",
  other: "the system refused",
} as const;
export type StartReason = keyof typeof WHY_NOT;

/** Why a tool could not start, for the administrator. */
export interface StartFailure {
  readonly reason: StartReason;
  /** Path of the file; null if no file was found. */
  readonly path: string | null;
  /** A sentence with its full stop. */
  readonly message: string;
  /** Fix, without a full stop; null if unknown. */
  readonly fix: string | null;
}

type ToolFinding =
  | { readonly ok: true; readonly path: string }
  | { readonly ok: false; readonly failure: StartFailure };

/**
 * Looks for a tool and checks whether the tool can start, without running it. Returns the first of `names`
 * (names or paths) that can start. If none can, explains why the first existing one cannot. `path` is a
 * $PATH.
 */
export function inspectTool(names: readonly string[], path: string): ToolFinding {
  const files = names.flatMap((name) => locate(name, path) ?? []);
  const failures = files.map((file) => problemOf(file));
  const fit = files[failures.indexOf(null)];
  if (fit !== undefined) return { ok: true, path: fit };
  const looked = names.map((each) => `\`${each}\``).join(" or ");
  const message = looked === "" ? "No tool is set." : `${looked} not found in $PATH (${path}).`;
  const example = `e.g. tool = "/opt/licenses/${names[0] || "lmutil"}"`;
  const fix = `install the vendor's tool, or set the server's \`tool\` to its full path, ${example}`;
  return { ok: false, failure: failures[0] ?? { reason: "not_found", path: null, message, fix } };
}

/** Returns the file to run. If none of `names` can start, returns a file whose failure explains the reason. */
export function findTool(names: readonly string[], path: string): string {
  const finding = inspectTool(names, path);
  return (finding.ok ? finding.path : finding.failure.path) ?? names[0] ?? "";
}

/** Resolves a tool: returns a path unchanged, and searches a name in the $PATH `path`. */
export function locate(name: string, path: string): string | null {
  if (name === "" || name.includes("/")) return name || null;
  const directories = path.split(delimiter).filter((directory) => isAbsolute(directory));
  const files = directories.map((directory) => join(directory, name)).filter((f) => statOf(f)?.isFile());
  return files.find(isExecutable) ?? files[0] ?? null;
}

/**
 * Explains an error of spawn. The error alone is ambiguous: ENOENT also means a file whose loader is
 * missing.
 */
export function explainStart(error: unknown, tool: string, path: string): StartFailure {
  const code = codeOf(error);
  // A shortage is not a fault of the tool, and inspecting the file would need another descriptor.
  const [shortage, limit = null] = SHORTAGES[code] ?? [];
  if (shortage !== undefined) {
    const message = `No tool can be started: ${shortage} (${code}).`;
    return { reason: "other", path: null, message, fix: limit };
  }
  const finding = inspectTool([tool], path);
  if (!finding.ok) return finding.failure;
  const file = finding.path;
  if (code === "ENOEXEC") return { path: file, ...wrongFormat(file) };
  if (code !== "EACCES" && code !== "EPERM") {
    const message = `${file} could not be started: ${messageOf(error)}.`;
    return { reason: "other", path: file, message, fix: null };
  }
  const message = `The system refuses to run ${file} although it is executable (${code}).`;
  const denials = "`journalctl -k | grep -i denied`, `ausearch -m avc`";
  const fix = `check whether a security module (AppArmor, SELinux) forbids it: ${denials}`;
  return { reason: "not_executable", path: file, message, fix };
}

const SHORTAGES: Readonly<Record<string, readonly [what: string, fix: string]>> = {
  EMFILE: ["licmond has used up its file descriptors", "raise LimitNOFILE= of its unit, or `ulimit -n`"],
  ENFILE: [
    "this host has used up its file descriptors",
    "raise the sysctl fs.file-max and find the program that holds so many files (`lsof`); LimitNOFILE= does not help",
  ],
  EAGAIN: [
    "licmond is not allowed to start more processes",
    "raise TasksMax= and LimitNPROC= of its unit, or `ulimit -u`",
  ],
  ENOMEM: ["out of memory", "free memory, or raise MemoryMax= of its unit"],
};

type Problem = Omit<StartFailure, "path">;

/** Returns why this system cannot start a file, or null. */
function problemOf(file: string): StartFailure | null {
  const problem = modeProblem(file) ?? formatProblem(file);
  if (problem !== null) return { path: file, ...problem };
  const script = /^#![ \t]*([^ \t\n]*)([^\n]*)/.exec(readAt(file, 0, 256).toString("latin1"));
  if (script === null) return null;
  const [, interpreter = "", rest = ""] = script;
  const missing = (message: string, fix: string) => {
    return { reason: "missing_interpreter", path: file, message, fix } as const;
  };
  if (interpreter === "") return missing(`${file} has no interpreter after #!.`, "write e.g. `#!/bin/sh`");
  if (statOf(interpreter) !== null) return null;
  if (`${interpreter}${rest}`.includes("\r")) {
    const why = "it asks for an interpreter whose name ends in a carriage return";
    return missing(`${file} has Windows line endings: ${why}.`, `\`sed -i 's/\\r$//' ${file}\``);
  }
  const fix = `install ${interpreter} or correct the script's first line`;
  return missing(`${file} is a script for ${interpreter}, which does not exist.`, fix);
}

function modeProblem(file: string): Problem | null {
  const stats = statOf(file);
  if (stats === null) {
    const fix = "correct the server's `tool`, or install the vendor's tool there";
    return { reason: "not_found", message: `${file} does not exist.`, fix };
  }
  if (stats === undefined) {
    const fix = "run `chmod a+x` on it, or install the tool elsewhere";
    return {
      reason: "not_executable",
      message: `A parent directory of ${file} is not accessible for this user.`,
      fix,
    };
  }
  if (!stats.isFile()) {
    const fix = stats.isDirectory()
      ? `set the path of the program inside it, e.g. ${join(file, "lmutil")}`
      : null;
    const what = stats.isDirectory() ? "a directory" : "not a regular file";
    return { reason: "not_a_file", message: `${file} is ${what}, not a program.`, fix };
  }
  if (isExecutable(file)) return null;
  if ((stats.mode & 0o111) !== 0o111) {
    const message = `${file} is not executable for this user.`;
    return { reason: "not_executable", message, fix: `\`chmod a+rx ${file}\`` };
  }
  const why = "its file system is mounted with noexec: nothing on it can be run";
  const fix = `copy the tool to another file system, e.g. /opt, or remount this one (\`findmnt -T ${file}\`)`;
  return { reason: "not_executable", message: `${file} may be executed by its mode, but ${why}.`, fix };
}

function formatProblem(file: string): Problem | null {
  const head = readAt(file, 0, 2);
  const elf = readElf(file);
  const isForeign = elf === null ? head.toString("latin1") !== "#!" : !NATIVE.includes(elf.machine);
  // Execute-only files can be run but not read.
  const isHidden = head.length === 0 && (statOf(file)?.size ?? 0) > 0;
  if (isForeign && !isHidden && !hasEmulator()) return wrongFormat(file);
  if (elf === null || elf.interpreter === null || statOf(elf.interpreter) !== null) return null;
  const kind = `a ${elf.bits}-bit ${MACHINES[elf.machine] ?? "foreign"} program`;
  const message = `${file} exists, but its loader ${elf.interpreter} does not (${kind}).`;
  return { reason: "missing_loader", message, fix: fixForLoader(elf.interpreter) };
}

/** Explains ENOEXEC. */
function wrongFormat(file: string): Problem {
  const head = readAt(file, 0, 256);
  const elf = readElf(file);
  const isText = head.length > 0 && head[0] !== ELF_MARK && !head.includes(0);
  const here = MACHINES[NATIVE[0] ?? 0];
  const built = elf && (MACHINES[elf.machine] ?? `machine ${elf.machine}`);
  let why = "It is not a Linux program.";
  if (built !== null)
    why = `It is built for ${built} but this host is ${here}, or it was not copied completely.`;
  else if (isText) why = "It is text without a #! line.";
  else if (head.length === 0) why = "It is empty.";
  const script = "if it is a shell script, put `#!/bin/sh` in its first line";
  const fix = isText ? script : `get the vendor's build for ${here} Linux`;
  const message = `${file} cannot be run by this system (exec format error). ${why}`;
  return { reason: "wrong_format", message, fix };
}

/** Explains how to install a missing loader. FlexNet's Linux builds need the loader of the Linux Standard Base. */
function fixForLoader(loader: string): string {
  const i386 = "`dpkg --add-architecture i386 && apt update && apt install libc6:i386`";
  if (/^\/lib64\/ld-lsb-x86-64\.so\.\d$/.test(loader))
    return `\`ln -s /lib64/ld-linux-x86-64.so.2 ${loader}\`, or \`apt install lsb-core\` if the distribution still provides it`;
  if (loader === "/lib/ld-lsb.so.3") return `${i386}, then \`ln -s /lib/ld-linux.so.2 ${loader}\``;
  if (loader === "/lib/ld-linux.so.2") return `${i386} (Red Hat: \`dnf install glibc.i686\`)`;
  if (loader.includes("/ld-linux-"))
    return "install the C library that provides it: on Alpine `apk add gcompat`";
  return `install the package that provides ${loader}, or use a build of the tool for this system`;
}

const MACHINES: Readonly<Record<number, string>> = { 3: "x86", 40: "ARM", 62: "x86-64", 183: "ARM 64" };
/** ELF machine numbers of the architectures that this kernel runs natively. */
const NATIVE = process.arch === "arm64" ? [183, 40] : [62, 3];
const ELF_MARK = 0x7f;
const PT_INTERP = 3;

/** Parses an ELF header (System V ABI, chapters 4 and 5); null if the file is not ELF or is big-endian. */
export function readElf(file: string) {
  const head = readAt(file, 0, 64);
  if (head.length < 64 || head.toString("latin1", 0, 4) !== "\x7fELF" || head[5] !== 1) return null;
  const wide = head[4] === 2;
  const found = { bits: wide ? 64 : 32, machine: head.readUInt16LE(18), interpreter: null as string | null };
  const word = (bytes: Buffer, at: number) =>
    wide ? Number(bytes.readBigUInt64LE(at)) : bytes.readUInt32LE(at);
  const size = wide ? 56 : 32;
  const table = readAt(file, word(head, wide ? 32 : 28), size * head.readUInt16LE(wide ? 56 : 44));
  for (let at = 0; at + size <= table.length; at += size) {
    if (table.readUInt32LE(at) !== PT_INTERP) continue;
    const path = readAt(file, word(table, at + (wide ? 8 : 4)), 256);
    found.interpreter = path.toString("utf8").split("\0", 1)[0] || null;
  }
  return found;
}

/** Reads a part of a file; empty if the file is unreadable. Never blocks, even on a named pipe. */
function readAt(file: string, position: number, length: number): Buffer {
  try {
    const handle = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const bytes = Buffer.alloc(length);
      return bytes.subarray(0, readSync(handle, bytes, 0, length, position));
    } finally {
      closeSync(handle);
    }
  } catch {
    return Buffer.alloc(0);
  }
}

/** Returns null if the file does not exist, undefined if it cannot be inspected. */
function statOf(file: string) {
  try {
    return statSync(file);
  } catch (error) {
    return ["ENOENT", "ENOTDIR"].includes(codeOf(error)) ? null : undefined;
  }
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Reports whether the kernel runs foreign programs: binfmt_misc then has entries besides `register` and
 * `status`.
 */
function hasEmulator(): boolean {
  try {
    return readdirSync("/proc/sys/fs/binfmt_misc").length > 2;
  } catch {
    return false;
  }
}
