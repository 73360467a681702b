import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { checkPolls } from "../../../src/cli/check/servers.ts";
import { warningsOn } from "../../../src/cli/io.ts";
import { loadConfig } from "../../../src/config/load.ts";
import { rlm } from "../../../src/managers/rlm/index.ts";
import { openStore } from "../../../src/store/open/open.ts";
import { installationId, installationSecret } from "../../../src/store/secrets.ts";
import * as a from "../../domain/make.ts";
import { lmstat } from "../../e2e/lmstat.ts";
import { createPlace, type Place, run, withTool } from "../rig.ts";

const SOLVER = { solver: { total: 4, holders: [{ user: "ada", host: "ws01" }] } };
const check = (place: Place, ...args: string[]) => run(["check", "--config", place.config, ...args]);

const UTC = 'timezone = "UTC"\n';
const WINDOW = (start: number) =>
  `[[maintenance]]\nservers = ["e*"]\nstart = "${new Date(start).toISOString()}"\nduration = "1h"\n`;
const DOWN = lmstat({}).replace(/^(\s*\w+): UP v.*$/m, "$1: DOWN");
const REFUSED =
  /PROBLEM {2}eda: poll: LICENSE_PARSE_ERROR: .*\n +fix: check the tool's output: `licmond probe eda --raw`\n/;
test.each<[string, string, string, readonly RegExp[], number]>([
  ["answers", lmstat(SOLVER), UTC, [/ok {7}eda: poll: answers: 1 feature, 1 checkout\n/], 0],
  [
    "lists fewer users than seats in use",
    lmstat(SOLVER).replace("Total of 1 license in use", "Total of 3 licenses in use"),
    UTC,
    [/warning {2}eda: poll: answers: 1 feature, .*; 1 is partial, its counts may be incomplete: solver\n/],
    0,
  ],
  [
    "prints an unknown line",
    `${lmstat({})}what?\n`,
    UTC,
    [/warning {2}eda: poll: answers: 0 features, 0 checkouts; 1 line was not recognized\n/],
    0,
  ],
  ["prints unknown text", "what?\n", "", [REFUSED, /\n1 problem\.\n$/], 1],
  [
    "reports a daemon that is down",
    DOWN,
    UTC,
    [/PROBLEM {2}eda: poll: answers, but is down: \w+ is down\n/],
    1,
  ],
  [
    "is in maintenance",
    "what?\n",
    WINDOW(Date.now() - 60_000),
    [/warning {2}eda: poll: LICENSE_PARSE_ERROR: .* \(in a maintenance window\)\n/],
    0,
  ],
  ["was in maintenance", "what?\n", WINDOW(Date.now() - 2 * 3_600_000), [REFUSED], 1],
])("polls each server once; one that %s", async (_name, text, settings, told, code) => {
  await using place = await createPlace();
  await withTool(place, text, settings);
  const { exitCode, out } = await check(place);
  for (const words of told) expect(out).toMatch(words);
  expect(exitCode).toBe(code);
});

test("disabled servers are not polled, and with --no-poll none is", async () => {
  await using place = await createPlace();
  await withTool(place, lmstat(SOLVER), "enabled = false\n");
  expect((await check(place)).out).not.toContain("eda: poll");
  await withTool(place, lmstat(SOLVER));
  expect((await check(place, "--no-poll")).out).not.toContain("eda: poll");
});

test("after the time limit the servers that were not polled are named", async () => {
  await using place = await createPlace();
  const tool = '["/bin/sh", "-c", "sleep 0.2"]';
  const server = (id: string) =>
    `[[servers]]\nid = "${id}"\nmanager = "flexnet"\naddress = "27000@127.0.0.1"\ntool = ${tool}\n`;
  await place.write(["one", "two", "three"].map(server).join(""));
  const loaded = loadConfig(place.config, {});
  if (!loaded.ok) throw new Error("the config is refused");
  const told: string[] = [];
  const tell = (what: string, message: string) => void told.push(`${what}: ${message}`);
  const report = { fine() {}, problem: tell, warning: tell };
  const limits = { atOnce: 1, beginWithinMs: 100 };
  const env = { PATH: process.env.PATH ?? "" };
  await checkPolls({ config: loaded.config, file: null, env, now: Date.now(), report }, limits);
  expect(told).toEqual([
    expect.stringMatching(/^one: poll: /),
    expect.stringMatching(/^poll: not polled, .*: two, three \(/),
  ]);
});

describe("clocks", () => {
  const printed = (at: Date) =>
    `${at.getUTCMonth() + 1}/${at.getUTCDate()}/${at.getUTCFullYear()} ${at.getUTCHours()}:${String(at.getUTCMinutes()).padStart(2, "0")}`;

  const rlmstat = (minutesAhead: number) => {
    const reportTime = Math.floor(Date.now() / 1000) * 1000 + minutesAhead * 60_000;
    const daemon = { name: "paintco", status: "up", version: null, error: null, totals: null } as const;
    const reading = a.reading({ manager: "rlm", reportTime, daemons: [daemon] });
    return rlm.render(reading, { address: "5053@127.0.0.1", zone: "UTC" });
  };

  test.each([
    [0, /ok {7}eda: clock: in sync with this host\n/],
    [-20, /PROBLEM {2}eda: clock: its clock is (19|20) min behind this .* by that much\n +fix: .*chrony/],
    [330, /PROBLEM {2}eda: clock: read in UTC, its clock is 5 h 30 min ahead .*: `timezone` does not match/],
  ])("RLM: the server's clock is %d minutes ahead", async (ahead, told) => {
    await using place = await createPlace();
    await withTool(place, rlmstat(ahead), UTC, "rlm");
    expect((await check(place)).out).toMatch(told);
  });

  test("lmstat prints the clock of its own host, so the server's is not checked", async () => {
    await using place = await createPlace();
    const late = printed(new Date(Date.now() - 20 * 60_000));
    await withTool(place, lmstat({}).replace(/ \d+\/\d+\/\d+ \d+:\d\d$/m, ` ${late}`), UTC);
    const { out, exitCode } = await check(place);
    expect(out).not.toContain("clock");
    expect(exitCode).toBe(0);
  });

  test("a checkout that starts in the future: the clock or the zone is wrong", async () => {
    await using place = await createPlace();
    const soon = new Date(Date.now() + 50 * 60_000);
    const start = `start ${soon.toUTCString().slice(0, 3)} ${printed(soon).replace(/\/\d{4}/, "")}`;
    const text = lmstat(SOLVER).replace(/start \w+ \d+\/\d+ \d+:\d\d/, start);
    await withTool(place, text, UTC);
    expect((await check(place)).out).toMatch(
      /PROBLEM {2}eda: clock: in UTC, its latest checkout starts (49|50) min in the future/,
    );
  });
});

describe("the time zone by the ages of stored checkouts", () => {
  /** Stores one session per minute. Each is `ageMinutes` old at its first poll. */
  async function withSessions(place: Place, ageMinutes: number): Promise<void> {
    await run(["keys", "create", "--name", "a", "--role", "viewer", "--config", place.config]);
    const sqlite = new Database(join(place.storage, "licmond.db"));
    const insert = sqlite.query(
      `INSERT INTO sessions (server_id, daemon, feature, user, count, started_at, began_at, first_seen_at, last_seen_at)
       VALUES ('eda', 'acmed', 'solver', ?, 1, ?, ?, ?, ?)`,
    );
    const now = Date.now();
    // Checkouts of the first poll can have any age, so the check must ignore them.
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
  ])("new checkouts that are %d minutes old", async (age, offset) => {
    await using place = await createPlace();
    await withTool(place, lmstat({}), UTC);
    await withSessions(place, age);
    const { exitCode, out } = await check(place, "--no-poll");
    if (offset === null) expect(out).not.toContain("eda: checkouts");
    else {
      expect(out).toContain("PROBLEM  eda: checkouts: read in UTC, its clock is ");
      expect(out).toContain(`which is ${offset} now\n`);
    }
    expect(exitCode).toBe(offset === null ? 0 : 1);
  });
});

describe("the program that listens on the port", () => {
  const pong = (instance?: string) => () => Response.json({ message: "pong", timestamp: "", instance });

  test.each([
    ["this installation", (own: string) => pong(own), "ok       http: licmond runs on"],
    ["a licmond of an earlier version", () => pong(), "ok       http: licmond runs on"],
    ["another installation", () => pong("00000000"), "PROBLEM  http: another licmond,"],
    ["another server", () => () => new Response("It works!"), "PROBLEM  http: another program listens on"],
  ])("%s", async (_name, fetchOf, expected) => {
    await using place = await createPlace();
    const store = openStore({ directory: place.storage, log: warningsOn({ err() {} }) });
    const own = installationId(installationSecret(store));
    store.close();
    using server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: fetchOf(own) });
    const env = { LICMOND_HTTP_PORT: String(server.port) };
    const { exitCode, out } = await run(["check", "--config", place.config], { env });
    expect(out).toContain(expected);
    const isProblem = expected.startsWith("PROBLEM");
    expect(out.includes(`ss -ltnp sport = :${server.port}`)).toBe(isProblem);
    expect(exitCode).toBe(isProblem ? 1 : 0);
  });
});
