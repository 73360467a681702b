import { describe, expect, test } from "bun:test";
import { createHostService } from "../../src/daemon/meters.ts";
import { anonymousPicture, createPseudonyms } from "../../src/http/anonymous/anonymous.ts";
import type { Exchange } from "../../src/http/exchange.ts";
import type { Chunk } from "../../src/http/streams/encode.ts";
import { openStream as openAt } from "../../src/http/streams/open-stream.ts";
import { migrate } from "../../src/hub/database/migrate.ts";
import { createPartitions } from "../../src/hub/database/partitions.ts";
import { createDirectory } from "../../src/hub/lists/directory.ts";
import { dropEvents } from "../../src/hub/streams/publish.ts";
import { createHubStreams } from "../../src/hub/streams/streams.ts";
import { recordingLog } from "../store/recording-log.ts";
import { until } from "../until.ts";
import { describeHub, type TestSite, usePostgres } from "./describe-hub.ts";
import { HAS_POSTGRES } from "./postgres.ts";
import { openStream } from "./reader.ts";
import { open } from "./rig.ts";

const T = Date.parse("2026-03-01T12:00:00Z");
const iso = (at: number) => new Date(at).toISOString();
const DAY = 86_400_000;

const session = (id: number, change: "opened" | "changed" | "ended", more: object = {}) => ({
  kind: "session",
  change,
  announced: true,
  id,
  ...{ server: "eda", daemon: "acmed", feature: 'it\'s, "x"', user: "Ünal <b>", host: "ws01", version: "v1" },
  ...{ count: 2, handle: String(id), startedAt: T, beganAt: T, firstSeenAt: T, lastSeenAt: T },
  ...{ endedAt: null, endReason: null },
  ...more,
});
const END = { lastSeenAt: T + 60_000, endedAt: T + 120_000, endReason: "checkin" };
const denial = (id: number, more: object = {}) => ({
  kind: "denial",
  id,
  ...{
    server: "eda",
    daemon: "acmed",
    feature: "solver",
    user: "ada",
    host: "ws02",
    at: T,
    until: T + 5_000,
  },
  ...{ count: 1, attempts: 2, reason: "no seats", code: -4, outcome: "denied", told: true },
  ...more,
});
const alert = (id: number, more: object = {}) => ({
  kind: "event",
  id: 900 + id,
  event: {
    ...{ type: "alert", id: `alert-${900 + id}`, timestamp: iso(T), alert: id, change: "fired" },
    ...{ rule: "seats", severity: "warning", state: "firing", server: "eda", daemon: "acmed" },
    ...{ feature: "solver", message: "full", value: 4, threshold: 4, peakValue: 4, startedAt: iso(T) },
    ...{ firedAt: iso(T), resolvedAt: null, durationSeconds: 0, acknowledged: false, acknowledgedAt: null },
    ...{ acknowledgedBy: null, comment: null, silencedUntil: null },
    ...more,
  },
});
const status = (server: string) => ({
  kind: "event",
  id: 7,
  event: {
    ...{ type: "server_status", id: "server_status-7", timestamp: iso(T), server, daemon: null },
    ...{ from: "up", to: "down", reason: "no answer" },
  },
});
const line = (level: string, metadata: object) => ({
  kind: "event",
  id: 8,
  event: {
    ...{ type: "log", id: "log-8", timestamp: iso(T), level, message: "A poll failed", source: "collector" },
    metadata,
  },
});

describeHub("streams of a hub", { each: true, hubs: 2 }, (at) => {
  const { hub, hubs, keys } = at;

  /** Returns a function that pushes facts and numbers them. */
  const pusher = (site: TestSite) => {
    let cursor = 0;
    return async (...facts: readonly object[]) => {
      const numbered = facts.map((fact, index) => ({ seq: cursor + index + 1, ...fact }));
      const push = site.push({ from: cursor + 1, to: cursor + facts.length, head: 0, facts: numbered });
      await site.sends(hub.url, push);
      cursor += facts.length;
    };
  };
  const refused = async () =>
    (await at.pool`SELECT reason FROM refused`).map(({ reason }: { reason: string }) => reason);

  test("both hubs publish a site's events, with the hub's ids and the site", async () => {
    const push = pusher(await at.site("muc"));
    const path = "/stream/combined?events=checkout,checkin,denial,alert,server_status,log,warning_log";
    await using first = await openStream(hubs[0].url + path, keys.viewer);
    await using second = await openStream(hubs[1].url + path, keys.viewer);
    const begun = Date.now();
    // Session 1 had ended before its facts were read. Session 2 is open, and ends below.
    await push(session(1, "opened", END), session(1, "ended", END), session(2, "opened"));
    await push(
      session(3, "opened", { announced: false }),
      session(2, "changed", { count: 5 }),
      session(-4, "ended", END),
      denial(1, { told: false }),
      denial(2),
    );
    await push(
      denial(1),
      session(2, "ended", { ...END, count: 5 }),
      denial(2, { attempts: 3 }),
      alert(1),
      alert(2, { server: null }),
      status("eda"),
      line("warn", { server: "eda", n: 1 }),
      line("info", {}),
    );
    expect(await refused()).toEqual([]);
    const heard = await first.take(12);
    expect(await second.take(12)).toEqual(heard);
    expect(heard.map(({ event, data }) => `${event} ${data.handle ?? data.server ?? data.message}`)).toEqual([
      ...["checkout 1", "checkin 1", "checkout 2", "denial muc:eda", "denial muc:eda", "checkin 2"],
      ...[
        "alert muc:eda",
        "alert full",
        "server_status muc:eda",
        "log A poll failed",
        "warning_log A poll failed",
      ],
      "log A poll failed",
    ]);
    const ids = heard.map(({ id }) => id).filter((id, index, all) => id !== all[index - 1]);
    expect(ids).toEqual(ids.toSorted((a, b) => a - b));
    expect(ids.length).toBe(11);
    expect(Math.min(...ids)).toBeGreaterThan(begun - 60_000);
    for (const { id, event, data } of heard) {
      expect(data.id).toBe(`${event === "warning_log" ? "log" : event}-${id}`);
      expect(data.site).toBe("muc");
    }
    type Sessions = { sessions: { id: number; siteId: number }[] };
    const { sessions } = await hub.json<Sessions>("/api/licenses/sessions");
    const idOf = (siteId: number) => sessions.find((each) => each.siteId === siteId)?.id;
    const of = { server: "muc:eda", daemon: "acmed", feature: 'it\'s, "x"', user: "Ünal <b>", host: "ws01" };
    const taken = { ...of, display: null, version: "v1", count: 2, startedAt: iso(T), firstSeenAt: iso(T) };
    const times = { id: expect.any(String), timestamp: iso(T), site: "muc" };
    expect(heard[0]?.data).toEqual({
      ...{ type: "checkout", ...times, session: idOf(1), ...taken, handle: "1", lastSeenAt: iso(T) },
      ...{ endedAt: null, endReason: null, durationSeconds: 0 },
    });
    expect(Object.keys(heard[0]?.data ?? {}).slice(0, 6)).toEqual([
      ...["type", "id", "timestamp", "site", "session", "server"],
    ]);
    const ended = { lastSeenAt: iso(END.lastSeenAt), endedAt: iso(END.endedAt), endReason: "checkin" };
    expect(heard[5]?.data).toEqual({
      ...{ type: "checkin", ...times, timestamp: iso(END.endedAt), session: idOf(2), ...taken, count: 5 },
      ...{ handle: "2", ...ended, durationSeconds: 120 },
    });
    expect(heard[3]?.data).toEqual({
      ...{ type: "denial", ...times, timestamp: iso(T + 5_000), deniedAt: iso(T), server: "muc:eda" },
      ...{ daemon: "acmed", feature: "solver", user: "ada", host: "ws02", count: 1, reason: "no seats" },
      ...{ code: -4, attempts: 2, outcome: "denied", until: iso(T + 5_000) },
    });
    type Alerts = { alerts: { id: number; server: string | null }[] };
    const { alerts } = await hub.json<Alerts>("/api/licenses/alerts");
    expect(heard.slice(6, 8).map(({ data }) => [data.server, data.alert])).toEqual(
      ["muc:eda", null].map((server) => [server, alerts.find((each) => each.server === server)?.id]),
    );
    expect(heard[9]?.data.metadata).toEqual({ server: "muc:eda", n: 1 });
  });

  test("streams filter by site, server, feature, user and label, over WebSockets too", async () => {
    const [muc, blr] = [pusher(await at.site("muc")), pusher(await at.site("blr"))];
    await muc(status("eda"));
    await blr(status("eda"));
    for (const site of ["muc", "blr"])
      await until(
        "the hub knows the site",
        async () => (await hub.get(`/api/licenses/servers?site=${site}`, keys.viewer)).ok || undefined,
      );
    // Log lines have no server, so only the site filter applies to them.
    const asked = [
      ["site=muc", 3],
      ["site=blr", 2],
      ["site=muc,blr", 5],
      ["feature=solver", 3],
      ["site=blr&feature=solver", 1],
      ["user=ada", 3],
      ["user=%C3%9Cnal+%3Cb%3E", 4],
    ] as const;
    const path = (query: string) => `/stream/combined?${query}&events=checkout,denial,log`;
    const streams = await Promise.all(asked.map(([query]) => openStream(hub.url + path(query), keys.viewer)));
    const socket = new WebSocket(`${hub.url.replace("http", "ws")}/ws/logs?site=muc&api_key=${keys.viewer}`);
    const texts: Record<string, unknown>[] = [];
    socket.onmessage = ({ data }) => texts.push(JSON.parse(String(data)));
    await new Promise((resolve) => {
      socket.onopen = resolve;
    });
    await muc(session(1, "opened"), denial(1), line("info", {}));
    await blr(session(1, "opened"), line("info", {}));
    // End with an event of each site; every client receives at least one of them.
    await muc(line("error", { last: true }));
    await blr(line("error", { last: true }));
    for (const [index, stream] of streams.entries()) {
      const [query = "", count = 0] = asked[index] ?? [];
      const heard = await stream.take(count);
      const sites = /site=([a-z,]+)/.exec(query)?.[1]?.split(",") ?? ["muc", "blr"];
      expect(heard.every(({ data }) => sites.includes(String(data.site)))).toBe(true);
      const next = await stream.next();
      expect([query, next?.data.metadata]).toEqual([query, { last: true }]);
      await stream[Symbol.asyncDispose]();
    }
    socket.send(JSON.stringify({ type: "subscribe", site: "blr" }));
    await until("the socket heard", () => texts.some(({ type }) => type === "subscribed") || undefined);
    await blr(line("warn", {}));
    await until("the socket heard of the other site", () => texts.at(-1)?.type === "log" || undefined);
    expect(texts.map(({ type, site }) => (type === "log" ? site : type))).toEqual([
      "muc",
      "muc",
      "subscribed",
      "blr",
    ]);
    socket.close();
    for (const [query, code] of [
      ["/stream/combined?site=mux", 404],
      ["/stream/combined?server=eda", 404],
      ["/stream/combined?events=picture", 400],
      ["/stream/combined?sites=muc", 400],
      ["/stream/metrics?site=muc", 400],
    ] as const)
      expect([query, (await hub.get(query)).status]).toEqual([query, code]);
  });

  test("an anonymized key gets pseudonyms and no log", async () => {
    const key = keys.anonymous;
    const push = pusher(await at.site("muc"));
    await using stream = await openStream(`${hub.url}/stream/combined`, key, 0);
    await push(line("error", {}), session(1, "opened"), denial(1));
    const heard = await stream.take(2, "checkout", "denial", "log");
    expect(heard.map(({ event }) => event)).toEqual(["checkout", "denial"]);
    for (const { data } of heard) {
      expect(data.user).toMatch(/^user-[0-9a-f]{16}$/);
      expect(data.host).toMatch(/^host-[0-9a-f]{16}$/);
      expect(data.site).toBe("muc");
    }
  });

  test("samples include the seats of all sites, and resume by ids", async () => {
    const push = pusher(await at.site("muc"));
    await using stream = await openStream(`${hub.url}/stream/combined?interval=250`, keys.viewer);
    const heard = await stream.take(2);
    await push(session(1, "opened"));
    heard.push(...(await stream.take(3)));
    const ids = heard.map(({ id }) => id);
    expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => a - b));
    expect(new Set(heard.map(({ event }) => event))).toEqual(new Set(["metrics", "checkout"]));
    expect(heard[0]?.data).toMatchObject({
      type: "metrics",
      id: `metrics-${ids[0]}`,
      licenses: { total: null, used: null },
    });
    // A client that resumes after a sample gets nothing twice either.
    await using again = await openStream(`${hub.url}/stream/combined?interval=250`, keys.viewer, ids[0]);
    const checkout = heard.find(({ event }) => event === "checkout");
    expect((await again.take(1, "checkout"))[0]).toEqual(checkout as NonNullable<typeof checkout>);
    const { streams } = await hub.json<{ streams: object }>("/api/status");
    expect(streams).toEqual({ sse: 2, websocket: 0 });
  });

  test("streams of a key are limited, and end when it is revoked", async () => {
    const all = await Promise.all(
      Array.from({ length: 50 }, () => openStream(`${hub.url}/stream/logs`, keys.viewer)),
    );
    expect((await hub.get("/stream/logs")).status).toBe(503);
    const id = /^lmk_([^_]+)_/.exec(keys.viewer)?.[1];
    const response = await fetch(`${hub.url}/api/keys/${id}`, {
      method: "DELETE",
      headers: { "x-api-key": keys.admin },
    });
    expect(response.ok).toBe(true);
    for (const stream of all) expect(await stream.next()).toBe(null);
    expect(all[0]?.comments).toContain("the API key or the sign-in has ended");
  });

  test("a client that resumes before the oldest event gets a notice", async () => {
    const push = pusher(await at.site("muc"));
    const partitions = createPartitions(at.pool, () => Math.floor(Date.now() / DAY));
    const old = Date.now() - 3 * DAY;
    await partitions.ensure({ events: [Math.floor(old / DAY)] });
    await at.pool`
      INSERT INTO events (id, received_at, at, site, type, body)
      VALUES (${old}, 0, 0, 'muc', 'server_status', '{"type":"server_status","site":"muc"}')`;
    await push(status("eda"));
    await until(
      "the event is published",
      async () => (await at.pool`SELECT 1 FROM events`).length === 2 || undefined,
    );
    await using all = await openStream(`${hub.url}/stream/combined?events=server_status`, keys.viewer, 0);
    const heard = await all.take(2);
    expect(heard[0]?.id).toBe(old);
    expect(all.comments.filter((text) => text.includes("deleted"))).toEqual([]);
    const yesterday = Math.floor(Date.now() / DAY) - 1;
    expect(await dropEvents(at.pool, partitions, yesterday, yesterday)).toBe(1);
    await using rest = await openStream(`${hub.url}/stream/combined?events=server_status`, keys.viewer, 0);
    expect(await rest.next()).toEqual(heard[1] ?? null);
    expect(rest.comments).toContain(`events up to ${old} were deleted, some may be missing`);
    await using none = await openStream(`${hub.url}/stream/combined?events=server_status`, keys.viewer, old);
    expect(await none.next()).toEqual(heard[1] ?? null);
    expect(none.comments.filter((text) => text.includes("deleted"))).toEqual([]);
    await using ahead = await openStream(`${hub.url}/stream/combined`, keys.viewer, 99_999_999_999_999);
    await ahead.take(1);
    expect(
      ahead.comments.some((text) => text.startsWith("99999999999999 is ahead of the newest event")),
    ).toBe(true);
  });

  test("without PostgreSQL a new stream is refused, and an open one continues afterwards", async () => {
    const push = pusher(await at.site("muc"));
    await using stream = await openStream(`${hub.url}/stream/combined?events=server_status`, keys.viewer);
    await push(status("eda"));
    const [first] = await stream.take(1);
    await at.postgres.kill();
    await until("a stream is refused", async () => {
      const refusal = await hub.get("/stream/combined");
      await refusal.body?.cancel();
      return refusal.status === 503 || undefined;
    });
    await at.postgres.start();
    await until("the push is taken", () =>
      push(status("cad")).then(
        () => true,
        () => undefined,
      ),
    );
    const [second] = await stream.take(1);
    expect(second?.data.server).toBe("muc:cad");
    expect(second?.id).toBeGreaterThan(first?.id ?? 0);
  });
});

describe.skipIf(!HAS_POSTGRES)("streams of hubs that look at different times", () => {
  const postgres = usePostgres();

  test("a client that comes from a hub that is ahead gets each event once", async () => {
    const clock = { now: Date.now };
    await using pool = open(await postgres.database());
    await migrate(pool);
    const partitions = createPartitions(pool, () => Math.floor(Date.now() / DAY));
    const directory = createDirectory(pool, clock);
    const pseudonyms = createPseudonyms(new Uint8Array(32));
    /** A hub that looks for new events only on request. */
    const hubAt = () =>
      createHubStreams({
        ...{ pool, partitions, clock, directory, pseudonyms, host: createHostService("/", clock) },
        anonymous: (picture) => anonymousPicture(picture, pseudonyms),
        limits: () => ({ streams: 10, streamsPerKey: 10, streamBufferBytes: 64 * 1024 ** 2 }),
        log: recordingLog(),
        keyHolds: () => true,
        wake() {},
        isFailing: () => false,
      });
    const [fast, slow] = [await hubAt(), await hubAt()];
    const caller = { id: "k", role: "viewer", anonymize: false } as NonNullable<Exchange["caller"]>;
    const openFor = (hub: typeof fast, after: string | null) => {
      const exchange = { caller, signIn: null, request: new Request("http://hub/") } as Exchange;
      const heard: number[] = [];
      const send = (chunk: Chunk) => {
        for (const text of chunk.texts()) heard.push(JSON.parse(text).n);
        return 0;
      };
      const opening = openAt(hub.port, recordingLog(), "combined", exchange, after);
      const carrier = { kind: "websocket", waiting: () => 0, send, close() {} } as const;
      opening.start(carrier, { events: ["server_status"] });
      return heard;
    };
    let made = 0;
    const happen = async (count: number) => {
      for (let n = 0; n < count; n++)
        await pool`
          INSERT INTO new_events (received_at, at, site, type, body)
          VALUES (0, 0, 'muc', 'server_status', ${`{"n":${++made}}`})`;
    };
    const own = openFor(slow, null);
    await happen(3);
    await fast.look();
    const [{ id }] = await pool`SELECT id::float8 AS id FROM events ORDER BY id LIMIT 1 OFFSET 1`;
    // The slow hub has published none of the three events. The client already has two of them from the fast
    // hub.
    const came = openFor(slow, String(id));
    await happen(1);
    await until("the replay is done", async () => came.includes(3) || undefined);
    await slow.look();
    await happen(1);
    await fast.look();
    // Events that the slow hub has not published yet arrive live. A page of history that contained them
    // would send them twice.
    expect((await slow.port.history.page(0, 10)).length).toBe(4);
    await slow.look();
    expect(own.filter(Boolean)).toEqual([1, 2, 3, 4, 5]);
    expect(came.filter(Boolean)).toEqual([3, 4, 5]);
    for (const hub of [fast, slow]) {
      hub.close();
      hub.stop();
    }
  });
});
