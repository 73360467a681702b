import { describe, expect, test } from "bun:test";
import { type Daemon, until } from "./harness.ts";
import { npmEventSource, npmWebSocket, type SocketClient } from "./stream-clients.ts";
import { createStreamSite, publish, replay, requestIdOf, type Seen, untilSeen } from "./stream-site.ts";

/** Publishes events across a crash of the daemon, and compares a client's events with the stored ones. */
async function overACrash(
  connect: (daemon: Daemon, key: string) => Promise<readonly Seen[]>,
  comeBack: (daemon: Daemon, key: string) => Promise<void>,
): Promise<void> {
  await using site = await createStreamSite();
  const first = await site.serve();
  const key = await site.key("admin");
  const seen = await connect(first, key);
  await until("the client is connected", async () => {
    const status = await (await first.get("/api/status", key)).text();
    return /"(sse|websocket)":[1-9]/.test(status) || undefined;
  });
  await publish(first, { tag: "before", count: 200 });
  await untilSeen(seen, "before-199");
  await first.kill();
  await using second = await site.serve();
  // Publish while no client is connected, and again after it has reconnected.
  await publish(second, { tag: "after", count: 100 });
  await comeBack(second, key);
  await publish(second, { tag: "after-again", count: 1 });
  await untilSeen(seen, "after-again-0");
  const truth = await replay(second, key, (seen[0]?.id ?? 0) - 1, "after-again-0");
  expect(seen.slice(0, truth.length)).toEqual([...truth]);
  const published = seen.filter((each) => /^(before|after)-/.test(requestIdOf(each) ?? ""));
  expect(published).toHaveLength(200 + 100 + 1);
  expect(new Set(seen.map(({ id }) => id)).size).toBe(seen.length);
  expect(await second.stop()).toBe(0);
}

test("the npm package eventsource reconnects after a crash without lost or repeated events", async () => {
  let client: ReturnType<typeof npmEventSource> | undefined;
  await overACrash(
    async (daemon, key) => {
      client = npmEventSource(`${daemon.url}/stream/logs?api_key=${key}`, ["log"]);
      return client.seen;
    },
    async () => {},
  );
  expect(client?.opened()).toBe(2);
  client?.close();
});

describe("the npm package ws", () => {
  test("resumes with last_event_id after a crash without lost or repeated events", async () => {
    const seen: Seen[] = [];
    const clients: SocketClient[] = [];
    const connect = async (daemon: Daemon, key: string) => {
      const last = seen.at(-1)?.id;
      const query = last === undefined ? "" : `&last_event_id=${last}`;
      const client = await npmWebSocket(`${daemon.url}/ws/logs?api_key=${key}${query}`);
      seen.push(...client.seen.splice(0));
      client.seen.push = (...events) => seen.push(...events);
      clients.push(client);
      return seen;
    };
    await overACrash(connect, async (daemon, key) => {
      // A crash sends no close frame.
      expect((await clients[0]?.closed)?.code).toBe(1006);
      await connect(daemon, key);
    });
    const [first, second] = clients;
    expect(first?.answers).toEqual([]);
    const resumedAt = seen[seen.findIndex((each) => requestIdOf(each) === "before-199")]?.id;
    const { type, from, oldest } = second?.answers[0] ?? {};
    expect(type).toBe("resume");
    expect(Number(from)).toBeGreaterThanOrEqual(resumedAt ?? Number.NaN);
    expect(Number(oldest)).toBeLessThan(Number(from));
    expect(await second?.closed).toEqual({ code: 1001, reason: "licmond is shutting down" });
  });

  test("pings, changes its filter, gets the objects of the event stream, and errors for bad messages", async () => {
    await using site = await createStreamSite();
    await using daemon = await site.serve();
    const key = await site.key("admin");
    const sse = npmEventSource(`${daemon.url}/stream/logs?events=log&api_key=${key}`, ["log"]);
    const { socket, seen, answers, closed } = await npmWebSocket(`${daemon.url}/ws/combined?api_key=${key}`);
    const answer = async (message: unknown) => {
      const before = answers.length;
      socket.send(typeof message === "string" ? message : JSON.stringify(message));
      return until("an answer", () => answers[before]);
    };
    expect(await answer({ type: "ping" })).toEqual({ type: "pong" });
    await until("both are connected", () => (sse.opened() === 1 && seen.length > 0) || undefined);
    await publish(daemon, { tag: "before", count: 20 });
    await Promise.all([untilSeen(seen, "before-19"), untilSeen(sse.seen, "before-19")]);
    const tagged = (list: readonly Seen[]) =>
      list.filter((each) => requestIdOf(each)?.startsWith("before-")).map(({ data }) => data);
    expect(tagged(seen)).toEqual(tagged(sse.seen));
    expect(tagged(seen)).toHaveLength(20);
    sse.close();

    expect(await answer({ type: "subscribe", events: ["metrics"], interval: 250 })).toMatchObject({
      type: "subscribed",
      events: ["metrics"],
      interval: 250,
    });
    const from = seen.length;
    await until("metrics come", () => seen.length >= from + 3 || undefined);
    expect(new Set(seen.slice(from).map(({ name }) => name))).toEqual(new Set(["metrics"]));
    expect(await answer({ type: "subscribe", level: "loud" })).toMatchObject({ code: "INVALID_QUERY" });
    expect(await answer("{broken")).toMatchObject({ type: "error", code: "INVALID_JSON" });
    expect(await answer({ type: "ping" })).toEqual({ type: "pong" });
    socket.send("x".repeat(65 * 1024));
    expect((await closed).code).toBe(1009);
  });
});
