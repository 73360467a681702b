import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Audience } from "../../../src/domain/words.ts";
import type { Exchange } from "../../../src/http/exchange.ts";
import type { Listening } from "../../../src/http/listen.ts";
import {
  createBroadcaster,
  createClient,
  HEARTBEAT_MS,
  KEY_CHECK_MS,
  REPLAY_WAITING_BYTES,
} from "../../../src/http/streams/broadcaster.ts";
import { type Chunk, createEncoder, FIRST, NONE, SECOND } from "../../../src/http/streams/encode.ts";
import { openStream } from "../../../src/http/streams/open-stream.ts";
import { createStreamFilter } from "../../../src/http/streams/stream-filter.ts";
import type { Bus } from "../../../src/live/bus.ts";
import { closeDoors, serve } from "../doors.ts";
import { type Bench, bench, monitored, picture } from "../make.ts";
import { down, type MemoryStreams, PSEUDONYMS, readFrames, taken } from "./rig.ts";

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

async function open(path: string, headers: Record<string, string> = {}, role: keyof Bench["keys"] = "admin") {
  const key = `${path.includes("?") ? "&" : "?"}api_key=${site.keys[role]}`;
  const response = await fetch(`http://127.0.0.1:${server.port}${path}${key}`, { headers });
  return Object.assign({ response }, response.ok && readFrames(response)) as {
    response: Response;
  } & ReturnType<typeof readFrames>;
}
const resume = (path: string, id: number | string) => open(path, { "Last-Event-ID": String(id) });

describe("a log stream", () => {
  test("opens as an event stream that proxies do not buffer, with a request id", async () => {
    const { response, next } = await open("/stream/logs");
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
      "x-request-id": expect.any(String),
    });
    expect(await next()).toEqual({ retry: 3000 });
  });

  test("sends each event as log, and errors and warnings again with the same id", async () => {
    const { take } = await open("/stream/logs");
    streams.log("plain");
    streams.log("broken", { level: "error" });
    streams.log("odd", { level: "warn" });
    const frames = (await take(6)).slice(1);
    expect(frames.map(({ event }) => event)).toEqual(["log", "log", "error_log", "log", "warning_log"]);
    expect(frames[1]?.id).toBe(frames[2]?.id);
    expect(frames[1]?.data).toEqual(frames[2]?.data);
    expect(frames[0]?.data).toMatchObject({ type: "log", id: `log-${frames[0]?.id}`, message: "plain" });
    expect(frames[0]?.data?.timestamp).toBe(new Date(frames[0]?.id ?? 0).toISOString());
  });

  test.each([
    ["level=error,warn", ["b", "b", "c", "c"]],
    ["source=store", ["b", "b"]],
    ["levels=error", ["b", "b"]],
    ["sources=store&level=error", ["b", "b"]],
    ["level=error&levels=warn", ["b", "b", "c", "c"]],
    ["server_ids=cae&events=log", ["b"]],
    ["pattern=LAST", []],
    ["events=error_log", ["b"]],
    ["events=log", ["a", "b", "c", "d"]],
    ["level=error&events=log", ["b"]],
  ])("?%s selects %p", async (query, messages) => {
    const { take } = await open(`/stream/logs?${query}`);
    streams.log("a");
    streams.log("b", { level: "error", source: "store", metadata: { server: "cae" } });
    streams.log("c", { level: "warn" });
    streams.log("d");
    streams.log("last", { level: "error", source: "store", metadata: { server: "cae" } });
    const frames = (await take(messages.length + 2)).slice(1);
    expect(frames.map(({ data }) => data?.message)).toEqual([...messages, "last"]);
  });

  test.each<[string, string[]]>([
    ["events=message", ["a", "b", "c"]],
    ["events=message,error_log", ["b"]],
    ["events=message,log&level=warn", ["c"]],
  ])("?%s names frames for onmessage, each event once, live and from the store", async (query, wanted) => {
    const logAll = () => {
      streams.log("a");
      streams.log("b", { level: "error" });
      streams.log("c", { level: "warn" });
    };
    logAll();
    streams.flush();
    const { take } = await resume(`/stream/logs?${query}`, "1");
    logAll();
    const frames = (await take(2 * wanted.length + 2)).slice(2);
    expect(frames.map(({ data }) => data?.message)).toEqual([...wanted, ...wanted]);
    expect(frames.every(({ event, id, data }) => event === "message" && data?.id === `log-${id}`)).toBe(true);
  });

  test("sends heartbeats as comments, or with heartbeat=event as events without an id", async () => {
    const hidden = await open("/stream/logs");
    const shown = await open("/stream/logs?heartbeat=event");
    for (const { next } of [hidden, shown]) await next();
    streams.tick(HEARTBEAT_MS);
    expect(await hidden.next()).toEqual({ comment: "" });
    expect(await shown.next()).toEqual({ event: "heartbeat", data: { type: "heartbeat" } });
    expect((await open("/stream/logs?heartbeat=often")).response.status).toBe(400);
    // Must stay well below 40 s, after which the page shows "disconnected".
    expect(HEARTBEAT_MS).toBe(15_000);
  });

  test("keeps data on one line without new frames, whatever the message contains", async () => {
    const hostile = 'x\n\nevent: evil\r\nid: 1\ndata: {}\u2028\u0000"\\';
    const { take } = await open("/stream/logs");
    streams.log(hostile, { metadata: { server: "a\nb" } });
    expect((await take(2))[1]?.data).toMatchObject({ message: hostile, metadata: { server: "a\nb" } });
  });

  test("sends a viewer nothing of auth, audit and http", async () => {
    const { take } = await open("/stream/logs", {}, "viewer");
    for (const source of ["auth", "audit", "http", "collector"] as const) streams.log(source, { source });
    expect((await take(2))[1]?.data).toMatchObject({ message: "collector" });
  });
});

describe("domain events", () => {
  const emitAll = () => {
    streams.emit(taken());
    streams.emit(taken({ daemon: "betad", user: "bob" }));
    streams.emit(taken({ server: "cad", feature: "mesher, v2" }));
    streams.emit(down("eda", "betad"));
    streams.emit(down("cad"));
  };
  test.each<[string, string[]]>([
    ["feature=solver", ["acmed", "betad"]],
    ["feature=solver&daemon=betad", ["betad"]],
    ["feature=mesher, v2", ["acmed"]],
    ["daemon=betad", ["betad", "server_status"]],
    ["server=cad", ["acmed", "server_status"]],
    ["label=location:stu", ["acmed", "server_status"]],
    ["label=location:stu&server=eda", []],
    ["user=bob,nobody", ["betad"]],
    ["feature=solver&feature=mesher, v2&daemon=acmed", ["acmed", "acmed"]],
    ["feature=not-yet", []],
  ])("?%s lets through %p, live and from the store", async (query, wanted) => {
    const labels = { location: "stu" };
    site.show(picture("eda"), picture("cad", { server: monitored("cad", { labels }) }));
    emitAll();
    const path = `/stream/combined?events=checkout,server_status,log&${query}`;
    const { next } = await resume(path, "1");
    streams.log("between");
    emitAll();
    streams.log("last");
    const told: unknown[] = [];
    while (told.at(-1) !== "last") {
      const { event, data } = (await next()) ?? { event: "log", data: { message: "last" } };
      if (event !== undefined)
        told.push(event === "checkout" ? data?.daemon : event === "log" ? data?.message : event);
    }
    expect(told).toEqual([...wanted, "between", ...wanted, "last"]);
  });

  test("are selected by pseudonyms if the key is anonymized", () => {
    const none = { level: null, source: null };
    const event = { id: 1, type: "checkout", ...none, json: JSON.stringify(taken()) } as const;
    const parts = (user: string, audience: Audience) =>
      createStreamFilter("combined", { user: [user] }, { hidden: [], audience }).partsOf(
        createEncoder(PSEUDONYMS).stored(event),
      );
    const pseudonym = PSEUDONYMS.user("ada");
    expect([parts("ada", "names"), parts(pseudonym, "names")]).toEqual([FIRST, NONE]);
    expect([parts("ada", "pseudonyms"), parts(pseudonym, "pseudonyms")]).toEqual([NONE, SECOND]);
  });

  test("of an unknown server are refused", async () => {
    expect((await open("/stream/combined?server=nope")).response.status).toBe(404);
    expect((await open("/stream/combined?label=location:nope")).response.status).toBe(404);
  });
});

describe("resuming", () => {
  const past = (count: number) => {
    for (let index = 0; index < count; index++) streams.log(`past ${index}`);
    streams.flush();
    return streams.stored.map(({ id }) => id);
  };

  test("starts with a resume comment, sends missed events once, then live ones", async () => {
    const [first = 0, , third = 0] = past(5);
    const { take } = await resume("/stream/logs", first);
    const frames = await take(6);
    streams.log("live");
    frames.push(...(await take(1)));
    expect(frames[0]).toEqual({ comment: `resume from ${first}` });
    expect(frames[1]).toEqual({ retry: 3000 });
    const told = frames.slice(2).map(({ data }) => data?.message);
    expect(told).toEqual(["past 1", "past 2", "past 3", "past 4", "live"]);
    expect(frames[3]?.id).toBe(third);
  });

  test.each([
    ["the header", "", (id: number) => ({ "Last-Event-ID": `log-${id}` })],
    ["the query", "&last_event_id=", () => ({})],
    ["the header before the query", "&last_event_id=1", (id: number) => ({ "Last-Event-ID": String(id) })],
  ])("goes by %s", async (_, query, headers) => {
    const [, second = 0] = past(2);
    const path = query.endsWith("=") ? `${query}${second}` : query;
    const { next } = await open(`/stream/logs?_=1${path}`, headers(second) as Record<string, string>);
    expect(await next()).toEqual({ comment: `resume from ${second}` });
  });

  test("reports missing old events, gaps, and an id that is ahead", async () => {
    const ids = past(4);
    const [first = 0, second = 0] = ids;
    streams.forget(second);
    streams.holes.push({ from: second + 1, to: second + 2 });
    const { take } = await resume("/stream/logs", first);
    const comments = (await take(4)).map(({ comment }) => comment);
    expect(comments[2]).toBe(`events up to ${second} were deleted, some may be missing`);
    expect(comments[3]).toBe(`events ${second + 1} to ${second + 2} could not be stored and are missing`);

    const ahead = (ids.at(-1) ?? 0) + 1_000_000;
    const early = await resume("/stream/logs", ahead);
    expect((await early.take(3))[2]?.comment).toContain("is ahead of the newest event");
    const metrics = await resume("/stream/metrics", ahead);
    expect((await metrics.take(3))[2]?.comment).toContain("is ahead of the newest event");
  });

  test.each(["-1", "abc", "log-", "1e5", "log-12x", "1".repeat(16)])("refuses %p", async (id) => {
    expect((await resume("/stream/logs", id)).response.status).toBe(400);
  });

  test("reports events that were deleted while it read, before it goes live", async () => {
    const [first = 0] = past(250);
    const { page } = streams.history;
    Object.assign(streams.history, {
      page: (...asked: Parameters<typeof page>) => {
        if (streams.holes.length === 0) streams.holes.push({ from: first + 7, to: first + 9 });
        return page(...asked);
      },
    });
    const { take } = await resume("/stream/logs", first);
    const missing = { comment: `events ${first + 7} to ${first + 9} could not be stored and are missing` };
    expect((await take(252)).at(-1)).toEqual(missing);
    streams.log("live");
    expect((await take(1))[0]?.data?.message).toBe("live");
  });

  test("leaves out an event that is damaged in the database, and says so", async () => {
    const [first = 0, second = 0, third = 0] = past(3);
    Object.assign(streams.stored[1] ?? {}, { json: "" });
    const { take } = await resume("/stream/logs", first);
    const [, , after, note] = await take(4);
    expect(after?.id).toBe(third);
    expect(note).toEqual({ comment: `event ${second} is damaged in the database and missing` });
  });

  test("is not cut for large pages that it reads as they come", async () => {
    const [first = 0] = past(1);
    for (let index = 0; index < 150; index++) streams.log("x".repeat(10_000));
    streams.flush();
    const { take } = await resume("/stream/logs", first);
    expect(await take(152)).toHaveLength(152);
  });

  test("an empty Last-Event-ID counts as absent", async () => {
    const { next } = await resume("/stream/logs", "");
    expect(await next()).toEqual({ retry: 3000 });
  });

  test("loses and repeats nothing while events keep coming", async () => {
    const [first = 0] = past(2_000);
    const writer = setInterval(() => {
      for (let index = 0; index < 10; index++) streams.log("more");
    }, 5);
    const { take } = await resume("/stream/logs", first);
    const frames = (await take(3_002)).slice(2);
    clearInterval(writer);
    const expected = streams.stored.map(({ id }) => id).filter((id) => id > first);
    expect(frames.map(({ id }) => id)).toEqual(expected.slice(0, 3_000));
  });
});

describe("a metrics stream", () => {
  test("sends an event at once and then one per interval", async () => {
    const start = performance.now();
    const { take } = await open("/stream/metrics?interval=250");
    const frames = (await take(4)).slice(1);
    const took = performance.now() - start;
    expect(frames.map(({ event }) => event)).toEqual(["metrics", "metrics", "metrics"]);
    expect(frames[0]?.data).toMatchObject({
      type: "metrics",
      id: `metrics-${frames[0]?.id}`,
      cpu: 12.5,
      system: { memory: 40, disk: null },
    });
    const ids = frames.map(({ id }) => id ?? 0);
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
    expect(took).toBeGreaterThan(250);
  });

  test("has the parts of include", async () => {
    const fields = async (include: string) => {
      const [, frame] = await (await open(`/stream/metrics?include=${include}`)).take(2);
      return Object.keys(frame?.data ?? {}).join(" ");
    };
    expect(await fields("licenses")).toBe("type id timestamp licenses");
    expect(await fields("system")).toBe("type id timestamp cpu memory system");
  });

  test("gives all current clients one sample with one id", async () => {
    const readers = await Promise.all([1, 2, 3].map(() => open("/stream/metrics")));
    const ids = await Promise.all(readers.map(async ({ take }) => (await take(2))[1]?.id));
    expect(new Set(ids).size).toBe(1);
  });

  test("keeps only the newest of several samples of a batch", () => {
    let publish: Parameters<Bus["subscribe"]>[0] = () => {};
    const subscribe: Bus["subscribe"] = (listener) => {
      publish = listener;
      return () => {};
    };
    const broadcaster = createBroadcaster({
      bus: { subscribe, lastPublished: () => 0 },
      requestSample() {},
      keyHolds: () => true,
      encoder: createEncoder(PSEUDONYMS),
      bufferBytes: () => 1e6,
      log: { warn() {} },
      every: () => () => {},
    });
    const sent: string[] = [];
    const send = (chunk: Chunk) => sent.push(...chunk.texts());
    const filter = createStreamFilter("metrics", {}, { hidden: [], audience: "names" });
    const carrier = { kind: "sse", waiting: () => 0, send, close() {} } as const;
    const client = createClient("k", filter, carrier, { gone() {}, slow() {}, sent() {} });
    broadcaster.enter(client);
    broadcaster.goLive(client);
    broadcaster.wantSample(client);
    const samples = [98, 99].map((used) => {
      const event = {
        type: "metrics",
        id: `metrics-${used}`,
        cpu: 1,
        memory: 1,
        system: {},
        licenses: { used },
      };
      return { id: used, event, json: JSON.stringify(event), patch: null };
    });
    publish(samples as never);
    expect(sent).toEqual([expect.stringContaining('"used":99')]);
  });
});

describe("the combined stream", () => {
  test("with events=message sends every event except pictures as message", async () => {
    const { take } = await open("/stream/combined?events=message");
    await take(2);
    streams.log("one");
    streams.bus.pass(
      { type: "picture", server: "eda", from: 1, to: 2, status: "up" },
      () => '"changed":{},"features":[],"rows":[],"gone":{"features":[],"rows":[]}',
    );
    streams.emit(down("eda"));
    expect((await take(2)).map(({ event, data }) => [event, data?.type])).toEqual([
      ["message", "log"],
      ["message", "server_status"],
    ]);
  });

  test("sends logs, domain events and metrics", async () => {
    const { take } = await open("/stream/combined?events=log,server_status,metrics");
    expect((await take(2))[1]?.event).toBe("metrics");
    streams.log("one");
    streams.emit(down("eda"));
    const frames = await take(2);
    expect(frames.map(({ event }) => event)).toEqual(["log", "server_status"]);
    expect(frames[1]?.data?.id).toBe(`server_status-${frames[1]?.id}`);
  });

  test("resumes with stored events, and then a current sample", async () => {
    streams.log("one");
    streams.flush();
    const { take } = await resume("/stream/combined", "1");
    const frames = (await take(4)).slice(2);
    expect(frames.map(({ event }) => event)).toEqual(["log", "metrics"]);
  });
});

describe("the end of a stream", () => {
  test("a client that disconnects leaves nothing behind", async () => {
    const { cancel, next } = await open("/stream/metrics");
    await next();
    expect(streams.broadcaster.counts()).toEqual({ sse: 1, websocket: 0 });
    await cancel();
    while (streams.broadcaster.counts().sse > 0) await Bun.sleep(5);
    expect(streams.broadcaster.heldBy((id) => id === "any")).toBe(0);
  });

  test("too many are refused with a retry time", async () => {
    streams.limit = { streams: 1, perKey: 5 };
    await open("/stream/logs");
    const { response } = await open("/stream/logs");
    expect(response.status).toBe(503);
    expect(response.headers.get("retry-after")).toBe("5");
    expect(await response.json()).toMatchObject({ code: "SERVICE_UNAVAILABLE" });

    streams.limit = { streams: 10, perKey: 1 };
    expect((await open("/stream/logs")).response.status).toBe(503);
    expect((await open("/stream/logs", {}, "viewer")).response.status).toBe(200);
  });

  test("a shutdown sends a comment", async () => {
    const { rest, next } = await open("/stream/logs");
    await next();
    streams.broadcaster.close();
    expect(await rest()).toEqual([{ comment: "licmond is shutting down" }]);
  });

  test("a revoked key ends its streams", async () => {
    const { rest, next } = await open("/stream/logs", {}, "viewer");
    await next();
    for (const { id, role } of site.deps.keys.list()) if (role === "viewer") site.deps.keys.revoke(id);
    expect((await rest()).at(-1)).toEqual({ comment: "the API key or the sign-in has ended" });
    // The API promises that a stream ends within five seconds.
    expect(KEY_CHECK_MS).toBeLessThan(5_000);
  });
});

describe("stalled replays", () => {
  const past = (count: number, length: number) => {
    for (let index = 0; index < count; index++) streams.log("x".repeat(length));
    streams.flush();
  };

  /** Replays everything to a client that never reads. */
  function stall() {
    const caller = { id: "k", role: "admin", anonymize: false } as NonNullable<Exchange["caller"]>;
    const exchange = { caller, signIn: null, request: new Request("http://lic/") } as Exchange;
    const client = { bytes: 0, ended: "" };
    const carrier = {
      kind: "sse",
      waiting: () => client.bytes,
      send(chunk: Chunk) {
        const { byteLength } = chunk.bytes();
        client.bytes += byteLength;
        return byteLength;
      },
      close(reason: string) {
        client.ended = reason;
      },
    } as const;
    openStream(streams, site.deps.log("http"), "logs", exchange, "1").start(carrier, {});
    return client;
  }

  test("hold little each, and the slowest are cut when the budget of all streams is used up", async () => {
    past(400, 10_000);
    streams.limit = { streams: 100, perKey: 100 };
    streams.bufferBytes = 1024 * 1024;
    const swift = await open("/stream/logs");
    await swift.next();
    const stalled = Array.from({ length: 40 }, stall);
    const left = () => stalled.filter(({ ended }) => ended === "");
    while (left().some(({ bytes }) => bytes < REPLAY_WAITING_BYTES)) await Bun.sleep(1);
    const held = left().reduce((sum, { bytes }) => sum + bytes, 0);
    expect(held).toBeLessThan(streams.bufferBytes);
    expect(held).toBeGreaterThan(streams.bufferBytes / 2);
    // No client has read anything, so the oldest clients are the slowest and are disconnected first.
    expect(stalled.findIndex(({ ended }) => ended === "")).toBe(stalled.length - left().length);
    expect(Math.max(...stalled.map(({ bytes }) => bytes))).toBeLessThan(REPLAY_WAITING_BYTES + 40_000);
    expect(streams.logged[0]?.message).toContain("limits.stream_buffers");
    streams.log("still here");
    expect((await swift.next())?.data?.message).toBe("still here");
  });

  test("alternate with requests: one page per turn of the event loop", async () => {
    past(60, 1_000);
    const { page } = streams.history;
    let turn = 0;
    const turns: number[] = [];
    Object.assign(streams.history, {
      page: (...asked: Parameters<typeof page>) => {
        turns.push(turn);
        return page(...asked);
      },
    });
    const count = () => {
      turn++;
      if (turns.length < 5) setImmediate(count);
    };
    count();
    await Promise.all(Array.from({ length: 5 }, () => resume("/stream/logs", "1")));
    while (turns.length < 5) await Bun.sleep(1);
    expect(new Set(turns.slice(0, 5)).size).toBe(5);
  });
});

test("the older path and HEAD", async () => {
  const { take } = await open("/api/logs/stream?level=warn");
  streams.log("odd", { level: "warn" });
  expect((await take(2))[1]?.event).toBe("log");
  const head = await fetch(`http://127.0.0.1:${server.port}/stream/logs?api_key=${site.keys.admin}`, {
    method: "HEAD",
  });
  expect([head.status, head.headers.get("content-type")]).toEqual([200, "text/event-stream; charset=utf-8"]);
  expect(streams.broadcaster.counts().sse).toBe(1);
});
