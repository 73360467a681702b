import { expect, test } from "bun:test";
import { type Daemon, SLOW, until } from "./harness.ts";
import { createStreamSite, publish, replay, requestIdOf } from "./stream-site.ts";

const CLIENTS = 50;
const SECONDS = 16;
const RATE = 1_000;
const LIMITS = "streams = 200\nstreams_per_key = 200\n";

/** Reads a stream and disconnects at random times, always resuming after the last complete frame. */
function createRover(url: () => string, key: string, from: number) {
  const ids: number[] = [];
  let last = from;
  let connections = 0;
  let end = false;
  const roam = async () => {
    while (!end) {
      const stop = new AbortController();
      const timer = setTimeout(() => stop.abort(), 50 + Math.random() * 3_000);
      try {
        const response = await fetch(`${url()}/stream/logs?events=log`, {
          headers: { "X-API-Key": key, "Last-Event-ID": String(last) },
          signal: stop.signal,
        });
        if (!response.ok || response.body === null) throw new Error(`HTTP ${response.status}`);
        connections++;
        const decoder = new TextDecoder();
        let rest = "";
        for await (const bytes of response.body) {
          const blocks = (rest + decoder.decode(bytes, { stream: true })).split("\n\n");
          rest = blocks.pop() ?? "";
          for (const block of blocks) {
            const id = /^event: log\nid: (\d+)\ndata: \{.*\}$/.exec(block)?.[1];
            if (id === undefined) {
              if (!/^(:|retry: )/.test(block)) throw new Error(`not a frame: ${block}`);
              continue;
            }
            last = Number(id);
            ids.push(last);
          }
        }
      } catch (error) {
        // Disconnected on purpose, or the daemon is down. Other errors fail the test.
        if (error instanceof Error && /^(HTTP|not a frame)/.test(error.message)) throw error;
        if (!stop.signal.aborted) await Bun.sleep(50);
      } finally {
        clearTimeout(timer);
      }
    }
  };
  const done = roam();
  return {
    ids,
    last: () => last,
    connections: () => connections,
    stop() {
      end = true;
      return done;
    },
  };
}

test.skipIf(!SLOW)(
  `${CLIENTS} clients that come and go for ${SECONDS} s, over a crash, all get the same sequence`,
  async () => {
    await using site = await createStreamSite(LIMITS);
    let daemon: Daemon = await site.serve();
    const key = await site.key("admin");
    await publish(daemon, { tag: "start", count: 1 });
    const from = (await replay(daemon, key, 1, "start-0")).at(-1)?.id ?? 0;
    const rovers = Array.from({ length: CLIENTS }, () => createRover(() => daemon.url, key, from));

    const half = { count: (SECONDS / 2) * RATE, rate: RATE };
    const first = publish(daemon, { tag: "first", ...half });
    const isMost = () => rovers.some(({ ids }) => ids.length > 0.8 * half.count);
    await until("most of the first half is sent", () => isMost() || undefined);
    await daemon.kill();
    daemon = await site.serve();
    const beforeCrash = await first;
    const afterCrash = await publish(daemon, { tag: "second", ...half });
    await publish(daemon, { tag: "end", count: 1 });

    const truth = await replay(daemon, key, from, "end-0");
    const end = truth.at(-1)?.id ?? 0;
    const isEnd = () => rovers.every(({ last }) => last() >= end);
    await until("all have seen the end", () => isEnd() || undefined, 60_000);
    await Promise.all(rovers.map(({ stop }) => stop()));
    expect(await daemon.stop()).toBe(0);

    const sequence = truth.map(({ id }) => id);
    const others = rovers.filter(({ ids }) => ids.slice(0, sequence.length).join() !== sequence.join());
    expect(others).toHaveLength(0);
    // All lines after the crash are in the sequence, and more than half of the lines before it.
    const told = (tag: string) => truth.filter((each) => requestIdOf(each)?.startsWith(`${tag}-`)).length;
    expect(told("second")).toBe(afterCrash);
    expect(told("second")).toBe(half.count);
    expect(told("first")).toBeGreaterThan(half.count / 2);
    const connections = rovers.reduce((sum, rover) => sum + rover.connections(), 0);
    const counts = `answered before the crash ${beforeCrash}, stored ${told("first")}`;
    console.log(`${sequence.length} events, ${connections} connections; ${counts}`);
    expect(connections).toBeGreaterThan(CLIENTS * 2);
  },
);
