import { describe, expect, test } from "bun:test";
import { ApiError } from "../../src/domain/errors.ts";
import { createSite, server, startSite, UNREACHABLE } from "./collector-site.ts";

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "no error",
    (error: unknown) => (error instanceof ApiError ? error.code : String(error)),
  );

describe("the schedule", () => {
  test.each([
    [0.5, [0, 60, 120, 180]],
    [0, [0, 54, 108, 162]],
    [0.999999, [0, 66, 132, 198]],
  ])("polls at once and then at the interval, a tenth early or late: %p", async (value, starts) => {
    const site = startSite(["a"], { random: () => value });
    await site.time.pass(200_000);
    expect(site.startsOf("a").map(Math.round)).toEqual(starts);
  });

  test("first polls are spread over ten seconds", async () => {
    const ids = Array.from({ length: 28 }, (_, index) => `s${index}`);
    const site = startSite(ids, { concurrency: 8 });
    for (const id of ids) site.behave(id, { takesMs: 10 });
    await site.time.pass(20_000);
    const starts = ids.map((id) => site.startsOf(id)[0]);
    expect(starts.slice(0, 9)).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0.5]);
    expect(starts.at(-1)).toBe(10);
  });

  test("after a slow poll the next one waits a tenth of the interval", async () => {
    const site = startSite([server("a", { intervalMs: 5000 })]);
    site.behave("a", { takesMs: 20_000 });
    await site.time.pass(45_000);
    expect(site.startsOf("a")).toEqual([0, 20.5, 41]);
    expect(site.most.ofOneServer).toBe(1);
  });

  test("failures double the wait up to ten minutes, a success resets it", async () => {
    const site = startSite(["a"]);
    site.behave("a", { error: UNREACHABLE, takesMs: 0 });
    await site.time.pass(2_800_000);
    expect(site.startsOf("a")).toEqual([0, 60, 180, 420, 900, 1500, 2100, 2700]);
    site.behave("a", { error: null });
    await site.time.pass(650_000);
    expect(site.startsOf("a").slice(8)).toEqual([3300, 3360, 3420]);
    // If the interval is longer than the maximum back-off, failed polls do not extend it.
    const hourly = startSite([server("a", { intervalMs: 3_600_000 })]);
    hourly.behave("a", { error: UNREACHABLE, takesMs: 0 });
    await hourly.time.pass(4 * 3_600_000);
    expect(hourly.startsOf("a")).toEqual([0, 3600, 7200, 10800, 14400]);
  });

  test("disabled servers are never polled", async () => {
    const site = startSite([server("a", { enabled: false }), "b"]);
    await site.time.pass(100_000);
    expect(site.startsOf("a")).toEqual([]);
    expect(site.startsOf("b")).toEqual([0, 60]);
    expect(await codeOf(site.collector.pollNow("a"))).toBe("CONFLICT");
    expect(await codeOf(site.collector.rescan(["b", "a"], 1000))).toBe("CONFLICT");
  });

  test("a failing store is logged, fails pollNow, and stops no polls", async () => {
    const site = startSite(["a"]);
    site.store.take = () => Promise.reject(new Error("disk full"));
    const told = codeOf(site.collector.pollNow("a"));
    const rows = site.collector.rescan(null, 5000);
    await site.time.pass(70_000);
    expect(await told).toBe("Error: disk full");
    expect(await rows).toMatchObject([{ server: "a", status: "failed", error: { code: "DATABASE_ERROR" } }]);
    expect(site.startsOf("a")).toEqual([0, 60]);
    const errors = site.log.filter(({ level }) => level === "error").map(({ message }) => message);
    expect(errors).toEqual(["poll could not be stored", "poll could not be stored"]);
    site.store.take = async () => {};
    await site.time.pass(60_000);
    expect(site.recorded.length).toBe(1);
  });

  test("a poll that throws is recorded as failed", async () => {
    const site = startSite(["a"]);
    site.behave("a", { breaks: true });
    await site.time.pass(2000);
    expect(site.recorded[0]?.outcome.error?.code).toBe("LICENSE_QUERY_FAILED");
    expect(site.log.some(({ level }) => level === "error")).toBe(true);
  });
});

describe("a forced poll", () => {
  test("joins the running one", async () => {
    const site = startSite(["a"]);
    await site.time.pass(500);
    const both = Promise.all([site.collector.pollNow("a"), site.collector.pollNow("a")]);
    await site.time.pass(600);
    const [one, two] = await both;
    expect(one).toBe(two);
    expect(one.outcome.durationMs).toBe(1000);
    expect(site.polls.length).toBe(1);
  });

  test("runs at once between two scheduled ones and moves the next", async () => {
    const site = startSite(["a"]);
    await site.time.pass(30_000);
    const polled = site.collector.pollNow("a");
    await site.time.pass(70_000);
    expect((await polled).picture.state).toBe("ok");
    expect(site.startsOf("a")).toEqual([0, 30, 90]);
  });

  test("goes ahead of waiting scheduled polls", async () => {
    const site = startSite(["a", "b", "c", "d"], { concurrency: 1 });
    for (const id of ["a", "b", "c", "d"]) site.behave(id, { takesMs: 15_000 });
    await site.time.pass(11_000);
    expect(site.running()).toEqual(["a"]);
    site.collector.pollNow("d");
    await site.time.pass(50_000);
    expect(site.polls.map(({ id }) => id).slice(0, 4)).toEqual(["a", "d", "b", "c"]);
  });

  test("can be joined while its outcome is stored, and frees its slot", async () => {
    const site = createSite(["a", "b"], { concurrency: 1 });
    site.store.take = () => site.time.sleep(5000);
    const [first, other] = [site.collector.pollNow("a"), site.collector.pollNow("b")];
    await site.time.pass(1500);
    expect([site.running(), site.collector.status().runningPolls]).toEqual([["b"], 1]);
    const joined = site.collector.pollNow("a");
    await site.time.pass(10_000);
    expect(await joined).toBe(await first);
    await other;
    expect(site.polls.length).toBe(2);
  });

  test("of an unknown server is NOT_FOUND", async () => {
    const site = createSite(["a"]);
    expect(await codeOf(site.collector.pollNow("nobody"))).toBe("NOT_FOUND");
    expect(await codeOf(site.collector.rescan(["a", "nobody"], 1000))).toBe("NOT_FOUND");
    expect(site.polls).toEqual([]);
  });
});

describe("a rescan", () => {
  test("has one row per server, in the given order", async () => {
    const site = createSite(["ok", "cut", "dead", server("off", { enabled: false })]);
    site.behave("cut", { state: "partial" });
    site.behave("dead", { error: UNREACHABLE, takesMs: 2000 });
    const rows = site.collector.rescan(["dead", "ok", "cut", "ok"], 60_000);
    await site.time.pass(5000);
    expect(await rows).toEqual([
      { server: "dead", status: "failed", durationMs: 2000, error: UNREACHABLE },
      { server: "ok", status: "ok", durationMs: 1000, error: null },
      { server: "cut", status: "partial", durationMs: 1000, error: null },
    ]);
    const all = site.collector.rescan(null, 60_000);
    await site.time.pass(5000);
    expect((await all).map((row) => row.server)).toEqual(["ok", "cut", "dead"]);
  });

  test("reports unfinished polls as TIMEOUT, and they continue", async () => {
    const site = createSite(["quick", "slow"]);
    site.behave("slow", { takesMs: 20_000 });
    const rows = site.collector.rescan(null, 5000);
    await site.time.pass(6000);
    expect(await rows).toMatchObject([
      { server: "quick", status: "ok" },
      { server: "slow", status: "failed", durationMs: 5000, error: { code: "TIMEOUT" } },
    ]);
    expect(site.running()).toEqual(["slow"]);
    await site.time.pass(20_000);
    expect(site.recorded.map(({ outcome }) => outcome.serverId)).toEqual(["quick", "slow"]);
  });
});

describe("a changed config", () => {
  test("adds and removes servers while polls run", async () => {
    const site = startSite(["a", "b"]);
    site.behave("b", { takesMs: 10_000 });
    await site.time.pass(2000);
    const waiting = codeOf(site.collector.pollNow("b"));
    site.collector.setServers([server("a"), server("c")]);
    expect(await waiting).toBe("NOT_FOUND");
    await site.time.pass(70_000);
    expect(site.startsOf("a")).toEqual([0, 60]);
    expect(site.startsOf("b")).toEqual([0]);
    expect(site.startsOf("c")).toEqual([2, 62]);
    expect(site.recorded.some(({ outcome }) => outcome.serverId === "b")).toBe(false);
    expect(site.forgotten).toEqual(["b"]);
    expect(await site.collector.raw("b")).toBeNull();
  });

  test("a new address restarts the running poll, also for waiting callers", async () => {
    const site = startSite(["a"]);
    site.behave("a", { takesMs: 10_000 });
    await site.time.pass(2000);
    const waiting = site.collector.pollNow("a");
    site.collector.setServers([server("a", { address: "27000@lic2" })]);
    await site.time.pass(20_000);
    expect(site.polls.map(({ address, aborted }) => [address, aborted])).toEqual([
      ["27000@lic1", true],
      ["27000@lic2", false],
    ]);
    expect((await waiting).outcome.durationMs).toBe(10_000);
    expect(site.recorded.length).toBe(1);
    expect(site.most.ofOneServer).toBe(1);
  });

  test("a new name or interval does not end the running poll", async () => {
    const site = startSite(["a"]);
    await site.time.pass(500);
    site.collector.setServers([server("a", { name: "other", intervalMs: 10_000 })]);
    await site.time.pass(25_000);
    expect(site.startsOf("a")).toEqual([0, 10, 20]);
    site.collector.setServers([server("a", { intervalMs: 30_000 })]);
    await site.time.pass(30_000);
    expect(site.startsOf("a")).toEqual([0, 10, 20, 50]);
  });

  test("disabling cancels the poll; enabling polls once the old tool has ended", async () => {
    const site = startSite(["a"], { abortTakesMs: 3000 });
    site.behave("a", { takesMs: 10_000 });
    await site.time.pass(2000);
    site.collector.setServers([server("a", { enabled: false })]);
    await site.time.pass(1000);
    expect(site.collector.status().nextPollAt).toBeNull();
    site.collector.setServers([server("a")]);
    await site.time.pass(20_000);
    expect(site.startsOf("a")).toEqual([0, 5]);
    expect(site.most.ofOneServer).toBe(1);
    expect(site.recorded.length).toBe(1);
  });
});

describe("stop", () => {
  test("cancels and awaits all polls, and starts none", async () => {
    const site = createSite(["a", "b"], { concurrency: 1, abortTakesMs: 2000 });
    site.behave("a", { takesMs: 15_000 });
    site.collector.start();
    await site.time.pass(12_000);
    const waiting = [site.collector.pollNow("a"), site.collector.pollNow("b")].map(codeOf);
    let stopped = false;
    const stopping = site.collector.stop().then(() => {
      stopped = true;
    });
    expect(await Promise.all(waiting)).toEqual(["SERVICE_UNAVAILABLE", "SERVICE_UNAVAILABLE"]);
    await site.time.pass(1000);
    expect(stopped).toBe(false);
    await site.time.pass(1000);
    await stopping;
    expect(site.running()).toEqual([]);
    await site.time.pass(1_000_000);
    expect(site.polls.length).toBe(1);
    expect(site.recorded).toEqual([]);
    expect(await codeOf(site.collector.pollNow("a"))).toBe("SERVICE_UNAVAILABLE");
  });
});

describe("the log", () => {
  test("has one line when a server goes down and one when it answers again", async () => {
    const site = startSite(["a"]);
    const loud = () => site.log.filter(({ level }) => level !== "debug");
    await site.time.pass(10_000);
    expect(loud()).toEqual([]);
    site.behave("a", { error: { ...UNREACHABLE, details: `(-15,570)${"x".repeat(2000)}` } });
    await site.time.pass(400_000);
    const { code, message: error } = UNREACHABLE;
    // The message is cut at 500 characters.
    const details = `(-15,570)${"x".repeat(491)}`;
    expect(loud()).toEqual([
      { level: "error", message: "server does not answer", fields: { server: "a", code, error, details } },
    ]);
    site.behave("a", { error: null });
    await site.time.pass(600_000);
    expect(loud().slice(1)).toEqual([
      { level: "info", message: "server answers again", fields: { server: "a", downMs: 421_000 } },
    ]);
  });
});

describe("the status", () => {
  test("counts outcomes, durations and parse problems", async () => {
    const site = createSite(["a", "b", "c"]);
    site.behave("b", { error: UNREACHABLE, takesMs: 3000 });
    site.behave("c", { reading: { unparsedLines: 7, cut: true }, takesMs: 2000 });
    const begun = site.time.clock.now();
    const durationMs = { p50: null, p95: null };
    expect(site.collector.status()).toMatchObject({ lastPollAt: null, nextPollAt: null, durationMs });
    site.collector.start();
    await site.time.pass(2500);
    expect(site.recorded.map(({ nextPollAt }) => nextPollAt - begun)).toEqual([60_000, 60_000]);
    expect(site.collector.status()).toEqual({
      servers: 3,
      enabled: 3,
      asked: 3,
      runningPolls: 1,
      lastPollAt: begun + 2000,
      nextPollAt: begun + 60_000,
      polls: { ok: 1, partial: 1, failed: 0 },
      durationMs: { p50: 1000, p95: 2000 },
      parseProblems: 7,
    });
    await site.time.pass(1000);
    expect(site.collector.status()).toMatchObject({
      runningPolls: 0,
      polls: { failed: 1 },
      durationMs: { p50: 2000, p95: 3000 },
    });
  });

  test("raw returns the last poll's output", async () => {
    const site = startSite(["a"]);
    expect(await site.collector.raw("a")).toBeNull();
    expect(await site.collector.raw("nobody")).toBeNull();
    await site.time.pass(2000);
    const raw = await site.collector.raw("a");
    expect(raw).toEqual(site.recorded[0]?.outcome.raw ?? null);
  });
});
