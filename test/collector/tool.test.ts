import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { createCommandRunner } from "../../src/collector/run-command.ts";
import {
  explainStart,
  inspectTool,
  readElf,
  type StartFailure,
  type StartReason,
} from "../../src/collector/tool.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "licmond-tools-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Makes an ELF file with a header, one PT_LOAD and an optional PT_INTERP, without code. */
function elfFile(bits: number, machine: number, interpreter: string | null): Uint8Array {
  const wide = bits === 64;
  const [headerSize, entrySize] = wide ? [64, 56] : [52, 32];
  const count = interpreter === null ? 1 : 2;
  const textAt = headerSize + count * entrySize;
  const text = Buffer.from(`${interpreter ?? ""}\0`);
  const bytes = Buffer.alloc(textAt + text.length);
  const word = (value: number, at: number) =>
    wide ? bytes.writeBigUInt64LE(BigInt(value), at) : bytes.writeUInt32LE(value, at);
  bytes.set([0x7f, 0x45, 0x4c, 0x46, wide ? 2 : 1, 1, 1]);
  bytes.set(text, textAt);
  bytes.writeUInt16LE(2, 16);
  bytes.writeUInt16LE(machine, 18);
  bytes.writeUInt32LE(1, 20);
  word(headerSize, wide ? 32 : 28);
  bytes.writeUInt16LE(entrySize, wide ? 54 : 42);
  bytes.writeUInt16LE(count, wide ? 56 : 44);
  bytes.writeUInt32LE(1, headerSize);
  if (interpreter === null) return bytes;
  const entry = headerSize + entrySize;
  bytes.writeUInt32LE(3, entry);
  word(textAt, entry + (wide ? 8 : 4));
  word(text.length, entry + (wide ? 32 : 16));
  return bytes;
}

function put(name: string, bytes: string | Uint8Array, mode = 0o755): string {
  const file = join(folder, name);
  writeFileSync(file, bytes);
  chmodSync(file, mode);
  return file;
}

function failureOf(file: string): StartFailure {
  const finding = inspectTool([file], "/usr/bin:/bin");
  if (finding.ok) throw new Error(`${file} was found fit to start`);
  return finding.failure;
}

const native = process.arch === "arm64" ? 183 : 62;
const sibling = process.arch === "arm64" ? 40 : 3;

describe("inspectTool", () => {
  test("finds a program by path and by name", () => {
    expect(inspectTool(["/bin/sh"], "")).toEqual({ ok: true, path: "/bin/sh" });
    const found = inspectTool(["no-such-tool", "env"], "/no/such:/usr/bin");
    expect(found).toEqual({ ok: true, path: "/usr/bin/env" });
  });

  test("returns the first name that can start, else explains the first that exists", () => {
    mkdirSync(join(folder, "bin"));
    const broken = put("bin/lmutil", elfFile(64, native, "/no/ld.so"));
    const names = ["lmutil", "lmstat"];
    const before = inspectTool(names, join(folder, "bin"));
    expect(before).toMatchObject({ ok: false, failure: { reason: "missing_loader", path: broken } });
    const works = put("bin/lmstat", "#!/bin/sh\n");
    expect(inspectTool(names, join(folder, "bin"))).toEqual({ ok: true, path: works });
  });

  test("a missing tool names the searched names, $PATH and the setting", () => {
    const finding = inspectTool(["lmutil", "lmstat"], "/no/such");
    expect(finding).toMatchObject({ ok: false, failure: { reason: "not_found", path: null } });
    if (finding.ok) return;
    expect(finding.failure.message).toBe("`lmutil` or `lmstat` not found in $PATH (/no/such).");
    expect(finding.failure.fix).toContain("`tool`");
  });

  test("a static program needs no loader", () => {
    const file = put("static", elfFile(64, native, null));
    expect(inspectTool([file], "")).toEqual({ ok: true, path: file });
  });

  const lsb = "/lib64/ld-lsb-x86-64.so.3";
  const ownLoader = "/lib/ld-of-nobody.so.9";
  const oldElf = elfFile(32, sibling, "/lib/ld-lsb.so.3");

  test.each<[string, string | Uint8Array, number, StartReason, string, string?]>([
    ["lsb", elfFile(64, native, lsb), 0o755, "missing_loader", `its loader ${lsb} does not`, `so.2 ${lsb}`],
    ["lsb", elfFile(64, native, lsb), 0o755, "missing_loader", "64-bit", "apt install lsb-core"],
    ["i386", oldElf, 0o755, "missing_loader", "32-bit", "add-architecture i386"],
    ["own", elfFile(32, sibling, ownLoader), 0o755, "missing_loader", ownLoader, ownLoader],
    ["crlf", "#!/bin/sh\r\necho\r\n", 0o755, "missing_interpreter", "Windows line endings"],
    ["crlf-option", "#!/bin/none -e\r\n", 0o755, "missing_interpreter", "Windows line endings"],
    ["perl6", "#! /opt/none/perl6 -w\n", 0o755, "missing_interpreter", "/opt/none/perl6, which"],
    ["bare", "#!\n", 0o755, "missing_interpreter", "no interpreter"],
    ["plain", "#!/bin/sh\n", 0o644, "not_executable", "not executable for this user"],
  ])("%s", (name, bytes, mode, reason, words, fix = "") => {
    const failure = failureOf(put(name, bytes, mode));
    expect(failure.reason).toBe(reason);
    expect(failure.message).toContain(words);
    expect(failure.fix).toContain(fix);
  });

  test("rejects a directory, and a path through a file", () => {
    expect(failureOf(folder).reason).toBe("not_a_file");
    expect(failureOf("/bin/sh/lmutil").reason).toBe("not_found");
  });
});

test("a real program without its loader: names the loader", async () => {
  const program = readFileSync("/bin/true");
  const interpreter = readElf("/bin/true")?.interpreter ?? "";
  expect(interpreter).not.toBe("");
  const at = program.indexOf(`${interpreter}\0`);
  const gone = interpreter.replace(/\/ld-.{3}/, "/ld-lsb");
  program.write(gone, at);
  const tool = put("lmutil", program);
  const runner = createCommandRunner({ path: "/usr/bin:/bin", home: "/" });
  const result = await runner.run({ argv: [tool, "lmstat"], env: {}, timeoutMs: 20_000 });
  expect(result).toMatchObject({ started: false, failure: { reason: "missing_loader", path: tool } });
  expect(!result.started && result.failure.message).toContain(gone);
});

test.each([
  ["empty", "", "It is empty"],
  ["windows.exe", "MZ\x90\0\x03", "not a Linux program"],
  ["text", "echo hello\n", "text without a #! line"],
  ["arm", elfFile(64, sibling + 60, null), "It is built for"],
])("explains a file that the kernel cannot run: %s", async (name, bytes, words) => {
  const tool = put(name, bytes);
  const runner = createCommandRunner({ path: "/usr/bin:/bin", home: "/" });
  const result = await runner.run({ argv: [tool], env: {}, timeoutMs: 20_000 });
  // The inspection finds the wrong format before the tool runs, unless the host has an emulator for it.
  const emulated = existsSync("/proc/sys/fs/binfmt_misc/status") && inspectTool([tool], "").ok;
  if (!emulated) expect(failureOf(tool)).toMatchObject({ reason: "wrong_format", path: tool });
  expect(result).toMatchObject({ started: false, failure: { reason: "wrong_format", path: tool } });
  expect(!result.started && result.failure.message).toContain(words);
});

test("explains a file system mounted noexec", async () => {
  const folder = mkdtempSync("/dev/shm/licmond-");
  const mounted = Bun.spawnSync(["mount", "-t", "tmpfs", "-o", "noexec", "tmpfs", folder]).exitCode === 0;
  try {
    if (!mounted) return console.warn("Not tried: this user may not mount");
    const tool = join(folder, "lmutil");
    writeFileSync(tool, "#!/bin/sh\n");
    chmodSync(tool, 0o755);
    expect(failureOf(tool)).toMatchObject({ reason: "not_executable" });
    expect(failureOf(tool).message).toContain("noexec");
  } finally {
    if (mounted) Bun.spawnSync(["umount", folder]);
    rmSync(folder, { recursive: true });
  }
});

test("readElf never throws on cut or random headers", () => {
  const whole = elfFile(64, 62, "/lib/x");
  expect(readElf(put("whole", whole))).toEqual({ bits: 64, machine: 62, interpreter: "/lib/x" });
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { maxLength: 20 }),
      fc.nat(whole.length),
      (changes, length) => {
        const bytes = whole.slice(0, length);
        for (const [at, value] of changes) if (at >= 4 && at < length) bytes[at] = value;
        const elf = readElf(put("changed", bytes));
        expect(elf === null || elf.bits === 32 || elf.bits === 64).toBe(true);
      },
    ),
    { numRuns: 300 },
  );
});

test.each([
  ["EMFILE", "licmond has used up its file descriptors (EMFILE)", "LimitNOFILE="],
  ["ENFILE", "this host has used up its file descriptors (ENFILE)", "fs.file-max"],
  ["EAGAIN", "licmond is not allowed to start more processes (EAGAIN)", "TasksMax="],
  ["ENOMEM", "out of memory (ENOMEM)", "MemoryMax="],
])("%s names the limit to raise, for any tool", (code, message, fix) => {
  const error = Object.assign(new Error("spawn failed"), { code });
  for (const tool of ["/bin/sh", "/no/such/tool"]) {
    const failure = explainStart(error, tool, "/usr/bin");
    // The message is part of the server's record, so it must not name a file.
    expect(failure).toMatchObject({ reason: "other", path: null });
    expect(failure.message).toContain(message);
    expect(failure.fix).toContain(fix);
  }
});
