import { expect, test } from "bun:test";
import { chown, stat } from "node:fs/promises";
import { join } from "node:path";
import type { TSchema } from "@sinclair/typebox";
import { parse } from "smol-toml";
import { INITIAL_CONFIG } from "../../src/cli/init.ts";
import { interpretConfig } from "../../src/config/load.ts";
import { ConfigFile } from "../../src/config/schema.ts";
import { createPlace, run } from "./rig.ts";

test("writes a new file, and never overwrites one", async () => {
  await using place = await createPlace();
  const file = join(place.folder, "new/licmond.toml");
  const { exitCode, out } = await run(["init", "--config", file]);
  expect(exitCode).toBe(0);
  expect(out).toContain(`licmond check --config ${file}`);
  expect(await Bun.file(file).text()).toBe(INITIAL_CONFIG);

  const again = await run(["init", "--output", file]);
  expect(again).toMatchObject({ exitCode: 1, out: "", err: expect.stringContaining("already exists") });
  expect((await run(["init", "--output", "-"])).out).toBe(INITIAL_CONFIG);
  expect(await run(["init", "--output", "/proc/x/licmond.toml"])).toMatchObject({ exitCode: 1 });
});

test("the file has mode 0640; root's file gets the group of the directory", async () => {
  await using place = await createPlace();
  const umask = process.umask(0);
  try {
    const file = join(place.folder, "new.toml");
    if (process.getuid?.() === 0) await chown(place.folder, 0, 4711);
    expect((await run(["init", "--output", file])).exitCode).toBe(0);
    const { uid, gid, mode } = await stat(file);
    expect(mode & 0o777).toBe(0o640);
    if (process.getuid?.() === 0) expect([uid, gid]).toEqual([0, 4711]);
  } finally {
    process.umask(umask);
  }
});

const UNCOMMENTED = INITIAL_CONFIG.replaceAll(/^# (?=\[|[a-z_]+ = )/gm, "")
  // `people_key_file` requires pseudonyms, which are not the default.
  .replace(/^people_key_file/m, 'people = "pseudonyms"\n$&')
  .replace(/^people = "names".*\n/m, "");

test("equals the defaults, except for the address", () => {
  const initial = interpretConfig(INITIAL_CONFIG, null, {});
  const defaults = interpretConfig('[http]\nhost = "0.0.0.0"', null, {});
  expect(initial).toEqual(defaults);
});

/** Returns the paths of all settings: `http.port`, `servers.id` and so on. */
function settings({ properties, items, type }: TSchema, at: readonly string[] = []): string[] {
  if (type === "array" && items?.properties !== undefined) return settings(items, at);
  if (properties === undefined) return [at.join(".")];
  return Object.entries<TSchema>(properties).flatMap(([name, schema]) => settings(schema, [...at, name]));
}

function written(value: unknown, at: readonly string[] = []): string[] {
  if (Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === "object"))
    return value.flatMap((one) => written(one, at));
  if (typeof value !== "object" || value === null || Array.isArray(value) || value instanceof Date)
    return [at.join(".")];
  return Object.entries(value).flatMap(([name, one]) => written(one, [...at, name]));
}

test("contains every setting", () => {
  const named = new Set(written(parse(UNCOMMENTED)));
  // Overrides and server defaults repeat keys of other tables, which are explained there. Labels can have
  // any name.
  const above = (path: string) =>
    path.replace("alerts.overrides.", "alerts.").replace("server_defaults.", "servers.");
  const isNamed = (path: string) =>
    named.has(above(path)) || [...named].some((one) => one === path || one.startsWith(`${above(path)}.`));
  // docs/managers.md explains [[managers]] and has its own test.
  const own = settings(ConfigFile).filter((path) => !path.startsWith("managers."));
  expect(own.filter((path) => !isNamed(path))).toEqual([]);
});

test("every default in it is the default, and every example is valid", () => {
  const result = interpretConfig(UNCOMMENTED, null, {});
  expect(result.ok ? [] : result.problems).toEqual([]);
  const defaults = interpretConfig("", null, {});
  if (!result.ok || !defaults.ok) throw new Error("refused");
  const { config } = result;
  const loopback = { host: "127.0.0.1", isHostSet: false };
  const unset = { tls: null, publicUrl: null, trustedProxies: [] };
  expect(defaults.config.http).toEqual({ ...config.http, ...loopback, ...unset });
  expect(config.storage).toEqual(defaults.config.storage);
  expect(config.log).toEqual(defaults.config.log);
  expect(config.collector).toEqual(defaults.config.collector);
  expect(config.retention).toEqual(defaults.config.retention);
  expect(defaults.config.alerts).toEqual({ ...config.alerts, overrides: [] });
  expect(defaults.config.limits).toEqual({ ...config.limits, dailyQuota: null, monthlyQuota: null });
  expect(config.servers.map(({ id }) => id)).toEqual(["eda", "cae", "render"]);
});
