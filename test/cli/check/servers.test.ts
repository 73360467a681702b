import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { checkPolls } from "../../../src/cli/check/polls.ts";
import { loadConfig } from "../../../src/config/load.ts";
import { lmstat } from "../../e2e/lmstat.ts";
import { createPlace, type Place, run } from "../rig.ts";

/** A FlexNet server whose tool prints a text; `settings` are more lines of its table. */
async function withTool(place: Place, output: string, settings = ""): Promise<string> {
  const tool = join(place.folder, "lmutil");
  await Bun.write(`${tool}.txt`, output);
  await Bun.write(tool, `#!/bin/sh\nexec cat '${tool}.txt'\n`);
  await chmod(tool, 0o755);
  await place.write(
    `[[servers]]\nid = "eda"\nmanager = "flexnet"\naddress = "27000@127.0.0.1"\ntool = "${tool}"\n${settings}`,
  );
  return tool;
}

const SOLVER = { solver: { total: 4, holders: [{ user: "ada", host: "ws01" }] } };
const check = (place: Place, ...args: string[]) => run(["check", "--config", place.config, ...args]);

describe("each server is asked once, as the daemon will", () => {
  test("one that answers, and whose clock agrees", async () => {
    await using place = await createPlace();
    await withTool(place, lmstat(SOLVER), 'timezone = "UTC"\n');
    const { exitCode, out } = await check(place);
    expect(out).toContain("ok       eda: poll: it answers: 1 feature, 1 checkout\n");
    expect(out).toContain("ok       eda: clock: agrees with this host's\n");
    expect(exitCode).toBe(0);
  });

  test("one that does not answer as it should is a problem", async () => {
    await using place = await createPlace();
    await withTool(place, "what?\n");
    const { exitCode, out } = await check(place);
    expect(out).toContain("PROBLEM  eda: poll: LICENSE_PARSE_ERROR: ");
    expect(out).toContain("fix: see what its tool says: `licmond probe eda --raw`\n");
    expect(out).toEndWith("1 problem.\n");
    expect(exitCode).toBe(1);
  });

  test("one that answers that its daemon is down is a problem, too", async () => {
    await using place = await createPlace();
    const down = lmstat({}).replace(/^(\s*\w+): UP v.*$/m, "$1: DOWN");
    await withTool(place, down, 'timezone = "UTC"\n');
    const { exitCode, out } = await check(place);
    expect(out).toMatch(/PROBLEM {2}eda: poll: it answers, and is down: \w+ is down\n/);
    expect(exitCode).toBe(1);
  });

  test("a maintenance window covers it, for as long as it is open", async () => {
    await using place = await createPlace();
    const window = (start: number) =>
      `[[maintenance]]\nservers = ["e*"]\nstart = "${new Date(start).toISOString()}"\nduration = "1h"\n`;
    await withTool(place, "what?\n", window(Date.now() - 60_000));
    const { exitCode, out } = await check(place);
    expect(out).toMatch(
      /warning {2}eda: poll: LICENSE_PARSE_ERROR: .* \(a maintenance window covers it now\)\n/,
    );
    expect(exitCode).toBe(0);
    await withTool(place, "what?\n", window(Date.now() - 2 * 3_600_000));
    expect((await check(place)).exitCode).toBe(1);
  });

  test("a disabled one is not asked, nor any with --no-poll", async () => {
    await using place = await createPlace();
    await withTool(place, lmstat(SOLVER), "enabled = false\n");
    expect((await check(place)).out).not.toContain("eda: poll");
    await withTool(place, lmstat(SOLVER));
    expect((await check(place, "--no-poll")).out).not.toContain("eda: poll");
  });
});

test("servers that do not answer do not add up: what was not asked is named", async () => {
  await using place = await createPlace();
  const tool = join(place.folder, "lmutil");
  await Bun.write(tool, "#!/bin/sh\nsleep 0.2\n");
  await chmod(tool, 0o755);
  const server = (id: string) =>
    `[[servers]]\nid = "${id}"\nmanager = "flexnet"\naddress = "27000@127.0.0.1"\ntool = "${tool}"\n`;
  await place.write(["one", "two", "three"].map(server).join(""));
  const loaded = loadConfig(place.config, {});
  if (!loaded.ok) throw new Error("the config is refused");
  const told: string[] = [];
  const tell = (what: string, message: string) => void told.push(`${what}: ${message}`);
  const report = { fine() {}, problem: tell, warning: tell };
  const limits = { atOnce: 1, beginWithinMs: 100 };
  await checkPolls(loaded.config, { PATH: process.env.PATH ?? "" }, Date.now(), report, limits);
  expect(told).toEqual([
    expect.stringMatching(/^one: poll: /),
    expect.stringMatching(/^poll: not asked, .*: two, three \(/),
  ]);
});

describe("clocks", () => {
  test("a wrong zone is named, with the offset that would be right", async () => {
    await using place = await createPlace();
    // The tool tells UTC whatever it is asked; five and a half hours from India.
    await withTool(place, lmstat(SOLVER), 'timezone = "Asia/Kolkata"\n');
    const { exitCode, out } = await check(place);
    expect(out).toContain(
      "PROBLEM  eda: clock: read in Asia/Kolkata, its clock is 5 h 30 min behind this host's: `timezone` is not",
    );
    expect(out).toContain("fix: set the server's timezone to its own, one that is UTC+00:00 now\n");
    expect(exitCode).toBe(1);
  });

  test("a clock that is some minutes off", async () => {
    await using place = await createPlace();
    const late = new Date(Date.now() - 20 * 60_000);
    const [hour, minute] = [late.getUTCHours(), String(late.getUTCMinutes()).padStart(2, "0")];
    const text = lmstat({}).replace(
      / \d+\/\d+\/\d+ \d+:\d\d$/m,
      ` ${late.getUTCMonth() + 1}/${late.getUTCDate()}/${late.getUTCFullYear()} ${hour}:${minute}`,
    );
    await withTool(place, text, 'timezone = "UTC"\n');
    const { out } = await check(place);
    expect(out).toMatch(/PROBLEM {2}eda: clock: its clock is (19|20) min behind this host's/);
    expect(out).toContain("chrony");
  });

  test("a checkout that starts in the future, where the printed clock is the tool's own", async () => {
    await using place = await createPlace();
    const start = /start \w+ \d+\/\d+ \d+:\d\d/;
    const soon = new Date(Date.now() + 50 * 60_000);
    const day = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"][soon.getUTCDay()];
    const clock = `${soon.getUTCHours()}:${String(soon.getUTCMinutes()).padStart(2, "0")}`;
    const text = lmstat(SOLVER).replace(
      start,
      `start ${day} ${soon.getUTCMonth() + 1}/${soon.getUTCDate()} ${clock}`,
    );
    await withTool(place, text, 'timezone = "UTC"\n');
    expect((await check(place)).out).toMatch(
      /PROBLEM {2}eda: clock: read in UTC, its latest checkout starts (49|50) min from now/,
    );
  });
});

describe("what the checkouts seen so far tell of the zone", () => {
  /** Sessions as the daemon stores them: a poll a minute, each with one that is `ageMinutes` old when it is seen. */
  async function withSessions(place: Place, ageMinutes: number): Promise<void> {
    await run(["keys", "create", "--name", "a", "--role", "viewer", "--config", place.config]);
    const sqlite = new Database(join(place.storage, "licmond.db"));
    const insert = sqlite.query(
      `INSERT INTO sessions (server_id, daemon, feature, user, count, started_at, began_at, first_seen_at, last_seen_at)
       VALUES ('eda', 'acmed', 'solver', ?, 1, ?, ?, ?, ?)`,
    );
    const now = Date.now();
    // Those of the first poll may be of any age.
    insert.run("first", now - 3600_000, now - 3600_000, now - 3600_000, now);
    for (let poll = 0; poll < 8; poll++) {
      const seen = now - 3000_000 + poll * 60_000;
      insert.run(`user${poll}`, seen - ageMinutes * 60_000, seen, seen, now);
    }
    sqlite.close();
  }

  test.each([
    [0.5, null],
    [120.5, "UTC-02:00"],
    [-59.5, "UTC+01:00"],
  ])("new ones that are %d minutes old", async (age, offset) => {
    await using place = await createPlace();
    await withTool(place, lmstat({}), 'timezone = "UTC"\n');
    await withSessions(place, age);
    const { exitCode, out } = await check(place, "--no-poll");
    if (offset === null) expect(out).not.toContain("eda: checkouts");
    else {
      expect(out).toContain("PROBLEM  eda: checkouts: read in UTC, its clock is ");
      expect(out).toContain(`one that is ${offset} now\n`);
    }
    expect(exitCode).toBe(offset === null ? 0 : 1);
  });
});

describe("who listens on the port", () => {
  const at = (port: number) => ({ env: { LICMOND_HTTP_PORT: String(port) } });

  test("a licmond is fine", async () => {
    await using place = await createPlace();
    using server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () => Response.json({ message: "pong", timestamp: "" }),
    });
    const { exitCode, out } = await run(["check", "--config", place.config], at(Number(server.port)));
    expect(out).toContain(`ok       http: a licmond answers on 127.0.0.1:${server.port}`);
    expect(exitCode).toBe(0);
  });

  test("another web server is not", async () => {
    await using place = await createPlace();
    using server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("It works!") });
    const { exitCode, out } = await run(["check", "--config", place.config], at(Number(server.port)));
    expect(out).toContain(`PROBLEM  http: another program listens on 127.0.0.1:${server.port}\n`);
    expect(out).toContain(`ss -ltnp sport = :${server.port}`);
    expect(exitCode).toBe(1);
  });
});
