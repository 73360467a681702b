import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { createPlace, run } from "../rig.ts";

test("all well", async () => {
  await using place = await createPlace();
  await mkdir(place.storage);
  await place.write('[[servers]]\nid = "a"\nmanager = "rlm"\naddress = "5053@127.0.0.1"\ntool = "/bin/sh"');
  const { exitCode, out } = await run(["check", "--no-poll", "--config", place.config]);
  expect(out).toContain(`ok       config: ${place.config}\n`);
  expect(out).toContain(`ok       storage: ${place.storage} can be written\n`);
  expect(out).toContain("ok       a: tool: /bin/sh\n");
  expect(out).toEndWith("All is well.\n");
  expect(exitCode).toBe(0);
});

test("every trouble at once, each with its fix", async () => {
  await using place = await createPlace();
  const taken = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  await place.write(`
[[servers]]
id = "a"
manager = "flexnet"
address = "27000@no-such-host.invalid"
tool = "${join(place.folder, "lmutil")}"
[[servers]]
id = "b"
manager = "flexnet"
address = "${join(place.folder, "license.dat")}"
tool = "/bin/sh"
log_file = "${join(place.folder, "debug.log")}"
[[notifications]]
type = "webhook"
url = "https://hooks.example"
secret_file = "${join(place.folder, "hook")}"
`);
  const env = {
    LICMOND_HTTP_PORT: String(taken.port),
    LICMOND_HTTP_TLS_CERT: join(place.folder, "none.crt"),
    LICMOND_HTTP_TLS_KEY: join(place.folder, "none.key"),
    LICMOND_STORAGE_DIRECTORY: "/proc/licmond/x",
  };
  const { exitCode, out } = await run(["check", "--config", place.config], { env });
  taken.stop(true);
  expect(exitCode).toBe(1);
  expect(out).toContain("PROBLEM  storage: /proc/licmond/x does not exist and cannot be made by this user\n");
  expect(out).toContain(
    `PROBLEM  http: another program listens on 127.0.0.1:${taken.port}\n         fix: find it with `,
  );
  expect(out).toContain(`PROBLEM  a: tool: ${join(place.folder, "lmutil")} does not exist.\n         fix: `);
  expect(out).toContain("PROBLEM  a: host: 27000@no-such-host.invalid does not resolve");
  expect(out).toContain(
    `PROBLEM  b: address: the license file ${join(place.folder, "license.dat")} cannot be read`,
  );
  expect(out).toContain(`PROBLEM  b: log_file: ${join(place.folder, "debug.log")} does not exist\n`);
  expect(out).toContain("PROBLEM  notifications[0].secret_file: the file does not exist\n");
  expect(out).toContain("PROBLEM  http: http.tls_cert: ");
  expect(out).toContain("PROBLEM  b: poll: LICENSE_QUERY_FAILED: ");
  expect(out).toEndWith("9 problems.\n");
  // Each with what helps.
  expect(out.match(/^PROBLEM .*\n(?! {9}fix: \w)/gm)).toBeNull();
});

describe("a database that the daemon would refuse is told before", () => {
  const refused: [string, (file: string) => Promise<unknown>, string][] = [
    ["no database", (file) => Bun.write(file, "x".repeat(9000)), "is not a database"],
    ["half a header", (file) => Bun.write(file, "SQLite format 3\0half"), "is not a database"],
    [
      "a newer licmond's",
      async (file) => pragma(file, "user_version = 999"),
      "by a newer licmond (schema 999",
    ],
    [
      "another program's",
      async (file) => pragma(file, "application_id = 7"),
      "a database of another program",
    ],
  ];
  for (const [name, make, words] of refused) {
    test(name, async () => {
      await using place = await createPlace();
      await run(["keys", "create", "--name", "a", "--role", "viewer", "--config", place.config]);
      // What SQLite keeps beside a database comes and goes with who reads it.
      const names = async () =>
        (await readdir(place.storage)).filter((name) => !/-(wal|shm)$/.test(name)).sort();
      const files = await names();
      await make(join(place.storage, "licmond.db"));
      const { exitCode, out } = await run(["check", "--config", place.config]);
      expect(out).toContain(`PROBLEM  storage: ${join(place.storage, "licmond.db")} `);
      expect(out).toContain(words);
      expect(exitCode).toBe(1);
      expect(await names()).toEqual(files);
    });
  }

  test("a good one and an empty one are not", async () => {
    await using place = await createPlace();
    await run(["keys", "create", "--name", "a", "--role", "viewer", "--config", place.config]);
    expect((await run(["check", "--config", place.config])).exitCode).toBe(0);
    await Bun.write(join(place.storage, "licmond.db"), "");
    expect((await run(["check", "--config", place.config])).exitCode).toBe(0);
  });
});

function pragma(file: string, setting: string): void {
  const sqlite = new Database(file);
  sqlite.run(`PRAGMA ${setting}`);
  sqlite.run("PRAGMA wal_checkpoint(TRUNCATE)");
  sqlite.close();
}

test("a config with mistakes", async () => {
  await using place = await createPlace();
  await place.write('[log]\nlevel = "x"\n[limits]\nburst = 0');
  const { exitCode, out } = await run(["check", "--config", place.config]);
  expect(exitCode).toBe(1);
  expect(out).toContain(`${place.config}:7: log.level`);
  expect(out).toContain(`${place.config}:9: limits.burst`);
  expect(out).toEndWith("2 problems.\n");
});

test("colour only for a person who wants it", async () => {
  await using place = await createPlace();
  const args = ["check", "--config", place.config];
  expect((await run(args, { terminal: true })).out).toContain("\u001b[32mok     \u001b[0m");
  expect((await run(args, { terminal: true, env: { NO_COLOR: "1" } })).out).not.toContain("\u001b");
  expect((await run(args)).out).not.toContain("\u001b");
});
