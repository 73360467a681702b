import { expect, test } from "bun:test";
import { createExposition } from "../../src/export/exposition.ts";
import type { Emit } from "../../src/export/family.ts";
import {
  createDenialMeter,
  createPollMeter,
  emitService,
  type ServiceView,
} from "../../src/export/meters.ts";
import { createRequestCounters } from "../../src/http/request-counters.ts";
import { readProcessMetrics } from "../../src/system/host-metrics.ts";
import * as a from "../domain/make.ts";
import { parseText, sampleOf } from "./parse-text.ts";

const told = async (service: (emit: Emit) => void) => {
  const text = await createExposition().render({ version: 1, servers: [] }, service, "openmetrics");
  return parseText(new TextDecoder().decode(text));
};

const outcome = (serverId: string, code: "TIMEOUT" | null, durationMs: number) =>
  a.outcome({ serverId, durationMs, error: code && { code, message: "", details: null } });

const SOLVER = { server: "eda", daemon: "acmed", feature: "solver" };

test("polls are counted from 0 by server and outcome, while the server is configured", async () => {
  const meter = createPollMeter();
  meter.add(outcome("eda", null, 200));
  meter.add(outcome("eda", "TIMEOUT", 30_000));
  meter.add(outcome("gone", null, 1));
  const seen = await told((emit) => meter.emit(emit, ["eda", "new"]));
  const polls = (server: string, word: string) =>
    sampleOf(seen, "licmond_polls_total", { server, outcome: word });
  expect([polls("eda", "ok"), polls("eda", "timeout"), polls("eda", "unreachable")]).toEqual([1, 1, 0]);
  expect([polls("new", "ok"), polls("gone", "ok")]).toEqual([0, undefined]);
  expect(sampleOf(seen, "licmond_poll_duration_seconds_bucket", { server: "eda", le: "0.25" })).toBe(1);
  expect(sampleOf(seen, "licmond_poll_duration_seconds_sum", { server: "eda" })).toBeCloseTo(30.2);
  expect(sampleOf(seen, "licmond_unparsed_lines_total", { server: "eda" })).toBe(0);
});

test("denials count once, counters by their number, and the number of series is limited", async () => {
  const meter = createDenialMeter(3);
  const denial = { ...SOLVER, user: "ada", host: "ws01", attempts: 2 };
  meter.add({ ...denial, outcome: "denied" });
  meter.add({ ...denial, outcome: "granted_later" });
  meter.add({ ...denial, feature: null, user: null, host: null, attempts: 4, outcome: "denied" });
  for (let n = 0; n < 100; n++) meter.add({ ...denial, feature: `f${n}`, outcome: "denied" });
  const seen = await told(meter.emit);
  expect(sampleOf(seen, "license_denials_total", { feature: "solver" })).toBe(1);
  expect(sampleOf(seen, "license_denials_total", { feature: "f0" })).toBe(1);
  const samples = seen.get("license_denials")?.samples ?? [];
  expect(samples).toHaveLength(3);
  expect(samples.find(({ labels }) => labels.feature === undefined)?.value).toBe(4 + 99);
});

const VIEW: ServiceView = {
  build: { version: "1.2.3", commit: null, bun: "1.4.5" },
  firing: [
    { rule: "seats", severity: "warning" },
    { rule: "seats", severity: "warning" },
  ],
  runningPolls: 2,
  streams: { sse: 3, websocket: 0 },
  eventLoopLagMs: 12.5,
  databaseBytes: 4096,
  disk: 37.5,
  lastReload: { at: 1_700_000_000_500, outcome: "refused" },
  startedAt: 1_700_000_000_000,
  process: { cpuSeconds: 1.5, memoryBytes: 5e7, virtualBytes: null, openFds: 20, maxFds: 1024 },
};

test("the daemon reports itself in base units, without unknown values", async () => {
  const seen = await told((emit) => emitService(VIEW, emit));
  for (const [name, value, labels] of [
    ["licmond_alerts_firing", 2, { rule: "seats", severity: "warning" }],
    ["licmond_alerts_firing", 0, { rule: "disk", severity: "critical" }],
    ["licmond_event_loop_lag_seconds", 0.0125],
    ["licmond_storage_used_ratio", 0.375],
    ["licmond_config_last_reload_successful", 0],
    ["licmond_config_last_reload_timestamp_seconds", 1_700_000_000.5],
    ["process_start_time_seconds", 1_700_000_000],
    ["process_virtual_memory_bytes", undefined],
  ] as const)
    expect([name, sampleOf(seen, name, labels)]).toEqual([name, value]);
  const fresh = { ...VIEW, lastReload: null, disk: null, databaseBytes: null, eventLoopLagMs: null };
  const names = [...(await told((emit) => emitService(fresh, emit))).keys()];
  expect(names.filter((name) => /reload|used_ratio|database|lag/.test(name))).toEqual([]);
});

test("the process reports memory, CPU time and open files", () => {
  const seen = readProcessMetrics();
  expect(seen.memoryBytes).toBeGreaterThan(1e6);
  expect(seen.cpuSeconds).toBeGreaterThan(0);
  if (process.platform === "linux") {
    expect(seen.openFds).toBeGreaterThan(2);
    expect(seen.maxFds).toBeGreaterThanOrEqual(seen.openFds ?? 0);
    expect(seen.virtualBytes).toBeGreaterThan(seen.memoryBytes);
  }
  const blind = readProcessMetrics(
    () => null,
    () => {
      throw new Error("no /proc");
    },
  );
  expect([blind.openFds, blind.maxFds, blind.virtualBytes]).toEqual([null, null, null]);
});

test("requests are labelled by the route's pattern, not by texts of clients", async () => {
  const counters = createRequestCounters();
  const route = "/api/licenses/servers/:id";
  counters.count("GET", route, 200, 3);
  counters.count("GET", route, 404, 3);
  for (let n = 0; n < 50; n++) counters.count(`M${n}`, null, 404, 3);
  const seen = await told(counters.emit);
  expect(sampleOf(seen, "licmond_http_requests_total", { route, method: "GET", code: "200" })).toBe(1);
  const other = { route: "unknown", method: "other", code: "404" };
  expect(sampleOf(seen, "licmond_http_requests_total", other)).toBe(50);
  expect(sampleOf(seen, "licmond_http_request_duration_seconds_count", { route })).toBe(2);
  expect(counters.byStatus()).toEqual({ "200": 1, "404": 51 });
});
