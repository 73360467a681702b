import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { chownSync } from "node:fs";
import { chmod, chown, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { checkExposed, checkStorage } from "../../../src/cli/check/files.ts";
import { startHints } from "../../../src/cli/serve.ts";
import { buildConfig } from "../../../src/config/config.ts";
import { loadConfig } from "../../../src/config/load.ts";
import type { StatFs } from "../../../src/system/host-metrics.ts";
import { createPlace, type Place, run } from "../rig.ts";

function toldOf(directory: string, statFs?: StatFs): string[] {
  const lines: string[] = [];
  const say = (mark: string) => (_what: string, message: string, fix?: string | null) =>
    void lines.push(`${mark}: ${message}${fix ? ` | ${fix}` : ""}`);
  const report = { fine: say("ok"), warning: say("warning"), problem: say("PROBLEM") };
  const config = buildConfig({ storage: { directory } }, {});
  checkStorage({ config, file: null, env: {}, now: 0, report }, statFs);
  return lines;
}

const disk =
  (blocks: number, free: number, bsize = 4096): StatFs =>
  () => ({ blocks, bfree: free, bavail: free, bsize });
const GB = 262_144;

describe("free disk space", () => {
  const rooms: [string, StatFs, string | null][] = [
    ["much space", disk(100 * GB, 50 * GB), null],
    ["more than nine tenths full", disk(100 * GB, 8 * GB), "warning: the file system of "],
    ["nearly full", disk(100 * GB, 4 * GB), "PROBLEM: the file system of "],
    ["a small disk, a quarter free", disk(GB, GB / 4), "warning: the file system of "],
    ["32 MB", disk(GB / 8, GB / 32), "PROBLEM: the file system of "],
    ["a file system without a size", disk(0, 0), null],
  ];
  test.each(rooms)("%s", async (_name, statFs, words) => {
    await using place = await createPlace();
    const [fine, ...others] = toldOf(place.folder, statFs);
    expect(fine).toBe(`ok: ${place.folder} is writable`);
    expect(others).toEqual(words === null ? [] : [expect.stringContaining(words)]);
  });
});

test("warns that the daemon will migrate an older database", async () => {
  await using place = await createPlace();
  await run(["keys", "create", "--name", "a", "--role", "viewer", "--config", place.config]);
  const sqlite = new Database(join(place.storage, "licmond.db"));
  sqlite.run("PRAGMA user_version = 3");
  sqlite.run("PRAGMA wal_checkpoint(TRUNCATE)");
  sqlite.close();
  await Bun.write(join(place.storage, "licmond.db-wal"), "a daemon's");
  // The write-ahead log may contain a newer header, so no version is reported.
  expect(toldOf(place.storage, disk(100 * GB, 50 * GB))).toEqual([expect.any(String)]);
  await rm(join(place.storage, "licmond.db-wal"), { force: true });
  const older = expect.stringMatching(/^warning: the database is from an older .*schema 3; .*backs it up/);
  expect(toldOf(place.storage, disk(100 * GB, 50 * GB))).toEqual([expect.any(String), older]);
});

test.skipIf(process.getuid?.() !== 0)("a file of another user in the directory", async () => {
  await using place = await createPlace();
  await run(["keys", "create", "--name", "a", "--role", "viewer", "--config", place.config]);
  chownSync(place.storage, 4711, 4711);
  const [line] = toldOf(place.storage);
  expect(line).toMatch(/^PROBLEM: .*licmond\.db.* belongs? to a different user .*\| chown -R --reference=/);
});

test("a file system without new directories", () => {
  expect(toldOf("/proc/licmond")).toEqual([
    "PROBLEM: /proc/licmond does not exist and cannot be created: /proc does not support new directories | set storage.directory to another",
  ]);
});

const [USER, STAFF] = [61990, 61991];
type Named = Awaited<ReturnType<typeof named>>;

/** Writes a config with a TLS key and a webhook secret that only root and the service's group can read. */
async function named(place: Place) {
  const [key, hook] = [join(place.folder, "tls.key"), join(place.folder, "hook")];
  const webhook = 'type = "webhook"\nurl = "https://a.example"';
  await place.write(`[[notifications]]\n${webhook}\nsecret_file = "${hook}"`);
  for (const file of [key, hook, place.config]) {
    if (file !== place.config) await Bun.write(file, "secret\n");
    await chmod(file, 0o640);
    await chown(file, 0, USER);
  }
  // `mkdtemp` makes the directory private. Open it, because no file in a private directory is exposed.
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
  const warning = (what: string, message: string) => void warnings.push(`${what}: ${message}`);
  const report = { warning, fine() {}, problem() {} };
  checkExposed({ config, file: files.place.config, env, now: 0, report }, [USER]);
  return warnings;
}

describe.skipIf(process.getuid?.() !== 0)("files that only the daemon should access", () => {
  const KEY = (file: string, mode: string, who: string, fix: string) =>
    `http.tls_key: ${file} (mode ${mode}) can be read by ${who} (fix: ${fix})`;
  test.each<[string, (files: Named) => unknown, (files: Named) => string[]]>([
    ["root:licmond 0640", () => {}, () => []],
    [
      "a TLS key and a secret that others can read",
      ({ key, hook }) => Promise.all([chmod(key, 0o644), chmod(hook, 0o666)]),
      ({ key, hook }) => [
        KEY(key, "0644", "every user", `chmod 0640 ${key}`),
        `notifications[0].secret_file: ${hook} (mode 0666) can be read and written by every user (fix: chmod 0660 ${hook})`,
      ],
    ],
    [
      "a key that the service reads only because everyone can",
      ({ key }) => Promise.all([chown(key, 0, 0), chmod(key, 0o644)]),
      ({ key }) => [KEY(key, "0644", "every user", `chgrp ${USER} ${key} && chmod 0640 ${key}`)],
    ],
    [
      "another group",
      ({ key }) => chown(key, USER, STAFF),
      ({ key }) => [KEY(key, "0640", `the group ${STAFF}`, `chgrp ${USER} ${key} && chmod 0640 ${key}`)],
    ],
    ["a config that others can read is fine", ({ place }) => chmod(place.config, 0o644), () => []],
    [
      "a config that others can write",
      ({ place }) => chmod(place.config, 0o646),
      ({ place: { config } }) => [
        `config: ${config} (mode 0646) can be written by every user (fix: chmod 0644 ${config})`,
      ],
    ],
  ])("%s", async (_name, change, expected) => {
    await using place = await createPlace();
    const files = await named(place);
    await change(files);
    expect(told(files)).toEqual(expected(files));
  });

  test("a file in a closed directory, and a credential", async () => {
    await using place = await createPlace();
    const files = await named(place);
    const closed = join(place.folder, "closed");
    await mkdir(closed, { mode: 0o750 });
    await chown(closed, 0, USER);
    const key = join(closed, "tls.key");
    await Bun.write(key, "secret\n");
    await chmod(key, 0o644);
    for (const other of [key, "credential:tls-key"]) expect(told({ ...files, key: other })).toEqual([]);
  });

  test.each([
    ["", true],
    ['[http]\nhost = "127.0.0.1"\n', false],
    ['[http]\nhost = "0.0.0.0"\n', false],
  ])("without http.host %j `serve` and `check` say that only this host can connect", async (toml, isTold) => {
    await using place = await createPlace();
    await Bun.write(place.config, `${toml}[storage]\ndirectory = "${place.storage}"\n`);
    const read = await loadConfig(place.config, {});
    if (!read.ok) throw new Error("no config");
    const logged: string[] = [];
    const none = () => {};
    const warn = (message: string) => void logged.push(message);
    const log = () => ({ debug: none, info: none, warn, error: none });
    startHints(log, { host: read.config.http.host, port: 1, activeKeys: 1 }, read.config, place.config, {});
    const { out } = await run(["check", "--config", place.config, "--no-poll"]);
    for (const text of [logged.join("\n"), out])
      expect(text.toLowerCase().includes("only this host can connect: http.host is not set")).toBe(isTold);
    expect(out.includes("keys are sent unencrypted")).toBe(toml.includes("0.0.0.0"));
  });

  test("`serve` logs them", async () => {
    await using place = await createPlace();
    const files = await named(place);
    const { config, env } = configOf(files);
    const logged: unknown[] = [];
    const none = () => {};
    const warn = (message: string, fields: object = {}) => void logged.push({ message, ...fields });
    const log = () => ({ debug: none, info: none, warn, error: none });
    await chmod(files.key, 0o604);
    startHints(log, { host: "127.0.0.1", port: 1, activeKeys: 1 }, config, place.config, env);
    const message = "Other users can access a file that should be private to the daemon";
    const exposure = { file: files.key, mode: "0604", may: "read", who: "every user" };
    const fix = `chmod 0600 ${files.key}`;
    expect(logged).toContainEqual({ message, setting: "http.tls_key", ...exposure, fix });
  });
});
