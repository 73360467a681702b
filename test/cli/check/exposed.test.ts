import { describe, expect, test } from "bun:test";
import { chmod, chown, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { checkExposed } from "../../../src/cli/check/host.ts";
import { startHints } from "../../../src/cli/serve.ts";
import { loadConfig } from "../../../src/config/load.ts";
import { createPlace, type Place } from "../rig.ts";

const [USER, STAFF] = [61990, 61991];
interface Named {
  readonly place: Place;
  readonly key: string;
  readonly hook: string;
}

/** A config that names a TLS key and the secret of a webhook, each of root and the service's group alone. */
async function named(place: Place): Promise<Named> {
  const [key, hook] = [join(place.folder, "tls.key"), join(place.folder, "hook")];
  await place.write(
    `[[notifications]]\ntype = "webhook"\nurl = "https://a.example"\nsecret_file = "${hook}"`,
  );
  for (const file of [key, hook, place.config]) {
    if (file !== place.config) await Bun.write(file, "secret\n");
    await chmod(file, 0o640);
    await chown(file, 0, USER);
  }
  // `mkdtemp` makes a folder that nobody else can enter: nothing in it would be exposed.
  await chmod(place.folder, 0o755);
  return { place, key, hook };
}

function configOf({ place, key }: Named) {
  const env = { LICMOND_HTTP_TLS_CERT: join(place.folder, "tls.crt"), LICMOND_HTTP_TLS_KEY: key };
  const loaded = loadConfig(place.config, env);
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  return { config: loaded.config, env };
}

function told(files: Named): string[] {
  const { config, env } = configOf(files);
  const warnings: string[] = [];
  const report = { warning: (what: string, message: string) => void warnings.push(`${what}: ${message}`) };
  checkExposed(config, files.place.config, env, report, [USER]);
  return warnings;
}

/** Files are given to other owners. */
describe.skipIf(process.getuid?.() !== 0)("files that should be the daemon's alone", () => {
  test("root:licmond 0640 is as it should be", async () => {
    await using place = await createPlace();
    expect(told(await named(place))).toEqual([]);
  });

  test("a TLS key and a secret that others may read, with the chmod that mends it", async () => {
    await using place = await createPlace();
    const files = await named(place);
    await chmod(files.key, 0o644);
    await chmod(files.hook, 0o666);
    expect(told(files)).toEqual([
      `http.tls_key: ${files.key} (mode 0644) can be read by every user (fix: chmod 0640 ${files.key})`,
      `notifications[0].secret_file: ${files.hook} (mode 0666) can be read and written by every user (fix: chmod 0660 ${files.hook})`,
    ]);
  });

  test("what the service reads only as one of all is given to its group", async () => {
    await using place = await createPlace();
    const files = await named(place);
    await chown(files.key, 0, 0);
    await chmod(files.key, 0o644);
    expect(told(files)).toEqual([
      `http.tls_key: ${files.key} (mode 0644) can be read by every user (fix: chgrp ${USER} ${files.key} && chmod 0640 ${files.key})`,
    ]);
  });

  test("another group", async () => {
    await using place = await createPlace();
    const files = await named(place);
    await chown(files.key, USER, STAFF);
    expect(told(files)).toEqual([
      `http.tls_key: ${files.key} (mode 0640) can be read by the group ${STAFF} (fix: chgrp ${USER} ${files.key} && chmod 0640 ${files.key})`,
    ]);
  });

  test("a config that others may write; that they may read it is no matter", async () => {
    await using place = await createPlace();
    const files = await named(place);
    await chmod(place.config, 0o644);
    expect(told(files)).toEqual([]);
    await chmod(place.config, 0o646);
    expect(told(files)).toEqual([
      `config: ${place.config} (mode 0646) can be written by every user (fix: chmod 0644 ${place.config})`,
    ]);
  });

  test("a directory that keeps others out, and a credential", async () => {
    await using place = await createPlace();
    const files = await named(place);
    const closed = join(place.folder, "closed");
    await mkdir(closed, { mode: 0o750 });
    await chown(closed, 0, USER);
    const key = join(closed, "tls.key");
    await Bun.write(key, "secret\n");
    await chmod(key, 0o644);
    expect(told({ ...files, key })).toEqual([]);
    expect(told({ ...files, key: "credential:tls-key" })).toEqual([]);
  });

  test("`serve` says so in its log", async () => {
    await using place = await createPlace();
    const files = await named(place);
    const { config, env } = configOf(files);
    const logged: unknown[] = [];
    const none = () => {};
    const warn = (message: string, fields: object = {}) => void logged.push({ message, ...fields });
    const log = () => ({ debug: none, info: none, warn, error: none });
    const start = { config, file: place.config, host: "127.0.0.1", port: 1, activeKeys: 1, environment: env };
    await chmod(files.key, 0o604);
    startHints(log, start);
    expect(logged).toContainEqual({
      message: "Others can get at a file that should be the daemon's alone",
      ...{ setting: "http.tls_key", file: files.key, mode: "0604", may: "read", who: "every user" },
      fix: `chmod 0600 ${files.key}`,
    });
  });
});
