import { describe, expect, test } from "bun:test";
import { until } from "./harness.ts";
import { npmEventSource, npmWebSocket } from "./stream-clients.ts";
import { createStreamSite, publish, replay, requestIdOf, type Seen, untilSeen } from "./stream-site.ts";

describe("the npm package ws", () => {
  test("resumes with last_event_id after a crash without lost or repeated events", async () => {
    await using site = await createStreamSite();
    const first = await site.serve();
    const key = await site.key("admin");
    const { seen, answers, closed } = await npmWebSocket(`${first.url}/ws/logs?api_key=${key}`);
    await publish(first, { tag: "before", count: 200 });
    await untilSeen(seen, "before-199");
    await first.kill();
    // A crash sends no close frame.
    expect([(await closed).code, answers]).toEqual([1006, []]);
    await using second = await site.serve();
    // Publish while no client is connected, and again after the client has reconnected.
    await publish(second, { tag: "after", count: 100 });
    const last = seen.at(-1)?.id ?? Number.NaN;
    const again = await npmWebSocket(`${second.url}/ws/logs?api_key=${key}&last_event_id=${last}`);
    await publish(second, { tag: "after-again", count: 1 });
    await untilSeen(again.seen, "after-again-0");
    const all = [...seen, ...again.seen];
    const truth = await replay(second, key, (all[0]?.id ?? 0) - 1, "after-again-0");
    expect(all.slice(0, truth.length)).toEqual([...truth]);
    const published = all.filter((each) => /^(before|after)-/.test(requestIdOf(each) ?? ""));
    expect(published).toHaveLength(200 + 100 + 1);
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    const { type, from, oldest } = again.answers[0] ?? {};
    expect([type, from]).toEqual(["resume", last]);
    expect(Number(oldest)).toBeLessThan(last);
    expect(await second.stop()).toBe(0);
    expect(await again.closed).toEqual({ code: 1001, reason: "licmond is shutting down" });
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

    const metrics = { events: ["metrics"], interval: 250 };
    expect(await answer({ type: "subscribe", ...metrics })).toMatchObject({ type: "subscribed", ...metrics });
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
