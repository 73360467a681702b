import { expect, test } from "bun:test";
import { chmod, chown, mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { INITIAL_CONFIG } from "../../src/commands/initial-config.ts";
import { interpretConfig } from "../../src/config/load.ts";
import { createPlace, run } from "./rig.ts";

test("writes the file, and never over one", async () => {
  await using place = await createPlace();
  const file = join(place.folder, "new/licmond.toml");
  const { exitCode, out } = await run(["init", "--config", file]);
  expect(exitCode).toBe(0);
  expect(out).toContain(`licmond check --config ${file}`);
  expect(await Bun.file(file).text()).toBe(INITIAL_CONFIG);

  const again = await run(["init", "--output", file]);
  expect(again).toMatchObject({ exitCode: 1, out: "", err: expect.stringContaining("is there already") });
  expect((await run(["init", "--output", "-"])).out).toBe(INITIAL_CONFIG);
  expect(await run(["init", "--output", "/proc/x/licmond.toml"])).toMatchObject({ exitCode: 1 });
});

test("what it writes is not for everybody", async () => {
  await using place = await createPlace();
  const umask = process.umask(0);
  try {
    const file = join(place.folder, "new.toml");
    expect((await run(["init", "--output", file])).exitCode).toBe(0);
    expect((await stat(file)).mode & 0o777).toBe(0o640);
  } finally {
    process.umask(umask);
  }
});

test.skipIf(process.getuid?.() !== 0)("what root writes is its directory's group's to read", async () => {
  await using place = await createPlace();
  const directory = join(place.folder, "etc");
  await mkdir(directory);
  await chown(directory, 0, 4711);
  await chmod(directory, 0o750);
  await run(["init", "--output", join(directory, "licmond.toml")]);
  const { uid, gid } = await stat(join(directory, "licmond.toml"));
  expect([uid, gid]).toEqual([0, 4711]);
});

test("as it stands it is the defaults", () => {
  const initial = interpretConfig(INITIAL_CONFIG, null, {});
  const defaults = interpretConfig("", null, {});
  expect(initial).toEqual(defaults);
});

test("each default that it names is the default, and each example is taken", () => {
  const uncommented = INITIAL_CONFIG.replaceAll(/^# (?=\[|[a-z_]+ = )/gm, "");
  const result = interpretConfig(uncommented, null, {});
  expect(result.ok ? [] : result.problems).toEqual([]);
  const defaults = interpretConfig("", null, {});
  if (!result.ok || !defaults.ok) throw new Error("refused");
  const { config } = result;
  expect(defaults.config.http).toEqual({ ...config.http, tls: null });
  expect(config.storage).toEqual(defaults.config.storage);
  expect(config.log).toEqual(defaults.config.log);
  expect(config.collector).toEqual(defaults.config.collector);
  expect(config.retention).toEqual(defaults.config.retention);
  expect(defaults.config.alerts).toEqual({ ...config.alerts, overrides: [] });
  expect(defaults.config.limits).toEqual({ ...config.limits, dailyQuota: null, monthlyQuota: null });
  expect(config.servers.map(({ id }) => id)).toEqual(["eda", "render"]);
});
