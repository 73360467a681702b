import { expect, test } from "bun:test";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import manifest from "../../package.json";
import { run } from "./harness.ts";
import { lmstat } from "./lmstat.ts";
import { createSite } from "./site.ts";

/** test/cli covers the commands from source. This file tests where the built binary could differ. */

const COMMANDS = "serve demo init check probe parse keys simulate backup restore version".split(" ");

test("--help names every command, and each has its own", async () => {
  const { exitCode, stdout } = await run(["--help"]);
  expect(exitCode).toBe(0);
  for (const command of COMMANDS) {
    expect(stdout).toContain(command);
    const own = await run([command, "--help"]);
    expect(own).toMatchObject({ exitCode: 0, stderr: "", stdout: expect.stringContaining(command) });
  }
});

test.each([
  [["frobnicate"]],
  [["serve", "--frobnicate"]],
  [["keys", "create", "--name", "x", "--role", "emperor"]],
  [["parse", "--manager", "frobnicate"]],
])("%j is a usage error: exit code 2, message on stderr", async (args) => {
  const { exitCode, stdout, stderr } = await run(args, { stdin: "" });
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
  expect(stderr).not.toBe("");
  expect(stderr).not.toMatch(/\n\s+at /);
});

test("version and --version print the version of package.json, --licenses all licenses", async () => {
  for (const args of [["version"], ["--version"]])
    expect(await run(args)).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(manifest.version) });
  const { exitCode, stdout, stderr } = await run(["version", "--licenses"]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  for (const [name, version] of Object.entries(manifest.dependencies))
    expect(stdout).toContain(`\n${name} ${version} (`);
  for (const text of [
    ...[`Bun ${Bun.version} and what it links`, "JavaScriptCore", "GNU LIBRARY GENERAL PUBLIC LICENSE"],
    ...["dompurify", "The licmond authors"],
  ])
    expect(stdout).toContain(text);
});

test("neither .env nor bunfig.toml of the working directory is read", async () => {
  await using site = await createSite();
  const folder = join(site.folder, "traps");
  await mkdir(folder);
  const sprung = join(folder, "sprung");
  await Bun.write(join(folder, ".env"), "LICMOND_HTTP_PORT=not-a-port\nLICMOND_LOG_LEVEL=not-a-level\n");
  await Bun.write(join(folder, "bunfig.toml"), 'preload = ["./preload.ts"]\n');
  await Bun.write(join(folder, "preload.ts"), `await Bun.write(${JSON.stringify(sprung)}, "yes");\n`);

  // `check` prefers the environment over the file, so reading the .env would be a problem.
  const { exitCode, stdout, stderr } = await site.run(["check"], { cwd: folder });
  expect(stdout + stderr).not.toContain("not-a-");
  expect(exitCode).toBe(0);
  expect(await Bun.file(sprung).exists()).toBe(false);

  // The same variable in the real environment is reported, so the test would notice it.
  const asked = await site.run(["check"], { cwd: folder, env: { LICMOND_HTTP_PORT: "not-a-port" } });
  expect(asked.exitCode).toBe(1);
});

test("serve and check report all mistakes of a config at once", async () => {
  await using site = await createSite(`[collector]
interval = "1s"
timout = "30s"
[[servers]]
id = "UPPER"
manager = "flexlmm"
address = 5053
`);
  for (const command of ["check", "serve"]) {
    const { exitCode, stdout, stderr } = await site.run([command]);
    expect(exitCode).toBe(1);
    for (const mistake of ["interval", "timout", "UPPER", "flexlmm", "address", site.config])
      expect(stdout + stderr).toContain(mistake);
    expect(stdout + stderr).not.toMatch(/\n\s+at /);
  }
});

test("serve without its config or with read-only storage exits with the reason", async () => {
  const nowhere = "/nonexistent/licmond.toml";
  const missing = await run(["serve", "--config", nowhere]);
  expect([missing.exitCode, missing.stderr]).toEqual([1, expect.stringContaining(nowhere)]);
  await using site = await createSite();
  const env = { LICMOND_STORAGE_DIRECTORY: "/proc/licmond" };
  const { exitCode, stderr } = await site.run(["serve"], { env });
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining("/proc/licmond")]);
});

test("parse reads stdin and prints the API's records; incomplete input is exit code 3", async () => {
  const whole = lmstat({ solver: { total: 4, holders: [{ user: "ada", host: "ws01" }] } });
  const { exitCode, stdout, stderr } = await run(["parse", "--manager", "flexnet"], { stdin: whole });
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(JSON.parse(stdout)).toMatchObject({
    servers: [{ manager: "flexnet", status: "up" }],
    features: [{ daemon: "acmed", name: "solver", total: 4, used: 1, available: 3 }],
    users: [{ kind: "checkout", feature: "solver", user: "ada", host: "ws01", count: 1 }],
  });
  const cut = whole.slice(0, whole.indexOf("    ada ws01") + 9);
  expect((await run(["parse", "--manager", "flexnet"], { stdin: cut })).exitCode).toBe(3);
});
