import { describe, expect, test } from "bun:test";
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
/** Makes an environment variable that marks all processes of a command. */
const newMark = () => `${process.pid}-${++marks}-end`;

const request = (tool: string, more: Partial<CommandRequest> = {}, mark = "", ...args: string[]) => ({
  argv: [join(tools, tool), ...args],
  env: mark === "" ? {} : { LICMOND_TEST_MARK: mark },
  timeoutMs: 30_000,
  ...more,
});

async function ran(asked: CommandRequest, by = runner): Promise<CommandRun> {
  const result = await by.run(asked);
  if (!result.started) throw new Error(result.failure.message);
  return result;
}

const create = (more = {}) => createCommandRunner({ path: "/usr/bin:/bin", home: "/", ...more });
const started = async (mark: string, processes: number) => {
  while (processesWith(mark).length < processes) await Bun.sleep(5);
};
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

describe("a command that ends by itself", () => {
  const WELL = { exitCode: 0, signal: null, timedOut: false, truncated: false, aborted: false };
  const JUNK = "a\0b\xff\xfe\xc3(\x1b[31m\n";

  const STATUS = "License server status: 27000@lic1\n";

  test.each<[string, string, Partial<CommandRun>, string, string?]>([
    ["has an exit code", "exit-241", { exitCode: 241 }, STATUS, "nothing to"],
    ["died of a signal", "die-by-signal", { exitCode: null, signal: "SIGSEGV" }, "begun\n"],
    ["has its bytes unchanged", "binary", {}, JUNK],
    ["is slower than the quiet time", "slow", {}, "line 1\nline 2\nline 3\nline 4\n"],
  ])("%s", async (_, tool, ending, said, complained = "") => {
    const result = await ran(request(tool, {}, "", ...(tool === "slow" ? ["4"] : [])));
    expect(result).toMatchObject({ ...WELL, ...ending });
    expect(Buffer.from(result.stdout).toString("latin1")).toBe(said);
    expect(text(result.stderr)).toStartWith(complained);
  });

  test("sees a scrubbed environment and a closed stdin", async () => {
    process.env.LM_LICENSE_FILE = "27000@elsewhere";
    const result = await ran(request("show-environment", { env: { TZ: "Europe/Berlin" } }));
    delete process.env.LM_LICENSE_FILE;
    const lines = text(result.stdout)
      .split("\n")
      .filter((line) => line !== "" && !/^(PWD|SHLVL|_|OLDPWD)=/.test(line));
    const own = ["HOME=/nonexistent", "LANG=C", "LANGUAGE=C", "LC_ALL=C", "PATH=/usr/bin:/bin"];
    expect(lines).toEqual([...own, "TZ=Europe/Berlin", "stdin: closed"]);
  });

  test("is found by name in the given $PATH", async () => {
    const named = create({ path: `/no/such/directory:${tools}` });
    const result = await named.run({ argv: ["exit-241"], env: {}, timeoutMs: 30_000 });
    expect(result).toMatchObject({ started: true, exitCode: 241 });
  });
});

describe("a command that does not end", () => {
  test.each(["hang", "ignore-sigterm", "fork-and-hang"])(
    "%s: its whole group is killed at its timeout, and its output is kept",
    async (tool) => {
      const mark = newMark();
      const result = await ran(request(tool, { timeoutMs: 1000 }, mark));
      expect(result).toMatchObject({ timedOut: true, exitCode: null, abandoned: false });
      expect(text(result.stdout)).toBe("begun\n");
      expect(result.durationMs).toBeGreaterThanOrEqual(999);
      expect(await processesLeft(mark)).toEqual([]);
      // SIGTERM comes first; a tool that obeys it needs no SIGKILL.
      if (tool !== "fork-and-hang") expect(result.signal).toBe(tool === "hang" ? "SIGTERM" : "SIGKILL");
    },
  );

  test("a grandchild that holds stdout open is killed", async () => {
    const mark = newMark();
    const result = await ran(request("fork-and-leave", {}, mark));
    expect(result).toMatchObject({ exitCode: 0, timedOut: false, abandoned: false });
    expect(text(result.stdout)).toBe("parent done\n");
    expect(await processesLeft(mark)).toEqual([]);
  });

  test("a grandchild that left the group may be a service, and survives", async () => {
    const mark = newMark();
    const impatient = create({ quietMs: 50, killWaitMs: 100 });
    const result = await ran(request("leave-group", {}, mark, "60"), impatient);
    expect(text(result.stdout)).toBe("parent done\n");
    expect(result.exitCode).toBe(0);
    // The grandchild is still alive, with its stdout open.
    const left = processesWith(mark);
    for (const pid of left) process.kill(pid, "SIGKILL");
    expect(left).toHaveLength(1);
  });

  test("endEscaped kills a grandchild that left the group, and none of other commands", async () => {
    const [mark, other] = [newMark(), newMark()];
    const running = ran(request("leave-group", { endEscaped: true }, other, "60", "wait"));
    await started(other, 2);
    const result = await ran(request("leave-group", { endEscaped: true }, mark, "60"));
    expect(result).toMatchObject({ exitCode: 0, timedOut: false, abandoned: false });
    expect(text(result.stdout)).toBe("parent done\n");
    expect(await processesLeft(mark)).toEqual([]);
    expect(processesWith(other)).toHaveLength(2);
    for (const pid of processesWith(other)) process.kill(pid, "SIGTERM");
    await running;
  });

  test.each(["timeout", "abort", "killNow"])("%s ends a grandchild that left the group", async (how) => {
    const own = create({ graceMs: 100 });
    const mark = newMark();
    const calling = new AbortController();
    const timeoutMs = how === "timeout" ? 500 : 60_000;
    const running = ran(
      request("leave-group", { endEscaped: true, signal: calling.signal, timeoutMs }, mark, "60", "wait"),
      own,
    );
    await started(mark, 2);
    if (how === "abort") calling.abort();
    if (how === "killNow") own.killNow();
    expect(await running).toMatchObject({ timedOut: how === "timeout", aborted: how === "abort" });
    expect(await processesLeft(mark)).toEqual([]);
  });

  test("stop kills all running commands and starts none", async () => {
    const stopping = create({ graceMs: 100 });
    const mark = newMark();
    const all = ["hang", "ignore-sigterm"].map((tool) => ran(request(tool, {}, mark), stopping));
    await started(mark, 2);
    await stopping.stop();
    for (const result of await Promise.all(all)) expect(result.aborted).toBe(true);
    expect(await processesLeft(mark)).toEqual([]);
    expect(await stopping.run(request("hang"))).toMatchObject({ failure: { reason: "aborted" } });
  });

  test("killNow kills at once, also while stop waits", async () => {
    const patient = create({ graceMs: 600_000 });
    const mark = newMark();
    const all = ["fork-and-hang", "ignore-sigterm"].map((tool) => patient.run(request(tool, {}, mark)));
    await started(mark, 3);
    const stopped = patient.stop();
    patient.killNow();
    expect(await processesLeft(mark, 60_000)).toEqual([]);
    await Promise.all([stopped, ...all]);
  });
});

describe("too much output", () => {
  test.each([
    ["a cap below 1 MiB", { maxBytes: 1_000_001 }, 1_000_001],
    ["the cap of 16 MiB, and the first 1 MiB is kept", {}, 1024 * 1024],
  ])("is cut at %s", async (_, more, kept) => {
    const mark = newMark();
    const result = await ran(request("spam", more, mark));
    expect(result).toMatchObject({ truncated: true, timedOut: false, signal: "SIGKILL" });
    expect([result.stdout.length, result.stdout.buffer.byteLength]).toEqual([kept, kept]);
    expect(await processesLeft(mark)).toEqual([]);
  });

  test("output of exactly the limit is complete", async () => {
    const size = 16 * 1024 * 1024;
    const zeros = await ran(request("spam-zeros", {}, "", String(size)));
    expect(zeros).toMatchObject({ truncated: false, exitCode: 0 });
    expect(zeros.stdout.length).toBe(size);
    const few = await ran(request("exit-241", { maxBytes: 34 }));
    expect(few).toMatchObject({ truncated: false, exitCode: 241 });
    expect(few.stdout.length).toBe(34);
  });

  test("stderr is cut at 1 MiB, and the command continues", async () => {
    const result = await ran(request("spam-stderr"));
    expect(result).toMatchObject({ exitCode: 0, truncated: false });
    expect(result.stderr.length).toBe(1024 * 1024);
    expect(text(result.stdout)).toBe("done\n");
  });
});

test("an already aborted signal starts nothing", async () => {
  const result = await runner.run(request("hang", { signal: AbortSignal.abort() }));
  expect(result).toMatchObject({ started: false, failure: { reason: "aborted" } });
});
