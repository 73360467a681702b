import { describe, expect, test } from "bun:test";
import { type Daemon, SLOW, until } from "./harness.ts";
import type { Site } from "./site.ts";
import { connectStalled, sse, ws } from "./stalled.ts";
import { npmEventSource, npmWebSocket } from "./stream-clients.ts";
import { createStreamSite, ownMegabytes, publish, replay, requestIdOf, untilSeen } from "./stream-site.ts";

const SLOW_LINE = "A stream client reads too slowly and was cut off";
/** Length of a request's path that makes the frame of its log event about 1 KB. */
const LENGTH = 500;
/**
 * Number of events that exceeds the buffers of the kernel (4 MB at most by default) and of the daemon (1
 * MiB) together.
 */
const ENOUGH = 10_000;
/** Bytes of a close frame with the code 1013 (RFC 6455 5.5.1): opcode, length, code, reason. */
const CLOSE_1013 = `\x88\x12\x03\xf5reads too slowly`;

/** Waits for log lines about slow clients. Returns their number. */
async function saidSlow(daemon: Daemon, times = 1): Promise<number> {
  const count = () => daemon.output().split(SLOW_LINE).length - 1;
  await until("slow clients are logged", () => count() >= times || undefined);
  return count();
}

/** Counts the daemon's connections with more than 1 MB in the kernel's send queue. */
async function stuck({ port }: Site): Promise<number> {
  const local = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const lines = (await Bun.file("/proc/net/tcp").text()).split("\n").map((line) => line.trim().split(/\s+/));
  // proc(5): local address, remote address, state (01 = established), then the send queue in hex before the colon.
  return lines.filter(
    ([, address, , state, queues]) =>
      address?.endsWith(local) && state === "01" && parseInt(queues ?? "", 16) > 1e6,
  ).length;
}

describe("a reader that stops reading", () => {
  test("of an event stream is cut off, delays no one, and resumes without loss", async () => {
    await using site = await createStreamSite();
    await using daemon = await site.serve();
    const key = await site.key("admin");
    const other = npmEventSource(`${daemon.url}/stream/logs?events=log&api_key=${key}`, ["log"]);
    await until("the other client is connected", () => other.opened() === 1 || undefined);
    const stalled = await connectStalled(site.port, sse(key));
    await publish(daemon, { tag: "bulk", count: ENOUGH, length: LENGTH });
    const last = `bulk-${ENOUGH - 1}`;
    await untilSeen(other.seen, last);
    expect(other.seen.filter((each) => requestIdOf(each)?.startsWith("bulk-"))).toHaveLength(ENOUGH);
    expect(other.opened()).toBe(1);
    other.close();
    expect(await saidSlow(daemon)).toBe(1);

    stalled.resume();
    await stalled.closed;
    const ids = [...stalled.text().matchAll(/^id: (\d+)\ndata: .*\n\n/gm)].map(([, id]) => Number(id));
    expect(ids.length).toBeGreaterThan(0);
    expect(ids.length).toBeLessThan(ENOUGH);
    const rest = await replay(daemon, key, ids.at(-1) ?? 0, last);
    const truth = await replay(daemon, key, (ids[0] ?? 0) - 1, last);
    expect([...ids, ...rest.map(({ id }) => id)]).toEqual(truth.map(({ id }) => id));
  });

  test("of a WebSocket is closed with 1013 and delays no one", async () => {
    await using site = await createStreamSite();
    await using daemon = await site.serve();
    const key = await site.key("admin");
    const other = await npmWebSocket(`${daemon.url}/ws/logs?api_key=${key}`);
    const stalled = await connectStalled(site.port, ws(key));
    await publish(daemon, { tag: "bulk", count: ENOUGH, length: LENGTH });
    await untilSeen(other.seen, `bulk-${ENOUGH - 1}`);
    expect(other.seen.filter((each) => requestIdOf(each)?.startsWith("bulk-"))).toHaveLength(ENOUGH);
    other.close();
    expect(await saidSlow(daemon)).toBe(1);
    stalled.resume();
    await stalled.closed;
    expect(stalled.text().endsWith(CLOSE_1013)).toBe(true);
  });

  test.skipIf(!SLOW)("for good is disconnected, on both kinds of streams", async () => {
    await using site = await createStreamSite();
    await using daemon = await site.serve();
    const key = await site.key("admin");
    const stalled = await Promise.all([sse, ws].map((request) => connectStalled(site.port, request(key))));
    // Do not await this yet: on a slow machine, a connection is cut while events are still being published.
    const published = publish(daemon, { tag: "bulk", count: ENOUGH, length: LENGTH });
    await until("both are stuck", async () => (await stuck(site)) === 2 || undefined, 60_000);
    await published;
    expect(await saidSlow(daemon, 2)).toBe(2);
    await until("both are disconnected", async () => (await stuck(site)) === 0 || undefined, 90_000);
    for (const { close } of stalled) close();
  });

  test.skipIf(!SLOW)("costs less than 5 MB while 30 MB pass", async () => {
    await using site = await createStreamSite();
    await using daemon = await site.serve();
    const key = await site.key("admin");
    // Answering the requests costs memory too, and that amount varies by 10 MB. Ten readers of each kind exceed this noise:
    // without a bound they would take 600 MB.
    await publish(daemon, { tag: "warm", count: 32_000, length: LENGTH });
    const before = await ownMegabytes(daemon.pid);
    const each = [sse(key), ws(key)].flatMap((request) => Array.from({ length: 10 }, () => request));
    const stalled = await Promise.all(each.map((request) => connectStalled(site.port, request)));
    let peak = 0;
    const timer = setInterval(async () => {
      peak = Math.max(peak, await ownMegabytes(daemon.pid));
    }, 20);
    await publish(daemon, { tag: "bulk", count: 32_000, length: LENGTH });
    clearInterval(timer);
    for (const { close } of stalled) close();
    const growth = (peak - before) / each.length;
    console.log(`at the most ${growth.toFixed(1)} MB for each of ${each.length} stalled readers`);
    expect(await saidSlow(daemon, each.length)).toBe(each.length);
    expect(growth).toBeLessThan(5);
  });
});
