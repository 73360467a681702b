import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { configFile, DEFAULT_CONFIG_FILE, loadConfig } from "../../src/config/load.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "licmond-config-"));
});
afterAll(() => rm(folder, { recursive: true }));

test.each<[string | undefined, Record<string, string>, string, boolean]>([
  ["/a.toml", { LICMOND_CONFIG: "/b.toml" }, "/a.toml", true],
  [undefined, { LICMOND_CONFIG: "/b.toml" }, "/b.toml", true],
  [undefined, { LICMOND_CONFIG: "" }, DEFAULT_CONFIG_FILE, false],
  [undefined, {}, DEFAULT_CONFIG_FILE, false],
])("--config %p with %j is %s", (named, environment, file, isNamed) => {
  expect(configFile(named, environment)).toEqual({ file, named: isNamed });
});

test("a file that was named must be there", () => {
  const file = join(folder, "nowhere.toml");
  const loaded = loadConfig(file, {});
  expect(loaded).toMatchObject({
    ok: false,
    file,
    problems: [{ file, message: expect.stringContaining("no such file") }],
  });
});

test("a directory, and bytes that are no text, are problems", async () => {
  expect(loadConfig(folder, {})).toMatchObject({
    ok: false,
    problems: [{ message: "is a directory, not a file" }],
  });
  const file = join(folder, "latin1.toml");
  await Bun.write(file, new Uint8Array([0x61, 0xe4, 0x0a]));
  expect(loadConfig(file, {})).toMatchObject({
    ok: false,
    problems: [{ message: "is not UTF-8, as TOML must be" }],
  });
});

test("a byte order mark is no mistake", async () => {
  const file = join(folder, "bom.toml");
  await Bun.write(file, "\uFEFF[http]\nport = 9999\n");
  expect(loadConfig(file, {})).toMatchObject({ ok: true, file, config: { http: { port: 9999 } } });
});
