import { expect, test } from "bun:test";
import { createMeters } from "../../src/daemon/meters.ts";
import type { AnyEvent } from "../../src/domain/events.ts";
import { createExposition } from "../../src/export/exposition.ts";
import { gauge } from "../../src/export/family.ts";
import type { Published } from "../../src/live/bus.ts";
import { parseText, sampleOf } from "../export/parse-text.ts";
import { picture } from "../http/make.ts";

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

test("what the parts of the daemon count is told together, and no more once a part is gone", async () => {
  let tell: (batch: readonly Published[]) => void = () => {};
  const snapshot = { version: 1, servers: [picture("eda")] };
  const meters = createMeters({
    bus: {
      subscribe(listener) {
        tell = listener;
        return () => {
          tell = () => {};
        };
      },
    },
    snapshot: () => snapshot,
    firing: () => [{ rule: "usage", severity: "critical" }],
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
  const told = async () =>
    parseText(new TextDecoder().decode(await createExposition().render(snapshot, meters.emit, "text")));

  const takeAway = meters.add((emit) => emit(gauge("more", "More."), [], 1));
  const published = (event: AnyEvent): Published => ({ id: 1, event, json: "", stored: true });
  tell([published(denial), published({ ...denial, outcome: "queued" } as AnyEvent)]);
  meters.polled({
    serverId: "eda",
    startedAt: 0,
    finishedAt: 10,
    durationMs: 10,
    reading: null,
    reachability: [],
    error: { code: "LICENSE_SERVER_UNREACHABLE", message: "", details: null },
    raw: {
      argv: [],
      exitCode: 0,
      signal: null,
      truncated: false,

      stdout: new Uint8Array(),
      stderr: new Uint8Array(),
    },
  });
  const first = await told();
  expect(sampleOf(first, "license_denials_total", { feature: "solver" })).toBe(1);
  expect(sampleOf(first, "licmond_polls_total", { server: "eda", outcome: "unreachable" })).toBe(1);
  expect(sampleOf(first, "licmond_alerts_firing", { rule: "usage", severity: "critical" })).toBe(1);
  expect(sampleOf(first, "licmond_build_info", { version: "1.2.3" })).toBe(1);
  expect(sampleOf(first, "more")).toBe(1);
  // Nobody's name is a label.
  expect(JSON.stringify([...first.values()])).not.toMatch(/ada|ws01/);

  takeAway();
  meters.stop();
  tell([published(denial)]);
  const second = await told();
  expect(sampleOf(second, "more")).toBeUndefined();
  expect(sampleOf(second, "license_denials_total", { feature: "solver" })).toBe(1);
});
