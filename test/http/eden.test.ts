import { describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { FeatureRecord, ServerRecord, SummaryRecord, UserRecord } from "../../src/domain/records.ts";
import { bench, monitored, picture } from "./make.ts";

/** Types of a client that is typed by the app. The compiler is the test. */

describe("the typed client", () => {
  test("reads lists, with their filters", async () => {
    const at = bench();
    const { data } = await at
      .client()
      .api.licenses.features.get({ query: { feature: ["solver"], sort: "-utilization", limit: 5 } });
    const used: (number | null)[] = data?.features.map((feature) => feature.used) ?? [];
    expect(used).toEqual([1]);
    expect([data?.total, data?.limit, data?.offset]).toEqual([1, 5, 0]);
    expect(Value.Check(FeatureRecord, data?.features[0])).toBe(true);
  });

  test("reads answers that are not lists", async () => {
    const client = bench().client();
    const { data: whole } = await client.api.licenses.get({ query: {} });
    const { data: one } = await client.api.licenses.servers({ id: "eda" }).get();
    const { data: summary } = await client.api.licenses.summary.get();
    const { data: users } = await client.api.licenses.users.get({ query: { kind: ["checkout"] } });
    expect(whole?.servers[0]?.features[0]?.name).toBe("solver");
    expect(one?.labels).toEqual({ site: "muc" });
    expect(Value.Check(ServerRecord, one)).toBe(true);
    expect(Value.Check(SummaryRecord, summary)).toBe(true);
    expect(Value.Check(UserRecord, users?.users[0])).toBe(true);
    const { data: status } = await client.api.status.get();
    expect(status?.collector.durationMs.p95).toBe(120.5);
    const { data: health } = await client.api.health.get();
    expect(health?.checks.disk.status).toBe("healthy");
    const { data: stats } = await client.api.licenses.stats.get({ query: { start: "-7d", interval: "1h" } });
    expect([stats?.interval, stats?.features]).toEqual(["1h", []]);
  });

  test("sends bodies, and gets errors with their status", async () => {
    const at = bench();
    at.show(picture("eda"), picture("off", { server: monitored("off", { enabled: false }) }));
    const client = at.client(at.keys.admin);
    const made = await client.api.keys.post({ name: "wall", role: "viewer", expiresAt: null });
    expect([made.status, made.data?.role]).toEqual([201, "viewer"]);
    const { data } = await client.api.licenses.rescan.post({ servers: ["eda"] });
    expect(data?.results[0]?.status).toBe("ok");
    const { error } = await client.api.licenses.rescan.post({ servers: ["off"] });
    expect([error?.status, error?.value.code]).toEqual([409, "CONFLICT"]);
    const unknown = await client.api.licenses.servers({ id: "nobody" }).get();
    if (unknown.error?.status !== 404) throw new Error("not 404");
    expect(unknown.error.value.message).toContain("nobody");
  });
});
