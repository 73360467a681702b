import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EM_386, EM_AARCH64, EM_ARM, EM_X86_64, readElf } from "../../src/collector/elf.ts";
import { explainStart, inspectTool } from "../../src/collector/inspect-tool.ts";
import { createCommandRunner } from "../../src/collector/run-command.ts";
import type { StartFailure } from "../../src/collector/start-failure.ts";
import { elfFile } from "./elf-file.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "licmond-tools-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

function put(name: string, bytes: string | Uint8Array, mode = 0o755): string {
  const file = join(folder, name);
  writeFileSync(file, bytes);
  chmodSync(file, mode);
  return file;
}

function failureOf(file: string): StartFailure {
  const finding = inspectTool({ argv: [file, "-x"] }, "/usr/bin:/bin");
  if (finding.ok) throw new Error(`${file} was found fit to start`);
  return finding.failure;
}

const native = process.arch === "arm64" ? EM_AARCH64 : EM_X86_64;
const sibling = process.arch === "arm64" ? EM_ARM : EM_386;

describe("inspectTool", () => {
  test("a program that can start is found, by path and by name", () => {
    expect(inspectTool({ argv: ["/bin/sh", "-c"] }, "")).toEqual({ ok: true, path: "/bin/sh" });
    expect(inspectTool({ names: ["no-such-tool", "env"] }, "/no/such:/usr/bin")).toEqual({
      ok: true,
      path: "/usr/bin/env",
    });
  });

  test("of several names the first that can start wins, else the first that exists is explained", () => {
    mkdirSync(join(folder, "bin"));
    const broken = put(
      "bin/lmutil",
      elfFile({ bits: 64, little: true, machine: native, interpreter: "/no/ld.so" }),
    );
    const names = ["lmutil", "lmstat"];
    const before = inspectTool({ names }, join(folder, "bin"));
    expect(before).toMatchObject({ ok: false, failure: { reason: "missing_loader", path: broken } });
    const works = put("bin/lmstat", "#!/bin/sh\n");
    expect(inspectTool({ names }, join(folder, "bin"))).toEqual({ ok: true, path: works });
  });

  test("nothing found names what was looked for, where, and the setting", () => {
    const finding = inspectTool({ names: ["lmutil", "lmstat"] }, "/no/such");
    expect(finding).toMatchObject({ ok: false, failure: { reason: "not_found", path: null } });
    if (finding.ok) return;
    expect(finding.failure.message).toBe("No `lmutil` or `lmstat` in any directory of $PATH (/no/such).");
    expect(finding.failure.fix).toContain("`tool`");
  });

  for (const [loader, bits, fix] of [
    ["/lib64/ld-lsb-x86-64.so.3", 64, "ln -s /lib64/ld-linux-x86-64.so.2 /lib64/ld-lsb-x86-64.so.3"],
    ["/lib64/ld-lsb-x86-64.so.3", 64, "apt install lsb-core"],
    ["/lib/ld-lsb.so.3", 32, "dpkg --add-architecture i386"],
    ["/lib/ld-of-nobody.so.9", 32, "/lib/ld-of-nobody.so.9"],
  ] as const) {
    test(`missing loader ${loader}: ${fix}`, () => {
      const machine = bits === 64 ? native : sibling;
      const failure = failureOf(
        put("needs-loader", elfFile({ bits, little: true, machine, interpreter: loader })),
      );
      expect(failure.reason).toBe("missing_loader");
      expect(failure.message).toContain(`its loader ${loader} does not`);
      expect(failure.fix).toContain(fix);
    });
  }

  test("a static program needs no loader", () => {
    const file = put("static", elfFile({ bits: 64, little: true, machine: native, interpreter: null }));
    expect(inspectTool({ argv: [file] }, "")).toEqual({ ok: true, path: file });
  });

  test("a program for another machine is told so", () => {
    const file = put(
      "sparc",
      elfFile({ bits: 64, little: false, machine: 43, interpreter: "/usr/lib/ld.so.1" }),
    );
    const finding = inspectTool({ argv: [file] }, "");
    // With an emulator registered in the kernel it may well run.
    if (finding.ok)
      return expect(readFileSync("/proc/sys/fs/binfmt_misc/status", "utf8")).toContain("enabled");
    expect(finding.failure).toMatchObject({ reason: "wrong_format", path: file });
    expect(finding.failure.message).toContain("SPARC V9");
  });

  for (const [name, bytes, mode, reason, words] of [
    ["empty", "", 0o755, "wrong_format", "empty"],
    ["windows.exe", "MZ\x90\0\x03", 0o755, "wrong_format", "no Linux program"],
    ["text", "echo hello\n", 0o755, "wrong_format", "#!"],
    ["crlf", "#!/bin/sh\r\necho\r\n", 0o755, "missing_interpreter", "Windows line ends"],
    ["perl6", "#! /opt/none/perl6 -w\n", 0o755, "missing_interpreter", "/opt/none/perl6, which"],
    ["bare", "#!\n", 0o755, "missing_interpreter", "no interpreter"],
    ["plain", "#!/bin/sh\n", 0o644, "not_executable", "not executable"],
  ] as const) {
    test(`${name}: ${reason}`, () => {
      const failure = failureOf(put(name, bytes, mode));
      expect(failure.reason).toBe(reason);
      expect(failure.message).toContain(words);
    });
  }

  test("a script whose interpreter lacks its own loader", () => {
    const inner = put(
      "inner",
      elfFile({ bits: 64, little: true, machine: native, interpreter: "/no/ld.so" }),
    );
    const failure = failureOf(put("outer", `#!${inner}\n`));
    expect(failure.reason).toBe("missing_loader");
    expect(failure.message).toContain("outer cannot start");
  });

  test("a directory, and a path through a file", () => {
    expect(failureOf(folder)).toMatchObject({ reason: "not_a_file" });
    expect(failureOf("/bin/sh/lmutil")).toMatchObject({ reason: "not_found" });
  });
});

test("a real program whose loader is gone: spawn says ENOENT, we say which loader", async () => {
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
  ["EMFILE", "licmond has used up its file descriptors (EMFILE)", "LimitNOFILE="],
  ["ENFILE", "this host has used up its file descriptors (ENFILE)", "fs.file-max"],
  ["EAGAIN", "licmond may not start more processes (EAGAIN)", "TasksMax="],
  ["ENOMEM", "there is no memory left (ENOMEM)", "MemoryMax="],
])("%s is named, whatever the tool, with the limit to raise", (code, message, fix) => {
  const error = Object.assign(new Error("spawn failed"), { code });
  for (const tool of ["/bin/sh", "/no/such/tool"]) {
    const failure = explainStart(error, tool, "/usr/bin");
    // Of no file: what it says is no secret, and stands in the server's record.
    expect(failure).toMatchObject({ reason: "other", path: null });
    expect(failure.message).toContain(message);
    expect(failure.fix).toContain(fix);
  }
});
