import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { type Daemon, SLOW, until } from "./harness.ts";
import { createSite } from "./site.ts";

const HEAD = "GET /api/licenses/summary HTTP/1.1\r\nHost: lic\r\n";
/**
 * Maximum time until Bun closes incomplete requests and idle connections, which usually takes some seconds.
 */
const CUT_OFF_DEADLINE_MS = 120_000;
/** Time without an answer after which a request counts as not served. */
const ANSWER_DEADLINE_MS = 60_000;
const MANY = 10_000;
const isLinux = process.platform === "linux";
/** Descriptor limit of this process, which the daemon inherits. */
const DESCRIPTORS = Number(
  /^Max open files\s+(\d+)/m.exec(isLinux ? readFileSync("/proc/self/limits", "utf8") : "")?.[1] ?? 0,
);

async function crowd(port: number, count: number, first: string) {
  let closed = 0;
  const sockets: Socket[] = [];
  for (let n = 0; n < count; n += 250) {
    await Promise.all(
      Array.from({ length: Math.min(250, count - n) }, () => {
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        const socket = connect(port, "127.0.0.1", () => {
          if (first !== "") socket.write(first);
          resolve();
        });
        socket.on("error", reject);
        socket.on("close", () => closed++);
        socket.resume();
        sockets.push(socket);
        return promise;
      }),
    );
  }
  return {
    sockets,
    closed: () => closed,
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

function residentKb(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
}

/** Sends requests, each on its own connection. Throws if a request is not answered. */
async function othersAreServed(daemon: Daemon, key: string): Promise<void> {
  for (let n = 0; n < 20; n++) {
    const signal = AbortSignal.timeout(ANSWER_DEADLINE_MS);
    const answer = await daemon.get("/api/licenses/summary", key, { keepalive: false, signal });
    await answer.arrayBuffer();
    expect(answer.status).toBe(200);
  }
}

describe.skipIf(!isLinux)("harmful connections", () => {
  test("floods of headers cost at most 16 KB each, and other clients are served", async () => {
    await using site = await createSite();
    await using daemon = await site.serve();
    const key = await site.key("viewer");
    await othersAreServed(daemon, key);
    const before = residentKb(daemon.pid);
    // Send headers up to the limit that never end, and headers far beyond the limit, which would take 100 MB if the daemon
    // kept them.
    using held = await crowd(site.port, 500, `${HEAD}A: ${"a".repeat(15_000)}\r\n`);
    using flooding = await crowd(site.port, 100, `${HEAD}${`A: ${"a".repeat(1_000)}\r\n`.repeat(1_000)}`);
    await until("the floods are cut off", () => flooding.closed() === 100 || undefined);
    const grown = () => residentKb(daemon.pid) - before;
    console.log(`500 half-sent headers and 100 floods: ${grown()} KB more`);
    await othersAreServed(daemon, key);
    // Garbage is collected eventually; a leak stays.
    await until("the memory is returned", () => grown() < 500 * 16 * 3 + 20_000 || undefined);
    expect(held.closed()).toBe(0);
    expect(await daemon.stop()).toBe(0);
  });

  const hasRoom = DESCRIPTORS > MANY + 1_000;
  if (SLOW && !hasRoom)
    console.error(`the test with ${MANY} connections is skipped: ulimit -n is ${DESCRIPTORS}`);
  test.skipIf(!SLOW || !hasRoom)(
    `${MANY} idle connections cost little and are closed, as are requests that drip in; other clients are served`,
    async () => {
      await using site = await createSite();
      await using daemon = await site.serve();
      const [viewer, admin] = [await site.key("viewer"), await site.key("admin")];
      const before = residentKb(daemon.pid);
      using idle = await crowd(site.port, MANY, "GET /api/ping HTTP/1.1\r\nHost: lic\r\n\r\n");
      const grown = residentKb(daemon.pid) - before;
      const each = `${(grown / MANY).toFixed(2)} KB each (${grown} KB)`;
      console.log(`${MANY} idle connections: ${each}; ${idle.closed()} closed meanwhile`);
      expect(grown / MANY).toBeLessThan(10);

      const post = `POST /api/keys HTTP/1.1\r\nHost: lic\r\nX-API-Key: ${admin}\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n`;
      using heads = await crowd(site.port, 500, `${HEAD}A: `);
      using bodies = await crowd(site.port, 100, post);
      const dripping = setInterval(() => {
        for (const socket of [...heads.sockets, ...bodies.sockets]) if (socket.writable) socket.write(" ");
      }, 500);
      try {
        await othersAreServed(daemon, viewer);
        for (const each of [heads, bodies, idle])
          await until(
            "the connections are closed",
            () => each.closed() === each.sockets.length || undefined,
            CUT_OFF_DEADLINE_MS,
          );
      } finally {
        clearInterval(dripping);
      }
      expect(await daemon.stop()).toBe(0);
    },
  );
});
