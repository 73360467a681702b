import { expect, test } from "bun:test";
import type { PollError } from "../../src/domain/poll.ts";
import { createSite, server, startSite } from "./collector-site.ts";

const TIMED_OUT: PollError = { code: "TIMEOUT", message: "It did not finish.", details: null };
const HANGS = { takesMs: 30_000, error: TIMED_OUT };
const MINUTE = 60;

/** Returns the same numbers in [0, 1) in each run. */
function numbers(): () => number {
  let state = 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

const ids = (kind: string, count: number) => Array.from({ length: count }, (_, index) => `${kind}${index}`);
const longestGap = (starts: readonly number[]) =>
  Math.max(...starts.map((at, index) => at - (starts[index - 1] ?? at)));

test.each([
  [30, 20],
  [60, 40],
])("with %d tools hanging, each of %d healthy servers is polled within 1.5 intervals", async (many, few) => {
  const [hanging, healthy] = [ids("hanging", many), ids("healthy", few)];
  const site = startSite([...hanging, ...healthy], { random: numbers() });
  await site.time.pass(5 * MINUTE * 1000);
  const begun = 5 * MINUTE;
  for (const id of hanging) site.behave(id, HANGS);
  await site.time.pass(60 * MINUTE * 1000);

  // A tool counts as hanging only after its first run, so measure from the time at which all hanging tools
  // are known.
  const known = Math.max(
    ...hanging.map((id) => (site.startsOf(id).find((at) => at >= begun) ?? Number.POSITIVE_INFINITY) + 30),
  );
  expect(known).toBeLessThan(20 * MINUTE);
  for (const id of healthy) {
    const later = site.startsOf(id).filter((at) => at >= known);
    expect(longestGap([known, ...later, 65 * MINUTE])).toBeLessThanOrEqual(1.5 * MINUTE);
  }
  for (const id of hanging) expect(site.startsOf(id).at(-1)).toBeGreaterThan(35 * MINUTE);

  // When the tools answer again, all servers are polled regularly after the maximum back-off.
  for (const id of hanging) site.behave(id, { takesMs: 1000, error: null });
  await site.time.pass(13 * MINUTE * 1000);
  expect(site.collector.status().asked).toBe(many + few);
});

test.each([
  [1, 1],
  [3, 1],
  [8, 2],
  [20, 5],
])("with %d slots, hanging tools use at most %d", async (concurrency, share) => {
  const [hanging, healthy] = [ids("hanging", 20), ids("healthy", 20)];
  const site = createSite([...hanging, ...healthy], { concurrency, hungBefore: hanging });
  for (const id of hanging) site.behave(id, HANGS);
  for (const id of hanging.slice(0, 10)) void site.collector.pollNow(id);
  site.collector.start();
  for (let second = 0; second < 1000; second++) {
    await site.time.pass(1000);
    const slow = site.running().filter((id) => id.startsWith("hanging")).length;
    expect(slow).toBeLessThanOrEqual(share);
    if (second === 1) expect(slow).toBe(share);
  }
  // Servers with hanging tools wait longer, but are polled.
  expect(hanging.filter((id) => site.startsOf(id).length === 0)).toEqual([]);
});

test("a timeout with usable numbers counts as hanging, and so does one before the start", async () => {
  const site = startSite(["a", "b", "c", "d"], { concurrency: 4, hungBefore: ["b", "c", "d"] });
  for (const id of ["b", "c", "d"]) site.behave(id, { takesMs: 30_000, error: null });
  await site.time.pass(29_000);
  expect(site.running()).toEqual(["b"]);
  await site.time.pass(400_000);
  expect(site.most.atOnce).toBe(2);
});

test("a server with a new address does not count as hanging", async () => {
  const site = startSite(["a", "b"], { concurrency: 4, hungBefore: ["a", "b"] });
  for (const id of ["a", "b"]) site.behave(id, HANGS);
  await site.time.pass(1000);
  expect(site.running()).toHaveLength(1);
  site.collector.setServers([server("a"), server("b", { address: "1@new" })]);
  await site.time.pass(95_000);
  site.collector.setServers([server("a", { address: "1@new" }), server("b", { address: "2@new" })]);
  await site.time.pass(1000);
  expect(site.running()).toHaveLength(2);
});

test("the status counts the servers polled in the last interval", async () => {
  const site = createSite(["a", "b", server("off", { enabled: false })]);
  expect(site.collector.status()).toMatchObject({ servers: 3, enabled: 2, asked: 0 });
  site.collector.start();
  await site.time.pass(30_000);
  expect(site.collector.status().asked).toBe(2);
  site.behave("a", { error: TIMED_OUT, takesMs: 0 });
  await site.time.pass(300_000);
  expect(site.collector.status().asked).toBe(1);
});
