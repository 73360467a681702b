import { describe, expect, test } from "bun:test";
import type { ServerPicture } from "../../src/domain/picture.ts";
import { initialPicture } from "../../src/domain/polls/apply-poll.ts";
import {
  connectServiceManager,
  createServiceManager,
  oneLine,
  serviceStatus,
  watchdogOf,
} from "../../src/system/service-manager.ts";
import { server } from "../domain/make.ts";
import { recordingLog } from "../store/recording-log.ts";

/** A simulated service manager with manual timers. */
function rig(watchdogMs: number | null = null) {
  const sent: string[] = [];
  const timers: { work: () => void; ms: number }[] = [];
  let isListening = true;
  const log = recordingLog();
  const manager = createServiceManager({
    socket: {
      send: (lines) => isListening && sent.push(lines.join("\n")) > 0,
      monotonicMicroseconds: () => 42n,
      close: () => void sent.push("closed"),
    },
    watchdogMs,
    log,
    repeat(ms, work) {
      const timer = { work, ms };
      timers.push(timer);
      return () => void timers.splice(timers.indexOf(timer), 1);
    },
  });
  return {
    manager,
    sent,
    log,
    listens: (yes: boolean) => {
      isListening = yes;
    },
    tick: () => {
      for (const { work } of [...timers]) work();
    },
    intervals: () => timers.map(({ ms }) => ms),
  };
}

test("reports start, status, reload and end", () => {
  const { manager, sent, tick, intervals } = rig(30_000);
  let status = "one";
  manager.says("Opening the database");
  manager.ready(() => status);
  expect(intervals()).toEqual([3_000, 10_000]);
  tick();
  status = "two";
  tick();
  manager.reloading();
  manager.reloaded();
  manager.stopping();
  tick();
  manager.stop();
  tick();
  expect(sent).toEqual([
    "STATUS=Opening the database",
    "READY=1\nSTATUS=one",
    ...["WATCHDOG=1", "WATCHDOG=1", "STATUS=two", "WATCHDOG=1"],
    "RELOADING=1\nMONOTONIC_USEC=42",
    "READY=1\nSTATUS=two",
    "STOPPING=1\nSTATUS=Shutting down",
    ...["WATCHDOG=1", "closed"],
  ]);
});

test("a failed start, with and without errno", () => {
  const { manager, sent } = rig();
  const cause = Object.assign(new Error("bind"), { code: "EADDRINUSE" });
  manager.failed(new Error("Another program listens on 1.2.3.4:80.\nStop it", { cause }));
  manager.failed("what");
  const status = "STATUS=Failed to start:";
  const first = `${status} Another program listens on 1.2.3.4:80.\\nStop it\nERRNO=98`;
  expect(sent).toEqual([first, `${status} what`]);
});

test("without a watchdog", () => {
  const { manager, sent, tick } = rig(null);
  manager.ready(() => "one");
  tick();
  expect(sent).toEqual(["READY=1\nSTATUS=one"]);
});

test("messages are retried in order, only the newest status is sent, and the failure is logged once", () => {
  const { manager, sent, log, listens, tick, intervals } = rig(null);
  let status = "one";
  listens(false);
  manager.ready(() => status);
  manager.reloading();
  manager.reloaded();
  tick();
  expect(sent).toEqual([]);
  listens(true);
  status = "two";
  tick();
  tick();
  expect(sent).toEqual([
    ...["READY=1\nSTATUS=one", "RELOADING=1\nMONOTONIC_USEC=42", "READY=1\nSTATUS=one", "STATUS=two"],
  ]);
  // The retry timer has ended.
  expect(intervals()).toEqual([3_000]);
  expect(log.lines.map(({ message }) => message)).toEqual(["The service manager does not accept a message"]);
});

test("gives up on a manager that never listens", () => {
  const { manager, listens, tick, intervals } = rig(null);
  listens(false);
  manager.says("one");
  expect(intervals()).toEqual([250]);
  for (let n = 0; n < 200; n++) tick();
  expect(intervals()).toEqual([]);
});

describe("the environment", () => {
  test.each([
    [{}, null],
    [{ WATCHDOG_USEC: "30000000" }, 30_000],
    [{ WATCHDOG_USEC: "30000000", WATCHDOG_PID: "7" }, 30_000],
    [{ WATCHDOG_USEC: "30000000", WATCHDOG_PID: "8" }, null],
    [{ WATCHDOG_USEC: "0" }, null],
    [{ WATCHDOG_USEC: "soon" }, null],
    [{ WATCHDOG_USEC: "-5" }, null],
  ])("%j is a watchdog of %p ms", (environment, ms) => expect(watchdogOf(environment, 7)).toBe(ms));

  test("without a socket there is no manager; a socket that cannot be opened is logged", async () => {
    const log = recordingLog();
    const never = () => Promise.reject(new Error("opened"));
    expect(await connectServiceManager({}, log, never)).toBeNull();
    expect(await connectServiceManager({ NOTIFY_SOCKET: "" }, log, never)).toBeNull();
    expect(log.lines).toEqual([]);
    expect(await connectServiceManager({ NOTIFY_SOCKET: "vsock:2:1" }, log)).toBeNull();
    expect(log.lines).toMatchObject([
      {
        level: "warn",
        message: "Cannot notify the service manager",
        fields: { socket: "vsock:2:1", error: expect.stringContaining("must be a path") },
      },
    ]);
  });
});

describe("the status", () => {
  const picture = (more: Partial<ServerPicture>, enabled = true): ServerPicture => ({
    ...initialPicture(server({ enabled })),
    ...more,
  });
  const at = Date.UTC(2026, 0, 31, 8, 15, 30);

  test.each([
    [[], "no servers configured"],
    [[picture({})], "1 server: 1 unknown"],
    [
      [
        picture({ status: "up", state: "ok", lastPollAt: at - 5000 }),
        picture({ status: "down", state: "stale", lastPollAt: at }),
        picture({ status: "degraded", state: "ok", lastPollAt: at - 9000 }),
        picture({}, false),
      ],
      "4 servers: 1 up, 1 degraded, 1 down, 1 stale, 1 disabled, last poll 2026-01-31 08:15:30 UTC",
    ],
  ])("case %#", (servers, words) => {
    const address = "http://0.0.0.0:8080";
    expect(serviceStatus({ address, servers, lastReload: null })).toBe(`${address}, ${words}`);
    expect(serviceStatus({ address, servers, lastReload: { at, outcome: "applied" } })).toBe(
      `${address}, ${words}`,
    );
    expect(serviceStatus({ address, servers, lastReload: { at, outcome: "refused" } })).toBe(
      `${address}, ${words}, config reload failed 2026-01-31 08:15:30 UTC, keeping the previous one (see the journal)`,
    );
  });

  test("is one short line", () => {
    expect(oneLine("a\nREADY=1\x1b")).not.toMatch(/[\n\x1b]/);
    expect(oneLine("x".repeat(10_000))).toHaveLength(300);
  });
});
