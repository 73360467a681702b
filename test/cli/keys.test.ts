import { afterEach, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/domain/time/clock.ts";
import { createKeys } from "../../src/store/keys.ts";
import { cleanUp, open } from "../store/place.ts";
import { createPlace, run } from "./rig.ts";

afterEach(cleanUp);

test("create, list, revoke", async () => {
  await using place = await createPlace();
  const config = ["--config", place.config];
  const none = await run(["keys", "list", ...config]);
  expect(none.out).toContain("licmond keys create");
  const empty = { out: expect.stringContaining('"keys": []'), exitCode: 0 };
  expect(await run(["keys", "list", "--json", ...config])).toMatchObject(empty);
  expect(await run(["keys", "revoke", "wall", ...config])).toMatchObject({ exitCode: 1 });
  // Reading commands create no files, which would belong to root.
  expect(existsSync(place.storage)).toBe(false);

  const args = "--name wall --role viewer --expires 90d --anonymize --daily-quota 1000".split(" ");
  const created = await run(["keys", "create", ...args, ...config]);
  const key = expect.stringMatching(/^lmk_[a-z0-9]{12}_[\w-]{43}\n$/);
  expect(created).toEqual({ exitCode: 0, err: "", out: key });

  const store = open(place.storage, { mode: "cli" });
  expect(createKeys({ store, clock: systemClock }).verify(created.out.trim())).toMatchObject({
    outcome: "valid",
    key: { name: "wall", role: "viewer", anonymize: true, dailyQuota: 1000, monthlyQuota: null },
  });

  const again = await run(["keys", "create", "--name", "wall", "--role", "admin", ...config]);
  expect(again).toMatchObject({ exitCode: 1, out: "", err: expect.stringContaining('"wall"') });

  const listed = await run(["keys", "list", ...config]);
  expect(listed.out).toMatch(/wall +viewer \(anonymized\) +active/);
  const records = JSON.parse((await run(["keys", "list", "--json", ...config])).out);
  expect(records).toMatchObject({ keys: [{ name: "wall", state: "active", revokedAt: null }] });
  expect(listed.out + JSON.stringify(records)).not.toContain(created.out.trim().slice(17));

  expect(await run(["keys", "revoke", "wall", ...config])).toMatchObject({ exitCode: 0, out: "" });
  const before = { exitCode: 1, err: expect.stringContaining("already revoked") };
  expect(await run(["keys", "revoke", records.keys[0].id, ...config])).toMatchObject(before);
  expect(await run(["keys", "revoke", "nobody", ...config])).toMatchObject({ exitCode: 1 });
});

test("create accepts an existing secret or key", async () => {
  await using place = await createPlace();
  const file = join(place.folder, "secret");
  const create = async (name: string, text: string) => {
    await Bun.write(file, text);
    const args = ["--name", name, "--role", "viewer", "--secret-file", file, "--config", place.config];
    return run(["keys", "create", ...args]);
  };
  const secret = new Uint8Array(32).fill(7).toBase64({ alphabet: "base64url", omitPadding: true });
  const alone = await create("alone", `${secret}\n`);
  expect([alone.exitCode, alone.err]).toEqual([0, ""]);
  expect(alone.out).toMatch(new RegExp(`^lmk_[a-z0-9]{12}_${secret}\n$`));
  const whole = `lmk_k3v9x2m7q1ab_${secret}`;
  expect(await create("whole", whole)).toMatchObject({ exitCode: 0, out: `${whole}\n` });
  const store = open(place.storage, { mode: "cli" });
  const keys = createKeys({ store, clock: systemClock });
  expect(keys.verify(whole)).toMatchObject({ outcome: "valid", key: { name: "whole" } });
  expect(keys.verify(alone.out.trim())).toMatchObject({ outcome: "valid", key: { name: "alone" } });

  const taken = { exitCode: 1, out: "", err: expect.stringContaining("k3v9x2m7q1ab") };
  expect(await create("again", whole)).toMatchObject(taken);
  for (const bad of ["", secret.slice(1), `${secret}x`, `${secret.slice(1)}+`, `lmk_k3v9_${secret}`]) {
    const { exitCode, out, err } = await create("bad", bad);
    expect([bad, exitCode, out]).toEqual([bad, 1, ""]);
    expect(err).not.toContain(secret.slice(1, 20));
  }
  expect(keys.list().map(({ name }) => name)).toEqual(["alone", "whole"]);
});

test("list queries the daemon of --url or $LICMOND_URL", async () => {
  await using place = await createPlace();
  const key = { id: "abcdefghijkl", name: "remote", role: "viewer", anonymize: false, state: "active" };
  const keys = [{ ...key, createdAt: "2026-01-31T08:15:30.123Z", expiresAt: null, lastUsedAt: null }];
  using server = Bun.serve({ port: 0, fetch: () => Response.json({ keys }) });
  const url = `http://127.0.0.1:${server.port}`;
  const out = expect.stringMatching(/remote +viewer +active +2026-01-31 08:15 UTC +never/);
  const expected = { exitCode: 0, err: "", out };
  expect(await run(["keys", "list", "--url", url])).toMatchObject(expected);
  const env = { LICMOND_URL: url };
  expect(await run(["keys", "list"], { env })).toMatchObject(expected);
  const create = ["keys", "create", "--name", "a", "--role", "viewer", "--config", place.config];
  const ignored = expect.stringContaining("ignoring $LICMOND_URL");
  expect(await run(create, { env })).toMatchObject({ exitCode: 0, err: ignored });
});

test("--config may precede the command", async () => {
  await using place = await createPlace();
  const config = ["--config", place.config];
  for (const args of [
    [...config, "keys", "list"],
    ["keys", ...config, "list"],
  ])
    expect(await run(args)).toMatchObject({ exitCode: 0, err: "" });
});

test("a storage directory that cannot be created", async () => {
  await using place = await createPlace();
  const env = { LICMOND_STORAGE_DIRECTORY: "/proc/licmond" };
  const create = ["keys", "create", "--name", "a", "--role", "viewer", "--config", place.config];
  const { exitCode, out, err } = await run(create, { env });
  expect({ exitCode, out }).toEqual({ exitCode: 1, out: "" });
  expect(err).toContain("/proc/licmond");
});

test("prints all problems of an invalid config", async () => {
  await using place = await createPlace();
  await place.write("[log]\nlevel = 1\nlevl = 2");
  const { exitCode, err } = await run(["keys", "list", "--config", place.config]);
  expect(exitCode).toBe(1);
  expect(err.split("\n")).toEqual([
    `${place.config}:7: log.level must be one of debug, info, warn, error, not 1`,
    `${place.config}:8: log.levl: unknown key "levl"; did you mean "level"? (known keys: level, format)`,
    "licmond: invalid config: 2 problems",
    "",
  ]);
});
