import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { appendFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createDenialWatch } from "../../../src/collector/log-tail/denial-watch.ts";
import { PIECE_BYTES } from "../../../src/collector/log-tail/log-tail.ts";
import type { CommandRequest, CommandResult, CommandRunner } from "../../../src/collector/run-command.ts";
import type { EventInput } from "../../../src/domain/events.ts";
import type { ServerPicture } from "../../../src/domain/picture.ts";
import type { MonitoredServer } from "../../../src/domain/server.ts";
import { createDenialReader } from "../../../src/history/feature-counts.ts";
import { denialPage } from "../../../src/store/denial-queries.ts";
import { createDenialSources, createDenials } from "../../../src/store/denials.ts";
import type { Store } from "../../../src/store/open/open.ts";
import { createServers } from "../../../src/store/servers.ts";
import { feature, monitored, picture } from "../../http/make.ts";
import { cleanUp, open, temporaryDirectory } from "../../store/place.ts";
import { recordingLog } from "../../store/recording-log.ts";
import { createVirtualTime, type VirtualTime } from "../virtual-time.ts";

afterEach(async () => {
  await watch.stop();
  await cleanUp();
});

const T = Date.UTC(2026, 0, 30, 12);
const NAMES = { servers: null, daemons: null, features: null, users: null, hosts: null };
const ANY = { ...NAMES, start: null, end: null, sort: null, limit: null, offset: 0 };
const SOLVER = { server: "eda", daemon: "acmed", feature: "solver" };
const denied = (time: string, user = "ada") =>
  `${time} (acmed) DENIED: "solver" ${user}@ws01  (Licensed number of users already reached. (-4,342))\n`;
const out = (time: string, user = "ada") => `${time} (acmed) OUT: "solver" ${user}@ws01  \n`;

let directory = "";
let logFile = "";
let time: VirtualTime;
let store: Store;
let told: EventInput[] = [];
let failing = false;
let log = recordingLog();
let watch: ReturnType<typeof createDenialWatch>;
/** Number of the newest process. Older processes may not commit. */
let process = 0;

beforeEach(() => {
  directory = temporaryDirectory();
  logFile = join(directory, "acmed.log");
  writeFileSync(logFile, denied("11:00:00", "old"));
  time = createVirtualTime(T);
  store = open(directory);
  told = [];
  failing = false;
  log = recordingLog();
});

function begin(
  servers: readonly MonitoredServer[] = [monitored("eda", { logFile })],
  run?: CommandRunner["run"],
): void {
  createServers({ store, clock: time.clock }).configured(servers);
  const own = ++process;
  watch = createDenialWatch({
    denials: createDenials(store),
    sources: createDenialSources(store),
    servers,
    log,
    ...(run && { run }),
    clock: time.clock,
    timers: time.timers,
    commit: async (work, events) => {
      if (own !== process) return new Promise(() => {});
      if (failing) throw new Error("disk full");
      store.transaction(() => void work());
      told.push(...events);
    },
  });
  watch.start();
}

async function pass(seconds: number): Promise<void> {
  await watch.idle();
  for (let left = seconds; left > 0; left -= 2) {
    await time.pass(2_000);
    await watch.idle();
  }
}

async function begun(): Promise<void> {
  begin();
  await pass(2);
}

const rows = () =>
  denialPage(createDenials(store), ANY)
    .rows.toReversed()
    .map(({ user, attempts, outcome }) => `${user} ${attempts} ${outcome}`);

describe("lines about daemons", () => {
  test("are logged as printed, at most 20 per piece", async () => {
    await begun();
    log.lines.splice(0);
    appendFileSync(
      logFile,
      [
        "12:00:01 (lmgrd) acmed exited with status 58 signal = 0 (Exited because another server was running)",
        "12:00:02 (acmed) Shutting down acmed pid=4711",
        "12:00:02 (acmed) EXITING DUE TO SIGNAL 15",
        "12:00:03 (acmed) Error: System clock has been set back",
        "12:00:04 (acmed) Server started on lic1 for: clock solver",
        denied("12:00:05"),
      ].join("\n"),
    );
    await pass(2);
    const about = { server: "eda", daemon: "acmed" };
    expect(log.lines).toMatchObject([
      {
        level: "warn",
        message: "License daemon exited",
        fields: {
          ...about,
          at: "2026-01-30T12:00:01.000Z",
          line: "acmed exited with status 58 signal = 0 (Exited because another server was running)",
        },
      },
      {
        message: "License daemon is shutting down",
        fields: { ...about, line: "Shutting down acmed pid=4711" },
      },
      { message: "License daemon exited", fields: { ...about, line: "EXITING DUE TO SIGNAL 15" } },
      { message: "License daemon reports a clock problem", fields: about },
    ]);
    log.lines.splice(0);
    appendFileSync(logFile, "12:00:10 (lmgrd) acmed exited with status 27\n".repeat(100));
    await pass(2);
    expect(log.lines).toHaveLength(21);
    expect(log.lines.at(-1)?.fields).toEqual({ server: "eda", lines: 80 });
  });

  test("are not logged again after a crash", async () => {
    await begun();
    appendFileSync(logFile, "12:00:01 (lmgrd) acmed exited with status 58\n");
    await pass(2);
    begin();
    await pass(4);
    expect(log.lines.filter(({ message }) => message === "License daemon exited")).toHaveLength(1);
  });
});

describe("a debug log", () => {
  test("is followed; denials are stored at once and published once final", async () => {
    await begun();
    expect(watch.logging()).toMatchObject([{ state: "on", source: "debug_log", since: T }]);
    appendFileSync(logFile, denied("12:00:02") + denied("12:00:03", "bob") + out("12:00:05", "bob"));
    await pass(2);
    expect(rows()).toEqual(["ada 1 denied", "bob 1 granted_later"]);
    expect(told).toEqual([]);
    await pass(12);
    expect(told).toMatchObject([
      { type: "denial", user: "ada", outcome: "denied", deniedAt: "2026-01-30T12:00:02.000Z", code: -4 },
      { type: "denial", user: "bob", outcome: "granted_later" },
    ]);
    appendFileSync(logFile, denied("12:00:50"));
    await pass(20);
    expect(rows()).toEqual(["ada 2 denied", "bob 1 granted_later"]);
    expect(told).toHaveLength(2);
  });

  test("denials in one second for two reasons are two rows, also over a restart", async () => {
    await begun();
    const tooMany = (at: string) =>
      `${at} (acmed) DENIED: "solver" ada@ws01  (Checkout exceeds MAX specified in options file. (-87,342))\n`;
    appendFileSync(logFile, denied("12:00:02") + tooMany("12:00:02"));
    await pass(4);
    await watch.stop();
    begin();
    appendFileSync(logFile, tooMany("12:00:20"));
    await pass(20);
    const found = denialPage(createDenials(store), ANY).rows.map(({ code, attempts }) => [code, attempts]);
    expect(found.toSorted()).toEqual([
      [-4, 1],
      [-87, 2],
    ]);
    expect(told).toMatchObject([{ code: -4 }, { code: -87 }]);
  });

  test("is followed over a restart and a rotation, without loss or duplicates", async () => {
    await begun();
    appendFileSync(logFile, denied("12:00:01"));
    await pass(4);
    await watch.stop();
    expect(told).toEqual([]);
    appendFileSync(logFile, denied("12:00:20"));
    renameSync(logFile, `${logFile}.1`);
    writeFileSync(logFile, denied("12:01:00", "bob"));
    begin();
    await pass(80);
    expect(rows()).toEqual(["ada 2 denied", "bob 1 denied"]);
    expect(told).toMatchObject([{ user: "ada" }, { user: "bob" }]);
    expect(watch.logging()).toMatchObject([{ state: "on", since: T }]);
  });

  test("that is missing is reported once, counts as unknown, and is read when it returns", async () => {
    rmSync(logFile);
    begin();
    await pass(10);
    expect(watch.logging()).toMatchObject([
      { state: "unreadable", since: null, message: `${logFile} does not exist` },
    ]);
    expect(log.lines.filter(({ level }) => level === "warn")).toHaveLength(1);
    const counted = () =>
      createDenialReader(createDenials(store), T + 3_600_000).denials(SOLVER, T, T + 3_600_000);
    expect(counted()).toBeNull();
    writeFileSync(logFile, "");
    await pass(2);
    expect(watch.logging()).toMatchObject([{ state: "on", message: null }]);
    expect(counted()).toBe(0);
    appendFileSync(logFile, denied("12:00:30"));
    await pass(30);
    expect(counted()).toBe(1);
  });

  test("publishes nothing while the store fails, and then each denial once, also over a crash", async () => {
    await begun();
    failing = true;
    appendFileSync(logFile, denied("12:00:03"));
    await pass(30);
    expect([rows(), told]).toEqual([[], []]);
    failing = false;
    await pass(2);
    expect(told).toMatchObject([{ user: "ada" }]);
    const messages = log.lines.map(({ message }) => message);
    expect(messages).toEqual(["Denials cannot be stored", "Denials are stored again"]);
    // After a crash, another process continues at the stored position.
    begin();
    appendFileSync(logFile, denied("12:00:40", "bob"));
    await pass(60);
    expect(rows()).toEqual(["ada 1 denied", "bob 1 denied"]);
    expect(told).toMatchObject([{ user: "ada" }, { user: "bob" }]);
  });

  test("spans that a failing store missed are stored later", async () => {
    failing = true;
    await begun();
    expect(watch.logging()).toMatchObject([{ state: "off", since: null }]);
    failing = false;
    await pass(2);
    expect(watch.logging()).toMatchObject([{ state: "on", since: T + 4_000 }]);
    failing = true;
    rmSync(logFile);
    await pass(4);
    writeFileSync(logFile, "");
    await pass(4);
    failing = false;
    await pass(4);
    const spans = createDenialSources(store).spans("eda");
    expect(spans).toEqual([
      { from: T + 4_000, to: T + 6_000 },
      { from: T + 14_000, to: null },
    ]);
    failing = true;
    watch.setServers([]);
    await pass(2);
    failing = false;
    await pass(2);
    expect(createDenialSources(store).spans("eda").at(-1)?.to).toBe(T + 16_000);
  });

  test("a long log is read in pieces with turns of the event loop in between", async () => {
    await begun();
    const lines = Array.from({ length: 40_000 }, (_, index) => out("12:00:01", `u${index}`)).join("");
    appendFileSync(logFile, lines + denied("12:00:01"));
    let turns = 0;
    let over = false;
    const beat = () => {
      turns++;
      if (!over) setImmediate(beat);
    };
    setImmediate(beat);
    await pass(4);
    over = true;
    expect(rows()).toEqual(["ada 1 denied"]);
    expect(turns).toBeGreaterThanOrEqual(Math.floor(lines.length / PIECE_BYTES));
  });
});

test("a log_command is followed like a file; time that it may have missed is unknown", async () => {
  const logCommand = ["tail", "-F", "/var/log/acmed.log"];
  let print: CommandRequest["onStdout"];
  let signal: AbortSignal | undefined;
  let end = (_: CommandResult) => {};
  const run = (request: CommandRequest) => {
    print = request.onStdout;
    signal = request.signal;
    return new Promise<CommandResult>((resolve) => (end = resolve));
  };
  begin([monitored("eda", { logCommand })], run);
  const failure = { reason: "other", path: null, message: "No descriptors.", fix: null } as const;
  print?.(Buffer.from(denied("11:00:00", "old")));
  await pass(2);
  expect(watch.logging()).toMatchObject([{ state: "on", source: "debug_log", since: T + 2_000 }]);
  print?.(Buffer.from(denied("12:00:02")));
  await pass(20);
  expect([rows(), told.length]).toEqual([["ada 1 denied"], 1]);
  end({ started: false, argv: [], failure });
  await pass(2);
  const message = "log_command (tail) cannot be started: No descriptors. It will be restarted.";
  expect(watch.logging()).toMatchObject([{ state: "unreadable", since: null, message }]);
  await pass(2);
  print?.(Buffer.from(denied("12:00:02") + denied("12:00:30", "bob")));
  await pass(40);
  expect(rows()).toEqual(["ada 1 denied", "bob 1 denied"]);
  await watch.stop();
  await time.pass(600_000);
  begin([monitored("eda", { logCommand })], run);
  print?.(Buffer.from(denied("12:09:00", "eve")));
  await pass(4);
  expect(rows()).toHaveLength(2);
  const [, , last, now] = [null, ...createDenialSources(store).spans("eda")];
  // The first span ends within a minute, because the ten minutes until the second span are unknown.
  expect((last?.to ?? 0) - T).toBeLessThan(60_000);
  expect((now?.from ?? 0) - T).toBeGreaterThan(600_000);
  expect(log.lines.at(-1)?.message).toContain("did not repeat the last lines");
  const former = signal;
  expect(former?.aborted).toBe(false);
  watch.setServers([monitored("eda", { logCommand: ["cat", "/var/log/report.log"] })]);
  expect([former?.aborted, signal?.aborted]).toEqual([true, false]);
  print?.(Buffer.from("\u0001\u0002\u0003\u0004 report\n"));
  await pass(4);
  expect(watch.logging()).toMatchObject([
    { message: expect.stringContaining("log_command (cat) is not text") },
  ]);
});

describe("counters", () => {
  const read = (denials: number, at: number): ServerPicture => {
    const totals = { checkouts: 1, denials, removals: 0 };
    const daemons = [{ name: "isv", status: "up" as const, version: null, error: null, totals }];
    const server = monitored("vfx", { manager: "rlm" });
    return picture("vfx", { server, collectedAt: at, lastPollAt: at, daemons });
  };

  test("denials are neither lost nor counted twice while the store fails", async () => {
    begin([monitored("vfx", { manager: "rlm" })]);
    watch.polled(read(5, T));
    await watch.idle();
    failing = true;
    watch.polled(read(8, T + 60_000));
    watch.polled(read(9, T + 120_000));
    await watch.idle();
    expect(told).toEqual([]);
    failing = false;
    watch.polled(read(9, T + 180_000));
    watch.polled(read(9, T + 240_000));
    await watch.idle();
    expect(told).toMatchObject([{ daemon: "isv", count: 4 }]);
  });

  test("are published as differences between polls, over restarts of both sides", async () => {
    const servers = [monitored("vfx", { manager: "rlm" })];
    begin(servers);
    expect(watch.logging()).toMatchObject([{ state: "off", source: null, since: null }]);
    watch.polled(read(5, T));
    watch.polled(read(8, T + 60_000));
    watch.polled({ ...read(20, T + 60_000), lastPollAt: T + 120_000 });
    await watch.stop();
    begin(servers);
    watch.polled(read(9, T + 180_000));
    watch.polled(read(2, T + 240_000));
    await watch.idle();
    expect(told).toMatchObject(
      [3, 1, 2].map((count) => ({ daemon: "isv", count, feature: null, user: null, reason: null })),
    );
    expect(watch.logging()).toMatchObject([{ state: "on", source: "counters", since: T }]);
    const nuke = { id: 1, server: "vfx", daemon: "isv", feature: "nuke" };
    expect(
      createDenialReader(createDenials(store), T + 3_600_000).denials(nuke, T, T + 3_600_000),
    ).toBeNull();
  });
});

test("counters of features count each request", async () => {
  const read = (denials: readonly number[], at: number): ServerPicture => {
    const features = denials.map((count, index) => feature(`f${index}`, { totals: { denials: count } }));
    return picture("vfx", {
      server: monitored("vfx", { manager: "rlm" }),
      collectedAt: at,
      lastPollAt: at,
      features,
    });
  };
  begin([monitored("vfx", { manager: "rlm" })]);
  watch.polled(read([5, 2], T));
  watch.polled(read([8, 2], T + 60_000));
  await watch.idle();
  expect(told).toMatchObject([{ daemon: "acmed", feature: "f0", user: null, count: 3, attempts: 3 }]);
  const reader = createDenialReader(createDenials(store), T + 3_600_000);
  const counts = ["f0", "f1"].map((name) =>
    reader.denials({ server: "vfx", daemon: "acmed", feature: name }, T, T + 3_600_000),
  );
  expect(counts).toEqual([3, 0]);
});

test("a server without a source explains the fix", async () => {
  begin([monitored("eda")]);
  expect(watch.logging()).toMatchObject([{ state: "off", message: expect.stringContaining("log_file") }]);
  watch.setServers([monitored("eda", { logFile })]);
  await pass(4);
  expect(watch.logging()).toMatchObject([{ state: "on" }]);
  watch.setServers([monitored("eda")]);
  await pass(4);
  expect(createDenialSources(store).seen()).toEqual([]);
});
