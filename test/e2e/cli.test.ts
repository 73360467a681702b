import { describe, expect, test } from "bun:test";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { version } from "../../package.json";
import { run } from "./harness.ts";
import { lmstat } from "./lmstat.ts";
import { createSite } from "./site.ts";

const COMMANDS = "serve demo init check probe parse keys simulate backup restore version".split(" ");

describe("help and usage", () => {
  test("--help names every command, and each has its own", async () => {
    const { exitCode, stdout } = await run(["--help"]);
    expect(exitCode).toBe(0);
    for (const command of COMMANDS) expect(stdout).toContain(command);
    for (const command of [...COMMANDS, "keys create", "keys list", "keys revoke"]) {
      const own = await run([...command.split(" "), "--help"]);
      expect(own).toMatchObject({ exitCode: 0, stderr: "", stdout: expect.stringContaining(command) });
    }
  });

  test.each([
    [["frobnicate"]],
    [["serve", "--frobnicate"]],
    [["keys", "frobnicate"]],
    [["keys", "create", "--name", "x", "--role", "emperor"]],
    [["parse", "--manager", "frobnicate"]],
    [["simulate", "frobnicate"]],
  ])("%j is a usage error: exit 2, words on stderr", async (args) => {
    const { exitCode, stdout, stderr } = await run(args, { stdin: "" });
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).not.toBe("");
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  test("version and --version tell the version of package.json", async () => {
    for (const args of [["version"], ["--version"]]) {
      const { exitCode, stdout } = await run(args);
      expect(exitCode).toBe(0);
      expect(stdout).toContain(version);
    }
  });
});

describe("a folder with traps", () => {
  test("neither .env nor bunfig.toml of the working directory is read", async () => {
    await using site = await createSite();
    const folder = join(site.folder, "traps");
    await mkdir(folder);
    const sprung = join(folder, "sprung");
    await Bun.write(join(folder, ".env"), "LICMOND_HTTP_PORT=not-a-port\nLICMOND_LOG_LEVEL=not-a-level\n");
    await Bun.write(join(folder, "bunfig.toml"), 'preload = ["./preload.ts"]\n');
    await Bun.write(join(folder, "preload.ts"), `await Bun.write(${JSON.stringify(sprung)}, "yes");\n`);

    // `check` reads the environment over the file, so a .env that was read would be a problem.
    const { exitCode, stdout, stderr } = await site.run(["check"], { cwd: folder });
    expect(stdout + stderr).not.toContain("not-a-");
    expect(exitCode).toBe(0);
    expect(await Bun.file(sprung).exists()).toBe(false);

    // The same words in the real environment do reach it: the trap is a trap.
    const asked = await site.run(["check"], { cwd: folder, env: { LICMOND_HTTP_PORT: "not-a-port" } });
    expect(asked.exitCode).toBe(1);
  });
});

describe("a bad config", () => {
  const FIVE_MISTAKES = `
[collector]
interval = "1s"
timout = "30s"

[[servers]]
id = "UPPER"
manager = "flexnet"
address = "27000@lic1.example"

[[servers]]
id = "b"
manager = "flexlmm"
address = "27000@lic1.example"

[[servers]]
id = "c"
manager = "rlm"
address = 5053
`;
  const NAMED = ["interval", "timout", "UPPER", "flexlmm", "address"];

  test.each([["check"], ["serve"]])("%s tells all five mistakes at once", async (command) => {
    await using site = await createSite();
    await site.configure(FIVE_MISTAKES);
    const { exitCode, stdout, stderr } = await site.run([command]);
    expect(exitCode).toBe(1);
    const told = stdout + stderr;
    for (const mistake of NAMED) expect(told).toContain(mistake);
    expect(told).toContain(site.config);
    expect(told).not.toMatch(/\n\s+at /);
  });

  test("a config that is not there", async () => {
    const { exitCode, stderr } = await run(["serve", "--config", "/nonexistent/licmond.toml"]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain("/nonexistent/licmond.toml");
  });

  test("a storage directory that cannot be written ends serve with the fix", async () => {
    await using site = await createSite();
    await Bun.write(site.config, `[storage]\ndirectory = "/proc/licmond"\n`);
    const { exitCode, stderr, stdout } = await site.run(["serve"], {
      env: { LICMOND_HTTP_PORT: String(site.port) },
    });
    expect([exitCode, stderr + stdout]).toEqual([1, expect.stringContaining("/proc/licmond")]);
  });
});

describe("init", () => {
  test("writes a config that check accepts, and does not write over one", async () => {
    await using site = await createSite();
    const file = join(site.folder, "fresh.toml");
    const written = await run(["init", "--config", file]);
    expect({ exitCode: written.exitCode, stderr: written.stderr }).toMatchObject({ exitCode: 0 });
    const text = await Bun.file(file).text();
    expect(text).toContain("[[servers]]");

    const again = await run(["init", "--config", file]);
    expect(again.exitCode).toBe(1);
    expect(await Bun.file(file).text()).toBe(text);
  });
});

describe("parse", () => {
  const whole = lmstat({ solver: { total: 4, holders: [{ user: "ada", host: "ws01" }] } });

  test("reads stdin and prints the API's records: exit 0", async () => {
    const { exitCode, stdout, stderr } = await run(["parse", "--manager", "flexnet"], { stdin: whole });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    const answer: unknown = JSON.parse(stdout);
    expect(answer).toMatchObject({
      servers: [{ manager: "flexnet", status: "up" }],
      features: [{ daemon: "acmed", name: "solver", total: 4, used: 1, available: 3 }],
      users: [{ kind: "checkout", feature: "solver", user: "ada", host: "ws01", count: 1 }],
    });
  });

  test("a text cut inside of a feature: exit 3", async () => {
    const cut = whole.slice(0, whole.indexOf("    ada ws01") + 9);
    const { exitCode } = await run(["parse", "--manager", "flexnet"], { stdin: cut });
    expect(exitCode).toBe(3);
  });
});
