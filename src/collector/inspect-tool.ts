import { readdirSync } from "node:fs";
import { EM_386, EM_AARCH64, EM_ARM, EM_X86_64, isElf, machineName, readElf } from "./elf.ts";
import { fixForLoader } from "./missing-loader.ts";
import {
  notAFile,
  notFound,
  onNoexec,
  outOfResources,
  type StartFailure,
  unreachableFile,
  wrongFormat,
} from "./start-failure.ts";
import { errorCode, isExecutable, isMissing, locate, noexecMount, readHead, statOf } from "./tool-file.ts";

export type ToolFinding =
  | { readonly ok: true; readonly path: string }
  | { readonly ok: false; readonly failure: StartFailure };

/** The file of one tool: an argv prefix from the config, or the names under which a manager's tool is known. */
export type ToolRequest = { readonly argv: readonly string[] } | { readonly names: readonly string[] };

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
  const code = errorCode(error);
  // Says nothing about the tool, and to look at the file would take a descriptor.
  const shortage = outOfResources(code);
  if (shortage !== null) return shortage;
  const finding = inspectTool({ argv: [tool] }, path);
  if (!finding.ok) return finding.failure;
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

function inspectFile(file: string, depth = 0): ToolFinding {
  const stats = statOf(file);
  if (stats instanceof Error) return failed(unreachableFile(file, errorCode(stats), stats.message));
  if (!stats.isFile()) {
    return failed(notAFile(file, stats.isDirectory()));
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
