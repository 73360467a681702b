import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Listening } from "../../../src/http/listen.ts";
import { HEARTBEAT_MS } from "../../../src/http/streams/broadcaster.ts";
import { closeDoors, serve } from "../doors.ts";
import { type Bench, bench } from "../make.ts";
import { type MemoryStreams, socketOf, taken } from "./rig.ts";

let streams: MemoryStreams;
let site: Bench;
let server: Listening;
beforeEach(() => {
  site = bench();
  streams = site.deps.streams as MemoryStreams;
  server = serve(site);
});
afterEach(async () => {
  streams.close();
  await closeDoors();
});

interface Message extends Record<string, unknown> {
  readonly type: string;
}

/** Opens a socket. Messages are read one by one, the close last. */
async function open(path: string, role: keyof Bench["keys"] = "admin") {
  const key = `${path.includes("?") ? "&" : "?"}api_key=${site.keys[role]}`;
  const socket = new WebSocket(`ws://127.0.0.1:${server.port}${path}${key}`);
  const messages = new TransformStream<Message, Message>({}, {}, { highWaterMark: Infinity });
  const writer = messages.writable.getWriter();
  const reader = messages.readable.getReader();
  socket.onmessage = ({ data }) => void writer.write(JSON.parse(String(data)) as Message);
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.onclose = ({ code, reason }) => resolve({ code, reason });
  });
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = reject;
  });
  const next = async () => (await reader.read()).value as Message;
  return { socket, next, closed, send: (message: unknown) => socket.send(JSON.stringify(message)) };
}

describe("a WebSocket", () => {
  test("gets each log event once, as the object of server-sent events", async () => {
    const { next } = await open("/ws/logs");
    streams.log("broken", { level: "error" });
    streams.log("plain");
    expect(await next()).toMatchObject({ type: "log", level: "error", message: "broken" });
    expect(await next()).toMatchObject({ type: "log", message: "plain" });
  });

  test("accepts the parameters of the streams", async () => {
    const { next } = await open(
      "/ws/combined?level=warn&events=warning_log,metrics&include=licenses&interval=250",
    );
    expect(Object.keys(await next())).toEqual(["type", "id", "timestamp", "licenses"]);
    streams.log("plain");
    streams.log("odd", { level: "warn" });
    let message = await next();
    while (message.type === "metrics") message = await next();
    expect(message).toMatchObject({ message: "odd" });
  });

  test("gets a heartbeat only with heartbeat=event", async () => {
    const quiet = await open("/ws/logs");
    const shown = await open("/ws/logs?heartbeat=event&events=message");
    streams.tick(HEARTBEAT_MS);
    streams.log("broken", { level: "error" });
    streams.log("plain");
    expect(await shown.next()).toEqual({ type: "heartbeat" });
    for (const { next } of [quiet, shown]) {
      expect(await next()).toMatchObject({ message: "broken" });
      expect(await next()).toMatchObject({ message: "plain" });
    }
  });

  test("resumes: a notice first, then stored events, then live ones", async () => {
    for (const message of ["a", "b", "c"]) streams.log(message);
    streams.flush();
    const [first] = streams.stored;
    const { next } = await open(`/ws/logs?last_event_id=${first?.id}`);
    expect(await next()).toEqual({ type: "resume", from: first?.id, oldest: first?.id });
    expect([(await next()).message, (await next()).message]).toEqual(["b", "c"]);
    streams.log("live");
    expect(await next()).toMatchObject({ message: "live" });
  });

  test("answers ping, changes its filter, and rejects unknown messages", async () => {
    const { next, send, socket } = await open("/ws/logs");
    send({ type: "ping" });
    expect(await next()).toEqual({ type: "pong" });
    send({ type: "subscribe", level: ["error"], source: "store" });
    const unset = { levels: null, sources: null, server_ids: null, pattern: null };
    const absent = { ...unset, events: null, heartbeat: null };
    expect(await next()).toEqual({ type: "subscribed", level: ["error"], source: ["store"], ...absent });
    streams.log("plain");
    streams.log("broken", { level: "error", source: "store" });
    expect(await next()).toMatchObject({ message: "broken" });
    send({ type: "subscribe", level: null });
    expect(await next()).toMatchObject({ type: "subscribed", level: null, source: ["store"] });
    // The plural names of the parameters replace the singular ones.
    send({ type: "subscribe", sources: ["store"], levels: "error" });
    expect(await next()).toMatchObject({ source: null, sources: ["store"], level: null, levels: ["error"] });
    send({ type: "subscribe", level: [] });
    expect(await next()).toMatchObject({ level: null, levels: null });

    const refused: [unknown, string][] = [
      [{ type: "subscribe", level: "loud" }, "INVALID_QUERY"],
      [{ type: "subscribe", source: "license-server" }, "INVALID_QUERY"],
      [{ action: "subscribe", filter: { source: "license-server" } }, "INVALID_QUERY"],
      [{ action: "filter", filter: { color: "red" } }, "INVALID_FIELD"],
      [{ action: "filter", filter: "error" }, "INVALID_FIELD"],
      [{ action: "filter" }, "MISSING_FIELD"],
      [{ type: "subscribe", interval: 1000 }, "INVALID_FIELD"],
      [{ type: "subscribe", api_key: "x" }, "INVALID_FIELD"],
      [{ type: "subscribe", level: { a: 1 } }, "INVALID_FIELD"],
      [{ type: "shout" }, "INVALID_FIELD"],
      [{}, "MISSING_FIELD"],
      [[], "INVALID_JSON"],
      [null, "INVALID_JSON"],
    ];
    for (const [message, code] of refused) {
      send(message);
      expect(await next()).toMatchObject({ type: "error", code });
    }
    for (const message of ["{broken", new Uint8Array([1, 2, 3])]) {
      socket.send(message);
      expect(await next()).toMatchObject({ type: "error", code: "INVALID_JSON" });
    }
    streams.log("still open", { source: "store" });
    expect(await next()).toMatchObject({ message: "still open" });
  });

  test("accepts messages by action, whose filter replaces the previous one", async () => {
    const { next, send } = await open("/ws/logs?events=log&sources=store");
    send({ action: "ping" });
    expect(await next()).toEqual({ type: "pong" });
    send({ action: "subscribe", filter: { level: ["error", "warn"], source: "alerts" } });
    const changed = await next();
    const both = { level: ["error", "warn"], source: ["alerts"], sources: null, events: ["log"] };
    expect(changed).toMatchObject({ type: "subscribed", ...both });
    streams.log("hidden", { level: "error", source: "store" });
    streams.log("hidden", { source: "alerts" });
    streams.log("shown", { level: "warn", source: "alerts" });
    expect(await next()).toMatchObject({ message: "shown" });
    send({ action: "filter", filter: { pattern: "refused Connection" } });
    expect(await next()).toMatchObject({ level: null, source: null, pattern: "refused Connection" });
    streams.log("connection lost", { metadata: { error: "refused" } });
    streams.log("The connection was refused");
    expect(await next()).toMatchObject({ message: "The connection was refused" });
    send({ action: "filter", filter: null });
    expect(await next()).toMatchObject({ type: "subscribed", pattern: null, events: ["log"] });
    streams.log("all");
    expect(await next()).toMatchObject({ message: "all" });
  });

  test("server_ids selects log events about these servers", async () => {
    const { next } = await open("/ws/combined?events=log&server_ids=eda,cae");
    streams.log("none");
    streams.log("other", { metadata: { server: "plm" } });
    streams.log("shown", { metadata: { server: "cae" } });
    expect(await next()).toMatchObject({ message: "shown" });
  });

  test("takes its key as a subprotocol, and answers with api_key", async () => {
    const url = `ws://127.0.0.1:${server.port}/ws/logs`;
    const outcome = (protocols: string[], headers: Record<string, string> = {}) =>
      new Promise<string>((resolve) => {
        const socket = new WebSocket(url, { protocols, headers } as unknown as string[]);
        socket.onopen = () => {
          resolve(`open ${socket.protocol}`);
          socket.close();
        };
        socket.onerror = () => resolve("refused");
      });
    expect(await outcome(["api_key", site.keys.viewer])).toBe("open api_key");
    expect(await outcome(["api_key", "lmk_wrong"])).toBe("refused");
    expect(await outcome(["api_key"])).toBe("refused");
    expect(await outcome([site.keys.viewer, "api_key"])).toBe("refused");
    expect(await outcome(["api_key", "x"], { "x-api-key": site.keys.viewer })).toBe("open api_key");
    expect(JSON.stringify(site.logged)).not.toContain(site.keys.viewer.slice(17));
  });

  test("an anonymized key cannot filter by label, which would reveal labels", async () => {
    const { next, send } = await open("/ws/combined?events=checkout", "anonymous");
    send({ type: "subscribe", label: "site:muc" });
    expect(await next()).toMatchObject({ type: "error", code: "AUTH_INSUFFICIENT" });
    send({ type: "subscribe", server: "eda" });
    expect(await next()).toMatchObject({ type: "subscribed", server: ["eda"] });
  });

  test("subscribe changes the servers of checkouts, and checks their names", async () => {
    const { next, send } = await open("/ws/combined?events=checkout&user=nobody");
    send({ type: "subscribe", server: "nope" });
    expect(await next()).toMatchObject({ type: "error", code: "NOT_FOUND" });
    send({ type: "subscribe", user: null, feature: "solver", daemon: ["betad"] });
    expect(await next()).toMatchObject({ user: null, feature: ["solver"], daemon: ["betad"] });
    streams.emit(taken({ daemon: "acmed" }));
    streams.emit(taken({ daemon: "betad" }));
    expect(await next()).toMatchObject({ type: "checkout", daemon: "betad" });
  });

  test("subscribe changes the interval of metrics", async () => {
    const { next, send } = await open("/ws/metrics?interval=3600000");
    expect(await next()).toMatchObject({ type: "metrics" });
    send({ type: "subscribe", interval: 250, include: "licenses" });
    expect(await next()).toMatchObject({ type: "subscribed", interval: 250, include: ["licenses"] });
    for (let count = 0; count < 3; count++)
      expect(Object.keys(await next())).toEqual(["type", "id", "timestamp", "licenses"]);
  });

  test("metrics have ordered ids, by which a client resumes", async () => {
    const { next } = await open("/ws/metrics?interval=250");
    const ids = [];
    for (let count = 0; count < 3; count++) ids.push(String((await next()).id));
    expect(ids).toEqual(ids.toSorted());
    expect(new Set(ids).size).toBe(3);
    const resumed = await open(`/ws/metrics?last_event_id=${ids[0]}`);
    expect(await resumed.next()).toMatchObject({ type: "resume", from: Number(ids[0]?.slice(8)) });
  });

  test("no client message breaks it", async () => {
    const { next, socket } = await open("/ws/combined?events=log");
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string({ unit: "binary" }), fc.json()), async (text) => {
        socket.send(text);
        const { type } = await next();
        expect(["pong", "subscribed", "error"]).toContain(type);
      }),
      // Stay below the limit of messages per second.
      { numRuns: 15 },
    );
  });
});

describe("the handshake", () => {
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(`http://127.0.0.1:${server.port}${path}`, { headers });

  test.each([
    ["no key", "/ws/logs", 401, "AUTH_MISSING"],
    ["a wrong key", "/ws/logs?api_key=lmk_x", 401, "AUTH_INVALID"],
    ["a wrong parameter", "/ws/metrics?interval=1&api_key=", 400, "INVALID_QUERY"],
    ["a plain GET", "/ws/logs?api_key=", 400, "INVALID_FIELD"],
  ])("%s is an HTTP error", async (_, path, status, code) => {
    const response = await get(path.endsWith("api_key=") ? `${path}${site.keys.admin}` : path);
    expect(response.status).toBe(status);
    expect(response.headers.get("x-request-id")).toBeTruthy();
    expect(await response.json()).toMatchObject({ code });
  });

  test("an upgrade without a handshake is refused", async () => {
    const response = await get(`/ws/logs?api_key=${site.keys.admin}`, { upgrade: "websocket" });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: "INVALID_FIELD" });
  });
});

describe("the close", () => {
  test("is 1001 at shutdown", async () => {
    const { closed } = await open("/ws/logs");
    streams.broadcaster.close();
    expect(await closed).toEqual({ code: 1001, reason: "licmond is shutting down" });
  });

  test("is 1008 for more than 20 messages a second", async () => {
    const { closed, send } = await open("/ws/logs");
    for (let count = 0; count < 50; count++) send({ type: "ping" });
    expect((await closed).code).toBe(1008);
    expect(streams.broadcaster.counts().websocket).toBe(0);
  });

  test("is 1009 for a message over 64 KiB", async () => {
    const { closed, socket } = await open("/ws/logs");
    socket.send("x".repeat(65 * 1024));
    expect((await closed).code).toBe(1009);
  });

  test("is 1013 for a client that sends requests and never reads", () => {
    const { done, held, say } = socketOf(site, "admin", "logs", "");
    say({ type: "ping" });
    held.bytes = 2 * 1024 * 1024;
    say({ type: "ping" });
    say({ type: "ping" });
    expect(done).toEqual(['{"type":"pong"}', 1013]);
  });

  test("by the client leaves nothing behind", async () => {
    const { socket, closed } = await open("/ws/combined");
    socket.close(1000);
    await closed;
    while (streams.broadcaster.counts().websocket > 0) await Bun.sleep(5);
  });

  test("ends with its key", async () => {
    const { closed } = await open("/ws/logs", "viewer");
    for (const { id, role } of site.deps.keys.list()) if (role === "viewer") site.deps.keys.revoke(id);
    expect((await closed).code).toBe(1008);
  });
});

test("a picture event is encoded once per audience, for 200 readers", () => {
  streams.limit = { streams: 500, perKey: 500 };
  const readers = (["viewer", "anonymous"] as const).flatMap((role) =>
    Array.from({ length: 100 }, () => socketOf(site, role, "combined", "events=picture").done),
  );
  const made: string[] = [];
  for (let to = 2; to <= 51; to++)
    streams.bus.pass({ type: "picture", server: "eda", from: to - 1, to, status: "up" }, (audience) => {
      made.push(`${to} ${audience}`);
      return `"changed":{"name":"${audience}"}`;
    });
  streams.flush();
  expect(made.length).toBe(2 * 50);
  expect(new Set(made).size).toBe(2 * 50);
  const changes = (done: readonly (string | number)[]) => done.filter((one) => /"changed"/.test(String(one)));
  expect(readers.map((done) => changes(done).length)).toEqual(readers.map(() => 50));
  const [names, pseudonyms] = [readers[0], readers[100]].map((done) => changes(done ?? [])[0]);
  expect([names, pseudonyms]).toEqual([
    expect.stringContaining('"names"'),
    expect.stringContaining('"pseudonyms"'),
  ]);
});
