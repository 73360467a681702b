import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { ServerPicture } from "../../src/domain/picture.ts";
import { createExposition } from "../../src/export/exposition.ts";
import { type Emit, gauge, histogram, labelsOf, type TextFormat } from "../../src/export/family.ts";
import { createHistogram } from "../../src/export/meters.ts";
import { feature, monitored, NOW, picture } from "../http/make.ts";
import { type ParsedFamily, parseText, sampleOf } from "./parse-text.ts";

const render = async (
  servers: readonly ServerPicture[],
  format: TextFormat = "text",
  service: (emit: Emit) => void = () => {},
): Promise<string> =>
  new TextDecoder("utf-8", { fatal: true }).decode(
    await createExposition().render({ version: 1, servers }, service, format),
  );

const parsed = async (...servers: ServerPicture[]): Promise<ReadonlyMap<string, ParsedFamily>> =>
  parseText(await render(servers));

const DAEMON = { name: "acmed", status: "up", version: null, error: null } as const;
const solver = { server: "eda", daemon: "acmed", feature: "solver" };

describe("a feature", () => {
  test("with current data has its numbers", async () => {
    const told = await parsed(picture("eda"));
    for (const [name, value] of [
      ["seats_issued", 4],
      ["seats_used", 1],
      ["seats_available", 3],
      ["seats_reserved", 0],
      ["seats_queued", 0],
      ["utilization_ratio", 0.25],
      ["unlimited", 0],
      ["state", 1],
      ["collected_timestamp_seconds", (NOW - 5000) / 1000],
    ] as const)
      expect(sampleOf(told, `license_feature_${name}`, solver)).toBe(value);
    expect(sampleOf(told, "license_feature_state", { ...solver, state: "ok" })).toBe(1);
    const pool = { ...solver, pool: "1", version: "v1.0" };
    expect(sampleOf(told, "license_pool_seats_issued", pool)).toBe(4);
    expect(sampleOf(told, "license_pool_seats_used", pool)).toBeUndefined();
    const endOfMarch = (Date.UTC(2026, 3, 1) - 1) / 1000;
    expect(sampleOf(told, "license_pool_expiry_timestamp_seconds", pool)).toBe(endOfMarch);
  });

  test("that is unlimited has no totals", async () => {
    const unknown = { total: null, available: null, utilization: null };
    const unlimited = feature("solver", { ...unknown, unlimited: true, used: 7 });
    const told = await parsed(picture("eda", { features: [unlimited] }));
    const names = ["unlimited", "seats_used", "seats_issued", "seats_available", "utilization_ratio"];
    const values = names.map((name) => sampleOf(told, `license_feature_${name}`, solver));
    expect(values).toEqual([1, 7, undefined, undefined, undefined]);
  });

  test("that is stale has its state, time and dates, but no numbers", async () => {
    const stale = feature("solver", { state: "stale" });
    const told = await parsed(picture("eda", { state: "stale", features: [stale] }));
    expect(sampleOf(told, "license_feature_state", { ...solver, state: "stale" })).toBe(1);
    expect(sampleOf(told, "license_feature_collected_timestamp_seconds", solver)).toBe((NOW - 5000) / 1000);
    expect(sampleOf(told, "license_pool_expiry_timestamp_seconds", solver)).toBeDefined();
    const seats = [...told.keys()].filter((name) => /seats|utilization|unlimited|checkouts/.test(name));
    expect(seats).toEqual([]);
  });

  test("that failed has only its state, and one with 0 seats has no utilization", async () => {
    const unknown = { total: null, used: null, available: null, collectedAt: null, pools: [] };
    const failed = feature("solver", { state: "failed", ...unknown });
    const none = feature("mesher", { total: 0, used: 0, available: 0 });
    const told = await parsed(picture("eda", { features: [failed, none] }));
    const ofSolver = [...told.values()].filter(({ samples }) =>
      samples.some(({ labels }) => labels.feature === "solver"),
    );
    expect(ofSolver.map(({ name }) => name)).toEqual(["license_feature_info", "license_feature_state"]);
    expect(sampleOf(told, "license_feature_seats_used", { feature: "mesher" })).toBe(0);
    expect(told.has("license_feature_utilization_ratio")).toBe(false);
  });

  test("with a permanent pool has no expiry", async () => {
    const permanent = { expiresOn: null, expiresAt: null, permanent: true };
    const pools = feature("solver").pools.map((pool) => ({ ...pool, expiry: permanent }));
    const told = await parsed(picture("eda", { features: [feature("solver", { pools })] }));
    expect(told.has("license_pool_expiry_timestamp_seconds")).toBe(false);
    expect(sampleOf(told, "license_pool_seats_issued", solver)).toBe(4);
  });
});

const MEMBER = { port: 27000, version: null, error: null };
const member = (host: string, status: "up" | "down", master = false) => ({ ...MEMBER, host, status, master });

describe("a server", () => {
  test("has its status, parts and labels", async () => {
    const told = await parsed(
      picture("eda", {
        status: "degraded",
        // A member may be listed twice, because tools may print a part twice.
        members: [member("lic1", "up", true), member("lic2", "down"), member("lic2", "up")],
        daemons: [{ ...DAEMON, totals: { checkouts: 12, denials: 3, removals: null } }],
      }),
    );
    const status = (word: string) => sampleOf(told, "license_server_status", { server: "eda", status: word });
    expect(["up", "degraded", "down", "unknown"].map(status)).toEqual([0, 1, 0, 0]);
    const labels = { name: "The eda", manager: "flexnet", label_site: "muc" };
    expect(sampleOf(told, "license_server_info", labels)).toBe(1);
    expect(sampleOf(told, "license_member_status", { member: "27000@lic2", status: "down" })).toBe(1);
    expect(sampleOf(told, "license_member_master", { member: "27000@lic1" })).toBe(1);
    expect(sampleOf(told, "license_member_connect_seconds", { member: "27000@lic1" })).toBe(0.0015);
    expect(sampleOf(told, "license_daemon_denials_total", { daemon: "acmed" })).toBe(3);
    expect(sampleOf(told, "license_daemon_removals_total")).toBeUndefined();
    expect(sampleOf(told, "license_server_features", { state: "ok" })).toBe(2);
    expect(sampleOf(told, "license_server_last_poll_duration_seconds")).toBe(0.12);
  });

  test("that was never polled has no times and no counts of lines", async () => {
    const unknown = { status: "unknown", state: "failed", collectedAt: null, lastPollAt: null } as const;
    const parts = { pollDurationMs: null, members: [], daemons: [], reachability: [], features: [] };
    const server = monitored("eda", { enabled: false });
    const told = await parsed(picture("eda", { ...unknown, ...parts, server }));
    expect(sampleOf(told, "license_server_enabled")).toBe(0);
    expect([...told.keys()].filter((name) => /timestamp|duration|unparsed|checkouts/.test(name))).toEqual([]);
  });

  test("contains no user and no client host", async () => {
    const text = await render([picture("eda")]);
    expect(text).not.toMatch(/ada|ws01/);
  });
});

describe("the text", () => {
  test("of OpenMetrics ends with EOF, and families of counters have no _total", async () => {
    const daemons = [{ ...DAEMON, totals: { checkouts: 1, denials: 2, removals: 3 } }];
    const text = await render([picture("eda", { daemons })], "openmetrics");
    expect(text).toEndWith("\n# EOF\n");
    expect(text).toContain("# TYPE license_daemon_denials counter\nlicense_daemon_denials_total{");
    expect(await render([picture("eda", { daemons })])).toContain(
      "# TYPE license_daemon_denials_total counter\nlicense_daemon_denials_total{",
    );
    expect(sampleOf(parseText(text), "license_daemon_denials_total")).toBe(2);
  });

  test("preserves any name", async () => {
    const family = gauge("a_b", "Some help.");
    // Empty values are left out, because they equal absent labels.
    const hostile = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.string({ unit: fc.constantFrom("\\", '"', "\n", "n", "\r", "\0", "{", "}", ",", "=", " ", "💥") }),
    );
    await fc.assert(
      fc.asyncProperty(hostile, hostile, fc.double({ noNaN: true }), async (a, b, value) => {
        for (const format of ["text", "openmetrics"] as const) {
          const text = await render([], format, (emit) => emit(family, labelsOf({ one: a, two: b }), value));
          const [sample] = parseText(text).get("a_b")?.samples ?? [];
          const expected = { ...(a !== "" && { one: a }), ...(b !== "" && { two: b }) };
          expect(sample?.labels).toEqual(expected);
          expect(sample?.value).toBe(value === 0 ? 0 : value);
        }
      }),
    );
  });

  test("of half a surrogate pair is valid UTF-8", async () => {
    const text = await render([], "text", (emit) => emit(gauge("a", "Help."), [["x", "a\ud800b"]], 1));
    expect(parseText(text).get("a")?.samples[0]?.labels.x).toBe("a\ufffdb");
  });

  test("of a histogram is cumulative", async () => {
    const durations = createHistogram([0.5, 1, 10]);
    for (const value of [0.1, 0.5, 0.7, 20]) durations.observe(value);
    const family = histogram("d_seconds", "Help.");
    const emitAll = (emit: Emit) => durations.emit(emit, family, [["server", "eda"]]);
    const told = parseText(await render([], "openmetrics", emitAll));
    const bucket = (le: string) => sampleOf(told, "d_seconds_bucket", { le, server: "eda" });
    expect(["0.5", "1.0", "10.0", "+Inf"].map(bucket)).toEqual([2, 3, 3, 4]);
    expect(sampleOf(told, "d_seconds_count")).toBe(4);
    expect(sampleOf(told, "d_seconds_sum")).toBeCloseTo(21.3);
  });
});
