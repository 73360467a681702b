import { expect, test } from "bun:test";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import manifest from "../../package.json";
import { BINARY, run } from "./harness.ts";
import { createSite } from "./site.ts";
import { createWatchedSite } from "./watched-site.ts";

/** test/cli covers the commands from source. This file tests where the built binary could differ. */

test("version and --version print the version of package.json, --licenses all licenses", async () => {
  for (const args of [["version"], ["--version"]])
    expect(await run(args)).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(manifest.version) });
  const { exitCode, stdout, stderr } = await run(["version", "--licenses"]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  for (const [name, version] of Object.entries(manifest.dependencies))
    expect(stdout).toContain(`\n${name} ${version} (`);
  for (const text of [
    ...[`Bun ${Bun.version} and its libraries`, "JavaScriptCore", "GNU LIBRARY GENERAL PUBLIC LICENSE"],
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

  // `check` prefers environment variables to the config, so it would report the wrong value if it read the
  // .env file.
  const { exitCode, stdout, stderr } = await site.run(["check"], { cwd: folder });
  expect(stdout + stderr).not.toContain("not-a-");
  expect(exitCode).toBe(0);
  expect(await Bun.file(sprung).exists()).toBe(false);

  // As a control: `check` reports the same variable in the real environment.
  const asked = await site.run(["check"], { cwd: folder, env: { LICMOND_HTTP_PORT: "not-a-port" } });
  expect(asked.exitCode).toBe(1);
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

test("a failed write to stdout is an error, and never a truncated export", async () => {
  await using site = await createWatchedSite();
  await site.write("");
  {
    await using at = await site.watch();
    await at.poll({ features: { solver: { total: 3, used: 1 } } });
  }
  for (const args of [["export", "sessions"], ["export", "logs", "--format", "json"], ["openapi"]]) {
    const child = Bun.spawn([BINARY, ...args, "--config", site.config], {
      stdin: "ignore",
      stdout: Bun.file("/dev/full"),
      stderr: "pipe",
    });
    const stderr = await child.stderr.text();
    expect([args, await child.exited]).toEqual([args, 1]);
    expect(stderr).toMatch(/^(Exporting \w+ …\n)?licmond: cannot write to stdout: .*ENOSPC.*\n$/);
  }
});
