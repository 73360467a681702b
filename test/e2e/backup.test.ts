import { expect, test } from "bun:test";
import { mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { MIGRATIONS } from "../../src/store/migrations/migrations.ts";
import { BINARY, until } from "./harness.ts";
import { flexnetSays } from "./lmstat.ts";
import { createSite } from "./site.ts";
import { npmEventSource } from "./stream-clients.ts";
import { createWatchedSite } from "./watched-site.ts";

const held = (user: string) => ({ features: { solver: { total: 4, holders: [{ user, host: "ws01" }] } } });

type Sessions = { total: number; sessions: Readonly<Record<string, unknown>>[] };

test("a backup made during polls and streams restores to the same answers, with working keys", async () => {
  await using site = await createWatchedSite();
  await using at = await site.watch();
  for (const user of ["ada", "grace"]) await at.poll(held(user));
  const stream = npmEventSource(`${at.daemon.url}/stream/logs?api_key=${at.key}`, ["log"]);
  await until("the stream is open", () => stream.opened() === 1 || undefined);

  let polling = true;
  const polls = (async () => {
    while (polling) expect((await at.post("/api/licenses/rescan")).status).toBe(200);
  })();
  const file = join(site.folder, "backup.db");
  const made = await site.run(["backup", file, "--json"]);
  expect(made.exitCode).toBe(0);
  expect(made.stderr).toMatch(/backup\.db: [\d.]+ [kM]B, \d+ rows, checked, in [\d.]+ s\n$/);
  const schemaVersion = MIGRATIONS.length;
  expect(JSON.parse(made.stdout)).toMatchObject({ integrity: "ok", keys: 1, schemaVersion });
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  polling = false;
  await polls;
  const path = "/api/licenses/sessions?sort=startedAt";
  const before = await at.ask<Sessions>(path);
  expect(before.total).toBe(2);
  await until("the stream tells something", () => stream.seen.length > 0 || undefined);
  stream.close();

  const again = await site.run(["backup", file]);
  expect([again.exitCode, again.stderr]).toEqual([1, expect.stringContaining("--force")]);
  expect((await site.run(["backup", "--verify", file])).stdout).toMatch(
    /integrity +ok\nschema +\d+\nrows +\d+ in \d+ tables\nAPI keys +1 not revoked\n/,
  );

  await using elsewhere = await createWatchedSite();
  await elsewhere.lmutil.says(flexnetSays(held("grace")));
  expect((await elsewhere.run(["restore", file])).exitCode).toBe(0);
  await using second = await elsewhere.serve();
  const names = ["user", "host", "feature", "startedAt", "firstSeenAt", "endedAt"];
  const facts = ({ sessions }: Sessions) => sessions.map((row) => names.map((name) => row[name]));
  expect(facts(await second.json(path, at.key))).toEqual(facts(before));
});

const canMount = process.getuid?.() === 0 && Bun.spawnSync(["unshare", "-m", "true"]).exitCode === 0;

test.skipIf(!canMount)(
  "a read-only file system is reported as the reason, for a backup's target and for the daemon's storage",
  async () => {
    await using site = await createSite();
    await site.key("admin");
    const [target, storage] = [join(site.folder, "backups"), join(site.folder, "storage")];
    await mkdir(target);
    const script = `mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"`;
    for (const [readOnly, ...args] of [
      [target, "backup", join(target, "copy.db")],
      [target, "export", "sessions", "--output", join(target, "sessions.csv")],
      [storage, "keys", "list"],
      [storage, "serve"],
    ] as const) {
      const command = [BINARY, ...args, "--config", site.config];
      const { exitCode, stderr } = Bun.spawnSync(["unshare", "-m", "sh", "-c", script, readOnly, ...command]);
      const said = expect.stringContaining("EROFS");
      expect({ args, exitCode, said: stderr.toString() }).toEqual({ args, exitCode: 1, said });
      expect(stderr.toString()).not.toContain("uid");
    }
  },
);
