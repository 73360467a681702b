import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type CommandRequest,
  type CommandRun,
  createCommandRunner,
} from "../../src/collector/run-command.ts";
import { processesLeft, processesWith } from "./processes.ts";

const tools = join(import.meta.dir, "../fake-tools");
const runner = createCommandRunner({
  path: "/usr/bin:/bin",
  home: "/nonexistent",
  graceMs: 800,
  quietMs: 100,
});

let marks = 0;
/** A mark in the environment by which a test finds every process of its command. */
const mark = () => `LICMOND_TEST_MARK=${process.pid}-${++marks}-end`;

const request = (tool: string, more: Partial<CommandRequest> & { mark?: string; args?: string[] } = {}) => {
  const { mark: text, args = [], ...rest } = more;
  const [name = "", value = ""] = text?.split("=") ?? [];
  return {
    argv: [join(tools, tool), ...args],
    env: name === "" ? {} : { [name]: value },
    timeoutMs: 30_000,
    ...rest,
  };
};

async function ran(asked: CommandRequest): Promise<CommandRun> {
  const result = await runner.run(asked);
  if (!result.started) throw new Error(result.failure.message);
  return result;
}

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

describe("a command that ends by itself", () => {
  test("gives its words, its exit code and both streams", async () => {
    const result = await ran(request("exit-241"));
    expect(result).toMatchObject({
      exitCode: 241,
      signal: null,
      timedOut: false,
      truncated: false,
      aborted: false,
    });
    expect(text(result.stdout)).toBe("License server status: 27000@lic1\n");
    expect(text(result.stderr)).toBe("nothing to complain about\n");
  });

  test("names the signal it died of", async () => {
    const result = await ran(request("die-by-signal"));
    expect(result).toMatchObject({ exitCode: null, signal: "SIGSEGV", timedOut: false });
    expect(text(result.stdout)).toBe("begun\n");
  });

  test("has its bytes untouched", async () => {
    const result = await ran(request("binary"));
    expect([...result.stdout]).toEqual([
      0x61, 0, 0x62, 0xff, 0xfe, 0xc3, 0x28, 0x1b, 0x5b, 0x33, 0x31, 0x6d, 0x0a,
    ]);
  });

  test("is waited for while it prints slowly, longer than the quiet time", async () => {
    const result = await ran(request("slow", { args: ["4"] }));
    expect(text(result.stdout)).toBe("line 1\nline 2\nline 3\nline 4\n");
  });

  test("sees a scrubbed environment and a closed stdin", async () => {
    process.env.LM_LICENSE_FILE = "27000@elsewhere";
    const result = await ran(request("show-environment", { env: { TZ: "Europe/Berlin" } }));
    delete process.env.LM_LICENSE_FILE;
    const lines = text(result.stdout)
      .split("\n")
      .filter((line) => line !== "" && !/^(PWD|SHLVL|_|OLDPWD)=/.test(line));
    expect(lines).toEqual([
      "HOME=/nonexistent",
      "LANG=C",
      "LANGUAGE=C",
      "LC_ALL=C",
      "PATH=/usr/bin:/bin",
      "TZ=Europe/Berlin",
      "stdin: closed",
    ]);
  });

  test("is found by name in the given $PATH", async () => {
    const named = createCommandRunner({ path: `/no/such/directory:${tools}`, home: "/" });
    const result = await named.run({ argv: ["exit-241"], env: {}, timeoutMs: 30_000 });
    expect(result).toMatchObject({ started: true, exitCode: 241 });
  });
});

describe("a command that does not end", () => {
  for (const tool of ["hang", "ignore-sigterm", "fork-and-hang"]) {
    test(`${tool}: is killed at its timeout with its whole group, and what it said is kept`, async () => {
      const text_ = mark();
      const result = await ran(request(tool, { timeoutMs: 1000, mark: text_ }));
      expect(result).toMatchObject({ timedOut: true, exitCode: null, abandoned: false });
      expect(text(result.stdout)).toBe("begun\n");
      expect(result.durationMs).toBeGreaterThanOrEqual(999);
      expect(await processesLeft(text_)).toEqual([]);
    });
  }

  test("SIGTERM comes first: a tool that heeds it needs no SIGKILL", async () => {
    expect((await ran(request("hang", { timeoutMs: 500 }))).signal).toBe("SIGTERM");
    expect((await ran(request("ignore-sigterm", { timeoutMs: 500 }))).signal).toBe("SIGKILL");
  });

  test("a grandchild that keeps stdout open is not waited for, and dies", async () => {
    const text_ = mark();
    const result = await ran(request("fork-and-leave", { mark: text_ }));
    expect(result).toMatchObject({ exitCode: 0, timedOut: false, abandoned: false });
    expect(text(result.stdout)).toBe("parent done\n");
    expect(await processesLeft(text_)).toEqual([]);
  });

  test("a grandchild that left the group is not waited for, and lives on: it may be a service", async () => {
    const impatient = createCommandRunner({ path: "/usr/bin:/bin", home: "/", quietMs: 50, killWaitMs: 100 });
    const text_ = mark();
    const result = await impatient.run(request("leave-group", { args: ["60"], mark: text_ }));
    if (!result.started) throw new Error(result.failure.message);
    expect(text(result.stdout)).toBe("parent done\n");
    expect(result.exitCode).toBe(0);
    // It lives on, and its stdout is open still.
    const left = processesWith(text_);
    for (const pid of left) process.kill(pid, "SIGKILL");
    expect(left).toHaveLength(1);
  });

  test("a grandchild that left the group ends with a command that must leave nothing, and no other's does", async () => {
    const [text_, other] = [mark(), mark()];
    const running = ran(request("leave-group", { args: ["60", "wait"], endEscaped: true, mark: other }));
    while (processesWith(other).length < 2) await Bun.sleep(5);
    const result = await ran(request("leave-group", { args: ["60"], endEscaped: true, mark: text_ }));
    expect(result).toMatchObject({ exitCode: 0, timedOut: false, abandoned: false });
    expect(text(result.stdout)).toBe("parent done\n");
    expect(await processesLeft(text_)).toEqual([]);
    expect(processesWith(other)).toHaveLength(2);
    for (const pid of processesWith(other)) process.kill(pid, "SIGTERM");
    await running;
  });

  test.each(["timeout", "abort", "killNow"] as const)(
    "%s ends a grandchild that left the group",
    async (how) => {
      const own = createCommandRunner({ path: "/usr/bin:/bin", home: "/", graceMs: 100 });
      const text_ = mark();
      const controller = new AbortController();
      const running = own.run(
        request("leave-group", {
          ...{ args: ["60", "wait"], endEscaped: true, mark: text_, signal: controller.signal },
          timeoutMs: how === "timeout" ? 500 : 60_000,
        }),
      );
      while (processesWith(text_).length < 2) await Bun.sleep(5);
      if (how === "abort") controller.abort();
      if (how === "killNow") own.killNow();
      await running;
      expect(await processesLeft(text_)).toEqual([]);
    },
  );

  test("its AbortSignal kills it", async () => {
    const text_ = mark();
    const controller = new AbortController();
    const running = ran(request("fork-and-hang", { mark: text_, signal: controller.signal }));
    while (processesWith(text_).length < 2) await Bun.sleep(5);
    controller.abort();
    expect(await running).toMatchObject({ aborted: true, timedOut: false });
    expect(await processesLeft(text_)).toEqual([]);
  });

  test("stop kills everything that runs and starts nothing more", async () => {
    const stopping = createCommandRunner({ path: "/usr/bin:/bin", home: "/", graceMs: 100 });
    const text_ = mark();
    const all = ["hang", "ignore-sigterm"].map((tool) => stopping.run(request(tool, { mark: text_ })));
    while (processesWith(text_).length < 2) await Bun.sleep(5);
    await stopping.stop();
    for (const result of await Promise.all(all))
      expect(result).toMatchObject({ started: true, aborted: true });
    expect(await processesLeft(text_)).toEqual([]);
    expect(await stopping.run(request("hang"))).toMatchObject({
      started: false,
      failure: { reason: "aborted" },
    });
  });

  test("killNow leaves no time to anything that runs, also while stop waits for it", async () => {
    const patient = createCommandRunner({ path: "/usr/bin:/bin", home: "/", graceMs: 600_000 });
    const text_ = mark();
    const all = ["fork-and-hang", "ignore-sigterm"].map((tool) =>
      patient.run(request(tool, { mark: text_ })),
    );
    while (processesWith(text_).length < 3) await Bun.sleep(5);
    const stopped = patient.stop();
    patient.killNow();
    expect(await processesLeft(text_, 10_000)).toEqual([]);
    await Promise.all([stopped, ...all]);
  });
});

describe("a command that says too much", () => {
  test("is killed, and cut at exactly a cap below 1 MiB", async () => {
    const text_ = mark();
    const result = await ran(request("spam", { maxBytes: 1_000_001, mark: text_ }));
    expect(result).toMatchObject({ truncated: true, timedOut: false });
    expect(result.stdout.length).toBe(1_000_001);
    expect(await processesLeft(text_)).toEqual([]);
  });

  test("100 MB hit the cap of 16 MiB, and their first 1 MiB is kept", async () => {
    const result = await ran(request("spam"));
    expect(result).toMatchObject({ truncated: true, signal: "SIGKILL" });
    expect(result.stdout.length).toBe(1024 * 1024);
    expect(result.stdout.buffer.byteLength).toBe(1024 * 1024);
  });

  test("output of exactly 16 MiB is whole", async () => {
    const result = await ran(request("spam-zeros", { args: [String(16 * 1024 * 1024)] }));
    expect(result).toMatchObject({ truncated: false, exitCode: 0 });
    expect(result.stdout.length).toBe(16 * 1024 * 1024);
  });

  test("output of exactly the cap is whole", async () => {
    const result = await ran(request("exit-241", { maxBytes: 34 }));
    expect(result).toMatchObject({ truncated: false, exitCode: 241 });
    expect(result.stdout.length).toBe(34);
  });

  test("stderr is cut at 1 MiB without harm to the command", async () => {
    const result = await ran(request("spam-stderr"));
    expect(result).toMatchObject({ exitCode: 0, truncated: false });
    expect(result.stderr.length).toBe(1024 * 1024);
    expect(text(result.stdout)).toBe("done\n");
  });
});

describe("a command that cannot start says why", () => {
  let folder = "";
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "licmond-start-"));
    writeFileSync(join(folder, "not-executable"), "#!/bin/sh\n");
    writeFileSync(join(folder, "garbage"), "\x7fELF garbage");
    chmodSync(join(folder, "garbage"), 0o755);
    writeFileSync(join(folder, "no-shebang"), "echo hello\n");
    chmodSync(join(folder, "no-shebang"), 0o755);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  for (const [tool, reason] of [
    ["/no/such/tool", "not_found"],
    ["no-such-tool-anywhere", "not_found"],
    ["", "not_found"],
    [tools, "not_a_file"],
    ["<not-executable>", "not_executable"],
    ["<garbage>", "wrong_format"],
    ["<no-shebang>", "wrong_format"],
    [join(tools, "no-interpreter"), "missing_interpreter"],
  ] as const) {
    test(`${tool === tools ? "a directory" : tool.split("/").at(-1)}: ${reason}`, async () => {
      const path = tool.startsWith("<") ? join(folder, tool.slice(1, -1)) : tool;
      const result = await runner.run({ argv: [path, "-a"], env: {}, timeoutMs: 20_000 });
      expect(result).toMatchObject({ started: false, failure: { reason } });
    });
  }

  test("an already aborted signal starts nothing", async () => {
    const result = await runner.run(request("hang", { signal: AbortSignal.abort() }));
    expect(result).toMatchObject({ started: false, failure: { reason: "aborted" } });
  });
});
