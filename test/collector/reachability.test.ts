import { describe, expect, test } from "bun:test";
import {
  createReachability,
  type ReachabilityDeps,
  systemNetwork,
} from "../../src/collector/reachability.ts";

const never = new Promise<never>(() => {});
const fake = (more: Partial<ReachabilityDeps>) =>
  createReachability({
    resolve: async () => ["192.0.2.1"],
    touch: async () => {},
    timeoutMs: 50,
    ...more,
  });

test("a listening port is reachable; a closed port and an unknown name are not", async () => {
  const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const member = { host: "127.0.0.1", port: listener.port };
  const begun = performance.now();
  const [found] = await createReachability()([member]);
  const took = performance.now() - begun;
  expect(found).toMatchObject({ ...member, addresses: ["127.0.0.1"], reachable: true, error: null });
  expect(found?.connectMs).toBeGreaterThanOrEqual(0);
  expect(found?.connectMs).toBeLessThanOrEqual(took + 1);
  listener.stop(true);
  const measured = await createReachability()([member, { host: "no-such-host.invalid", port: 27000 }]);
  expect(measured).toMatchObject([
    { reachable: false, connectMs: null, error: "connection refused (ECONNREFUSED)" },
    { reachable: false, addresses: [], connectMs: null },
  ]);
  expect(measured[1]?.error).toMatch(/name|no answer/);
});

describe("a fake network", () => {
  test("one address of several is enough", async () => {
    const measure = fake({
      resolve: async () => ["192.0.2.1", "192.0.2.2"],
      touch: (address) => (address.endsWith("2") ? Promise.resolve() : never),
    });
    expect(await measure([{ host: "lic1", port: 27000 }])).toMatchObject([
      { addresses: ["192.0.2.1", "192.0.2.2"], reachable: true },
    ]);
  });

  test("silent name servers and hosts time out", async () => {
    const measured = await Promise.all([
      fake({ resolve: () => never })([{ host: "lic1", port: 27000 }]),
      fake({ touch: () => never })([{ host: "lic1", port: 27000 }]),
    ]);
    expect(measured.flat().map(({ error }) => error)).toEqual([
      "no answer within 0.05 s",
      "no answer within 0.05 s",
    ]);
  });

  test("without a port only addresses are known", async () => {
    expect(await fake({})([{ host: "lic1", port: null }])).toMatchObject([
      { addresses: ["192.0.2.1"], reachable: null, error: "the address has no port" },
    ]);
  });

  test("nothing is known after a cancellation", async () => {
    const measured = fake({ touch: () => never, timeoutMs: 10_000 })(
      [{ host: "lic1", port: 1 }],
      AbortSignal.timeout(20),
    );
    expect(await measured).toMatchObject([{ reachable: null, error: "cancelled" }]);
  });

  test("a lookup failure names its code", async () => {
    const resolve = () => Promise.reject(Object.assign(new Error("x"), { code: "DNS_ENOTFOUND" }));
    expect(await fake({ ...systemNetwork, resolve })([{ host: "lic1", port: 1 }])).toMatchObject([
      { reachable: false, error: "unknown host name (ENOTFOUND)" },
    ]);
  });
});

test("a pending connection is joined", async () => {
  const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const first = systemNetwork.touch("127.0.0.1", listener.port);
  expect(systemNetwork.touch("127.0.0.1", listener.port)).toBe(first);
  await first;
  const second = systemNetwork.touch("127.0.0.1", listener.port);
  expect(second).not.toBe(first);
  await second;
  listener.stop(true);
});
