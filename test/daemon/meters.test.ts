import { expect, test } from "bun:test";
import { uncompress } from "snappyjs";
import type { Config } from "../../src/config/config.ts";
import { createMeters, createRemoteWrite } from "../../src/daemon/meters.ts";
import type { AnyEvent } from "../../src/domain/events.ts";
import { systemClock, systemTimers } from "../../src/domain/time/clock.ts";
import { createExposition } from "../../src/export/exposition.ts";
import { gauge } from "../../src/export/family.ts";
import type { Published } from "../../src/live/bus.ts";
import { outcome } from "../domain/make.ts";
import { parseText, sampleOf } from "../export/parse-text.ts";
import { nameOf, readRequest } from "../export/remote-write/read-request.ts";
import { picture } from "../http/make.ts";
import { until } from "../until.ts";

const denial = {
  type: "denial",
  id: "denial-1",
  timestamp: "2026-01-31T08:15:30.123Z",
  deniedAt: "2026-01-31T08:15:29.000Z",
  until: "2026-01-31T08:15:29.000Z",
  server: "eda",
  daemon: "acmed",
  feature: "solver",
  user: "ada",
  host: "ws01",
  count: 1,
  reason: null,
  code: -4,
  attempts: 1,
  outcome: "denied",
} as AnyEvent;
const snapshot = { version: 1, servers: [picture("eda")] };

function make() {
  let tell: (batch: readonly Published[]) => void = () => {};
  const subscribe = (listener: typeof tell) => {
    tell = listener;
    return () => {
      tell = () => {};
    };
  };
  const meters = createMeters({
    bus: { subscribe },
    snapshot: () => snapshot,
    firing: () => [{ rule: "seats", severity: "critical" }],
    view: () => ({
      build: { version: "1.2.3", commit: "abc", bun: "1.4.5" },
      runningPolls: 0,
      streams: { sse: 0, websocket: 0 },
      eventLoopLagMs: null,
      databaseBytes: null,
      disk: null,
      lastReload: null,
      startedAt: 0,
    }),
  });
  meters.add((emit) => emit(gauge("more", "More."), [], 1));
  const publish = (...events: AnyEvent[]) =>
    tell(events.map((event) => ({ id: 1, event, json: "", stored: true })));
  return { meters, publish };
}

test("exports the counters of all parts", async () => {
  const { meters, publish } = make();
  const told = async () =>
    parseText(new TextDecoder().decode(await createExposition().render(snapshot, meters.emit, "text")));
  publish(denial, { ...denial, outcome: "queued" } as AnyEvent);
  const error = { code: "LICENSE_SERVER_UNREACHABLE", message: "", details: null } as const;
  meters.polled(outcome({ serverId: "eda", reading: null, error }));
  const first = await told();
  expect(sampleOf(first, "license_denials_total", { feature: "solver" })).toBe(1);
  expect(sampleOf(first, "licmond_polls_total", { server: "eda", outcome: "unreachable" })).toBe(1);
  expect(sampleOf(first, "licmond_alerts_firing", { rule: "seats", severity: "critical" })).toBe(1);
  expect(sampleOf(first, "licmond_build_info", { version: "1.2.3" })).toBe(1);
  expect(sampleOf(first, "more")).toBe(1);
  // Labels contain no names of people.
  expect(JSON.stringify([...first.values()])).not.toMatch(/ada|ws01/);
  meters.stop();
  publish(denial);
  expect(sampleOf(await told(), "license_denials_total", { feature: "solver" })).toBe(1);
});

test("remote write follows the config: on and off, URL and labels", async () => {
  /** Names of the series of each write, by path. */
  const got: Record<string, string[][]> = { "/one": [], "/two": [] };
  await using server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      got[new URL(request.url).pathname]?.push(readRequest(uncompress(await request.bytes())).map(nameOf));
      return new Response(null, { status: 204 });
    },
  });
  const { meters } = make();
  let config: Config["remoteWrite"] = null;
  const push = createRemoteWrite({
    config: () => config,
    snapshot: () => ({ version: 1, servers: [] }),
    meters,
    instance: "lic:8080",
    clock: systemClock,
    timers: systemTimers,
    log: { debug() {}, info() {}, warn() {}, error() {} },
  });
  const base = `http://127.0.0.1:${server.port}`;
  const write = { url: `${base}/one`, tokenFile: null, username: null, intervalMs: 20, labels: {} };
  const own = () => {
    const names: string[] = [];
    meters.emit(({ name }) => names.push(name));
    return names.some((name) => name.startsWith("licmond_remote_write"));
  };

  push.configured();
  config = write;
  push.configured();
  await until("two writes", () => got["/one"]?.[1]);
  expect(got["/one"]?.[0]).toContain("more{instance=lic:8080,job=licmond}");
  expect(got["/one"]?.[0]?.some((name) => name.startsWith("licmond_remote_write_samples_total"))).toBe(true);
  expect(own()).toBe(true);

  config = { ...write, url: `${base}/two`, labels: { job: "mine", site: "muc" } };
  push.configured();
  // Samples taken before the change keep the earlier labels, so wait for one with the new labels.
  await until("the labels of now, elsewhere", () =>
    got["/two"]?.find((names) => names.includes("more{instance=lic:8080,job=mine,site=muc}")),
  );
  const before = got["/one"]?.length;

  config = null;
  push.configured();
  await until("the end", () => (own() ? undefined : true));
  await push.stop();
  const after = got["/two"]?.length;
  await Bun.sleep(50);
  expect([got["/one"]?.length, got["/two"]?.length]).toEqual([before, after]);
});
