import { afterEach, expect, test } from "bun:test";
import { join } from "node:path";
import { configFile, DEFAULT_CONFIG_FILE, loadConfig } from "../../src/config/load.ts";
import { cleanUp, temporaryDirectory } from "../store/place.ts";

afterEach(cleanUp);

/** Loads a file of these bytes. */
async function load(content: string | Uint8Array) {
  const file = join(temporaryDirectory(), "licmond.toml");
  await Bun.write(file, content);
  return loadConfig(file, {});
}

test.each<[string | undefined, Record<string, string>, string, boolean]>([
  ["/a.toml", { LICMOND_CONFIG: "/b.toml" }, "/a.toml", true],
  [undefined, { LICMOND_CONFIG: "/b.toml" }, "/b.toml", true],
  [undefined, { LICMOND_CONFIG: "" }, DEFAULT_CONFIG_FILE, false],
  [undefined, {}, DEFAULT_CONFIG_FILE, false],
])("--config %p with %j is %s", (named, environment, file, isNamed) => {
  expect(configFile(named, environment)).toEqual({ file, named: isNamed });
});

test("what is not there, a directory, and bytes that are no text are problems", async () => {
  const file = join(temporaryDirectory(), "nowhere.toml");
  const nowhere = { file, message: expect.stringContaining("no such file") };
  expect(loadConfig(file, {})).toMatchObject({ ok: false, file, problems: [nowhere] });
  const directory = [{ message: "is a directory, not a file" }];
  expect(loadConfig(temporaryDirectory(), {})).toMatchObject({ ok: false, problems: directory });
  const latin1 = [{ message: "is not UTF-8, as TOML must be" }];
  expect(await load(new Uint8Array([0x61, 0xe4, 0x0a]))).toMatchObject({ ok: false, problems: latin1 });
});

test("a byte order mark is no mistake", async () => {
  expect(await load("\uFEFF[http]\nport = 9999\n")).toMatchObject({
    ok: true,
    config: { http: { port: 9999 } },
  });
});
