import { expect, test } from "bun:test";
import { clockHealth, collectorHealth, databaseHealth, diskHealth } from "../../src/daemon/http-deps.ts";
import { createTeardown } from "../../src/daemon/process.ts";
import type { LogFields } from "../../src/domain/log.ts";
import { picture } from "../http/make.ts";

const NOW = 1_000_000_000;
const polled = { lastPollAt: NOW, status: "up", state: "ok" } as const;
const OVERDUE = { nextPollAt: NOW - 3e5 - 1 };
const NONE = { enabled: 0, asked: 0, nextPollAt: null };

test.each([
  ["one answers", {}, {}, "healthy", "1 of 1 servers answer; 1 configured, 1 asked in the last interval"],
  [
    "some were not asked",
    { servers: 4, enabled: 3, asked: 2 },
    {},
    "healthy",
    "1 of 3 servers answer; 4 configured, 2 asked in the last interval",
  ],
  ["no server", { ...NONE, servers: 0 }, {}, "healthy", "No server is configured"],
  ["none enabled", NONE, {}, "healthy", "No server is enabled, 1 configured"],
  ["overdue", OVERDUE, {}, "unhealthy", "Polls are overdue"],
  ["overdue, and one runs", { ...OVERDUE, runningPolls: 1 }, {}, "healthy", "1 of 1"],
  ["a server is down", {}, { status: "down", state: "stale" }, "degraded", "0 of 1"],
  ["not polled yet", {}, { state: "stale", lastPollAt: null }, "healthy", "0 of 1"],
] as const)("the collector: %s", (_name, status, change, expected, message) => {
  const well = { servers: 1, enabled: 1, asked: 1, runningPolls: 0, nextPollAt: NOW + 1 };
  const servers = [{ ...picture("eda"), ...polled, ...change }];
  const health = collectorHealth({ ...well, ...status }, { version: 1, servers }, NOW);
  expect(health.status).toBe(expected);
  expect(health.message).toStartWith(message);
});

test("the database, the disk and the clock", () => {
  const database = { ok: true, message: "x", code: null } as const;
  expect(databaseHealth(database)).toEqual({ status: "healthy", message: "x" });
  expect(databaseHealth({ ...database, degraded: true }).status).toBe("degraded");
  expect(databaseHealth({ ok: false, message: "x", code: "FULL" }).status).toBe("unhealthy");
  const disks = [94, 95, null].map((disk) => diskHealth({ disk }).status);
  expect(disks).toEqual(["healthy", "degraded", "healthy"]);
  expect(clockHealth(null).status).toBe("healthy");
  const message = "The clock is 3 days behind the last stored time";
  expect(clockHealth(-3 * 86_400_000)).toEqual({ status: "degraded", message });
});

test("a teardown runs its steps backwards, logs failed ones and continues", async () => {
  const seen: string[] = [];
  const error = (_: string, fields?: LogFields) => void seen.push(`${fields?.part}: ${fields?.error}`);
  const teardown = createTeardown({ error }, 20);
  teardown.add("first", () => void seen.push("first"));
  teardown.add("second", () => Promise.reject(new Error("stuck")));
  teardown.add("hangs", () => new Promise(() => {}));
  teardown.add("third", async () => void seen.push("third"));
  await teardown.run();
  await teardown.run();
  expect(seen).toEqual(["third", "hangs: timed out after 20 ms", "second: stuck", "first"]);
});
