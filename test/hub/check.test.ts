import { beforeAll, expect, test } from "bun:test";
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { createPlace, type Place, run } from "../cli/rig.ts";
import { describeHub } from "./describe-hub.ts";
import { open } from "./rig.ts";

const clock = { ahead: 0, now: () => Date.now() + clock.ahead };
describeHub("licmond check", { clock }, (at) => {
  const { hub, postgres } = at;
  const keys = { muc: "", viewer: "" };
  beforeAll(async () => {
    Object.assign(keys, { muc: (await at.site("muc")).key, viewer: at.keys.viewer });
  });

  const check = ({ config }: Place, env = {}) => run(["check", "--no-poll", "--config", config], { env });
  const fleetAt = async (place: Place, url: string, key: string, site = "muc") => {
    const file = join(place.folder, "key");
    await Bun.write(file, key);
    await place.write(`[fleet]\nsite = "${site}"\nurl = "${url}"\napi_key_file = "${file}"`);
  };
  const linesOf = (out: string, what: string) =>
    out.split("\n").filter((line) => line.includes(` ${what}: `) || line.startsWith("         fix"));

  test("a hub accepts the site's key, and the check stores nothing there", async () => {
    await using place = await createPlace();
    await fleetAt(place, hub.url, keys.muc);
    const { out } = await check(place);
    expect(linesOf(out, "fleet")).toContain(`ok       fleet: ${new URL(hub.url).host} accepts pushes of muc`);
    expect(await at.pool`SELECT 1 FROM sites`).toHaveLength(0);
  });

  test("an unusable key of pseudonyms is a problem; a missing one is a note", async () => {
    await using place = await createPlace();
    const file = join(place.folder, "key");
    const people = join(place.folder, "people.key");
    const config = `[fleet]\nsite = "muc"\nurl = "${hub.url}"\napi_key_file = "${file}"\npeople = "pseudonyms"\n`;
    await Bun.write(file, keys.muc);
    await place.write(config);
    expect(linesOf((await check(place)).out, "fleet")[0]).toBe(
      "ok       fleet: pseudonyms are unique to this site; set fleet.people_key_file to share them across sites",
    );
    await Bun.write(people, "short\n");
    await chmod(people, 0o644);
    await chmod(place.folder, 0o755);
    await place.write(`${config}people_key_file = "${people}"\n`);
    const { out, exitCode } = await check(place);
    expect(exitCode).toBe(1);
    expect(linesOf(out, "fleet").join("\n")).toContain(
      "PROBLEM  fleet: The people_key_file must contain at least 32 random bytes in base64 or hex: openssl rand -base64 32",
    );
    // The permissions are checked as for every other secret file.
    expect(out).toMatch(/^warning {2}fleet\.people_key_file: .*chmod/m);
    await Bun.write(people, `${"0123456789abcdef".repeat(4)}\n`);
    await chmod(people, 0o600);
    const fine = await check(place);
    const lines = fine.out.split("\n").filter((line) => line.includes("people_key_file"));
    expect(lines).toEqual(["ok       fleet.people_key_file: is readable"]);
  });

  const REFUSED: [what: string, key: () => string, site: string, words: RegExp][] = [
    ["another role's key", () => keys.viewer, "muc", /It answered 403/],
    ["another site's key", () => keys.muc, "blr", /It answered 403: This key belongs to another site/],
    ["no key of it", () => `lmk_${"a".repeat(12)}_${"b".repeat(43)}`, "muc", /It answered 401/],
  ];
  test.each(REFUSED)(
    "%s is a problem, and the suggested fix creates a key",
    async (_what, key, site, words) => {
      await using place = await createPlace();
      await fleetAt(place, hub.url, key(), site);
      const { out, exitCode } = await check(place);
      expect(exitCode).toBe(1);
      const [problem = "", fix = ""] = linesOf(out, "fleet");
      expect(problem).toStartWith("PROBLEM  fleet: ");
      expect(problem).toMatch(words);
      expect(fix).toContain(`licmond keys create --name ${site} --role site --site ${site}`);
      expect(out).not.toContain(key());
    },
  );

  test("a hub that is unreachable, not a hub, or has another time", async () => {
    await using place = await createPlace();
    await fleetAt(place, "http://127.0.0.1:1", keys.muc);
    expect(linesOf((await check(place)).out, "fleet")[0]).toMatch(
      /^PROBLEM {2}fleet: the hub 127\.0\.0\.1:1 does not answer\. It cannot be reached \(\w+\)$/,
    );
    using other = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("hello") });
    await fleetAt(place, `http://127.0.0.1:${other.port}`, keys.muc);
    expect(linesOf((await check(place)).out, "fleet")[0]).toEndWith("is not a licmond hub");
    clock.ahead = 3_600_000;
    await fleetAt(place, hub.url, keys.muc);
    const { out } = await check(place);
    clock.ahead = 0;
    expect(linesOf(out, "fleet")[0]).toMatch(
      /^warning {2}fleet: the clocks here and at the hub .+ are 1 h apart$/,
    );
  });

  test("a hub's database: in use, empty, of a newer hub, unreachable", async () => {
    await using place = await createPlace();
    const checked = async (url: string) => {
      await place.write(`[hub]\ndatabase = "${url}"`);
      return check(place);
    };
    const filled = await checked(at.database);
    expect(linesOf(filled.out, "hub")[0]).toMatch(/^ok {7}hub: PostgreSQL at 127\.0\.0\.1:\d+: schema \d+$/);
    // A hub needs no servers and no storage, so check reports nothing about them.
    expect(filled.out).not.toContain("no server");
    expect(filled.out).not.toContain("storage:");
    const empty = await postgres.database();
    expect(linesOf((await checked(empty)).out, "hub")[0]).toEndWith(
      "empty: the hub creates its tables at startup",
    );
    await using pool = open(empty);
    await pool`CREATE TABLE schema_steps (step integer PRIMARY KEY, name text NOT NULL)`;
    await pool`INSERT INTO schema_steps VALUES (99, 'later')`;
    expect(linesOf((await checked(empty)).out, "hub")[0]).toMatch(
      /^PROBLEM {2}hub: .+ the database was written by a newer hub \(schema 99/,
    );
    const away = await checked("postgres://licmond@127.0.0.1:1/licmond");
    expect(away.exitCode).toBe(1);
    expect(linesOf(away.out, "hub")[0]).toStartWith("PROBLEM  hub: cannot use the database at 127.0.0.1:1: ");
  });

  test("notify --test sends to the targets of a hub", async () => {
    await using place = await createPlace();
    const got: unknown[] = [];
    using server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      async fetch(request) {
        got.push(await request.json());
        return new Response();
      },
    });
    const target = `[[notifications]]\ntype = "webhook"\nurl = "http://127.0.0.1:${server.port}/"`;
    await place.write(`[hub]\ndatabase = "${at.database}"\n${target}`);
    const { exitCode } = await run(["notify", "--test", "--config", place.config]);
    expect(exitCode).toBe(0);
    expect(got).toMatchObject([{ type: "test" }]);
  });
});
