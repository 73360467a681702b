import { expect, test } from "bun:test";
import { type HealthView, healthOf } from "../../src/daemon/health.ts";
import type { ServerPicture } from "../../src/domain/picture.ts";
import { initialPicture } from "../../src/domain/polls/apply-poll.ts";
import type { MonitoredServer } from "../../src/domain/server.ts";

const NOW = 1_000_000_000;
const server: MonitoredServer = {
  id: "eda",
  name: "eda",
  manager: "rlm",
  address: "1@x",
  tool: null,
  timezone: "UTC",
  labels: {},

  intervalMs: 60_000,
  timeoutMs: 1_000,
  enabled: true,
  logFile: null,
};
const picture = (change: Partial<ServerPicture>): ServerPicture => ({
  ...initialPicture(server),
  lastPollAt: NOW,
  ...change,
});
const well: HealthView = {
  database: { ok: true, message: "The database works", code: null },
  collector: { servers: 1, enabled: 1, asked: 1, runningPolls: 0, nextPollAt: NOW + 1 },
  snapshot: { version: 1, servers: [picture({ status: "up", state: "ok" })] },
  sample: { cpu: 1, memory: 2, disk: 50 },
  clockDoubtMs: null,
  now: NOW,
};

test.each<[string, Partial<HealthView>, string]>([
  ["all well", {}, "healthy healthy healthy"],
  [
    "the database fails",
    { database: { ok: false, message: "x", code: "FULL" } },
    "unhealthy healthy healthy",
  ],
  [
    "no server",
    { collector: { ...well.collector, enabled: 0, nextPollAt: null } },
    "healthy healthy healthy",
  ],
  ["overdue", { collector: { ...well.collector, nextPollAt: NOW - 3e5 - 1 } }, "healthy unhealthy healthy"],
  [
    "overdue, and one runs",
    { collector: { ...well.collector, runningPolls: 1, nextPollAt: NOW - 3e5 - 1 } },
    "healthy healthy healthy",
  ],
  [
    "a server is down",
    { snapshot: { version: 1, servers: [picture({ status: "down", state: "stale" })] } },
    "healthy degraded healthy",
  ],
  [
    "not polled yet",
    { snapshot: { version: 1, servers: [picture({ state: "stale", lastPollAt: null })] } },
    "healthy healthy healthy",
  ],
  ["disk nearly full", { sample: { ...well.sample, disk: 95 } }, "healthy healthy degraded"],
  ["disk unknown", { sample: { ...well.sample, disk: null } }, "healthy healthy healthy"],
])("%s", (_name, change, expected) => {
  const { database, collector, disk } = healthOf({ ...well, ...change });
  expect(`${database.status} ${collector.status} ${disk.status}`).toBe(expected);
});

test("a clock that is doubted", () => {
  expect(healthOf(well).clock.status).toBe("healthy");
  expect(healthOf({ ...well, clockDoubtMs: -3 * 86_400_000 }).clock).toEqual({
    status: "degraded",
    message: "The clock is 3 days behind what was stored last",
  });
});

test("a server that is disabled is not a config without servers", () => {
  const none = { ...well.collector, enabled: 0, asked: 0, nextPollAt: null };
  const message = (servers: number) =>
    healthOf({ ...well, collector: { ...none, servers } }).collector.message;
  expect(message(0)).toBe("No server is configured");
  expect(message(1)).toBe("No server is enabled, 1 configured");
});

test("the collector's message counts the servers that are configured, that were asked and that answer", () => {
  const collector = { ...well.collector, servers: 4, enabled: 3, asked: 2 };
  expect(healthOf({ ...well, collector }).collector.message).toBe(
    "1 of 3 servers answer; 4 configured, 2 asked in the last interval",
  );
});
