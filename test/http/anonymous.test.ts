import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { EventInput } from "../../src/domain/events.ts";
import type { ServerPicture } from "../../src/domain/picture.ts";
import { RESERVATION_TYPES } from "../../src/domain/reading.ts";
import type { UserRecord } from "../../src/domain/records.ts";
import { createPseudonyms } from "../../src/http/anonymous/pseudonyms.ts";
import type { Exchange } from "../../src/http/exchange.ts";
import { openStream } from "../../src/http/streams/open-stream.ts";
import { createSocketHandlers } from "../../src/http/streams/websocket.ts";
import * as a from "../domain/make.ts";
import { type Bench, bench, checkout, feature, memoryKeys, NOW, picture } from "./make.ts";
import { type MemoryStreams, PSEUDONYMS, readFrames } from "./streams/rig.ts";

/** Words that stand in nothing but people's fields, in several shapes. */
const PEOPLE = ["zq-ada", "zqBob Smith", "ZQ\\eve", "zq=cmd", "zq,uma"];
const HOSTS = ["ZQ-WS01", "zq-ws01", "zq-ws02.zqsite"];
const FREE = ["zq:0.0", "zq-qualifier", "zq-line"];
const REAL = /zq/i;

function populated(): ServerPicture[] {
  const rows = PEOPLE.flatMap((user, index) =>
    HOSTS.map((host, other) =>
      checkout(user, {
        host,
        display: FREE[0] ?? null,
        qualifier: FREE[1] ?? null,
        handle: String(100 + index * 10 + other),
        // Many equal starts, so that ties are many.
        startedAt: NOW - (other === 0 ? 3_600_000 : 7_200_000),
      }),
    ),
  );
  const queued = { user: "zq-ada", host: "ZQ-WS01", display: FREE[0] ?? null, qualifier: FREE[1] ?? null };
  const one = feature("solver", {
    checkouts: rows,
    reservations: [...RESERVATION_TYPES, "other" as const].map((type) => ({
      type,
      name: `zq-${type}`,
      count: 1,
      pool: null,
    })),
    queue: [{ ...queued, version: null, count: 2, handle: null, pool: null }],
  });
  return [
    picture("eda", {
      features: [
        one,
        feature("mesher", { checkouts: [] }),
        feature("failed", { state: "failed", error: "zq-ada broke it" }),
      ],
      members: [{ ...a.member(), status: "down", error: a.toolError({ message: "zq-ada broke it" }) }],
      daemons: [{ ...a.daemon(), status: "down", error: a.toolError({ message: "zq-ada broke it" }) }],
      unparsed: [{ line: 1, text: "zq-line" }],
    }),
    picture("cad", {
      features: [feature("solver", { checkouts: [checkout("zq-ada", { host: null })] })],
      error: { code: "LICENSE_QUERY_FAILED", message: "It failed.", details: "zq-line" },
      state: "stale",
    }),
  ];
}

interface Site extends Bench {
  readonly anonymous: string;
  readonly memory: MemoryStreams;
}

function site(pictures = populated()): Site {
  const keys = memoryKeys(() => NOW);
  const at = bench({ keys });
  at.show(...pictures);
  const anonymous = keys.add("viewer", { anonymize: true });
  // The bench's own keys were made by another store of keys.
  const viewer = keys.add("viewer");
  const admin = keys.add("admin");
  return {
    ...at,
    keys: { ...at.keys, viewer, admin },
    anonymous,
    memory: at.deps.streams as MemoryStreams,
    show: at.show,
  };
}

/** A tag is a digest in base 36 and spells any two letters by chance. */
const TAG = /^"[0-9a-f]{12}-\d+-[0-9a-z]+"$/;

/** All that came, without the digest of the tag, which tells nothing. */
async function everyByte(response: Response): Promise<string> {
  const headers = [...response.headers].filter(([name, value]) => name !== "etag" || !TAG.test(value));
  return `${response.status} ${JSON.stringify(headers)} ${await response.text()}`;
}

const usersOf = async (at: Site, query: string, key = at.anonymous) => {
  const response = await at.get(`/api/licenses/users${query}`, { key });
  return (await response.json()) as { users: UserRecord[]; total: number };
};

const session = (user: string, host: string | null) =>
  ({
    session: 1,
    server: "eda",
    daemon: "acmed",
    feature: "solver",
    user,
    host,
    display: "zq:0.0",
    version: "v1",
    count: 1,
    handle: "101",
    startedAt: new Date(NOW).toISOString(),
    firstSeenAt: new Date(NOW).toISOString(),
    lastSeenAt: new Date(NOW).toISOString(),
    endedAt: null,
    endReason: null,
    durationSeconds: 5,
  }) as const;

describe("pseudonyms", () => {
  test("are stable, differ by kind and by installation, and hosts have no case", () => {
    const other = createPseudonyms(new Uint8Array(32).fill(1));
    expect(PSEUDONYMS.user("ada")).toMatch(/^user-[0-9a-f]{16}$/);
    expect(PSEUDONYMS.user("ada")).toBe(createPseudonyms(new Uint8Array(32)).user("ada"));
    expect(PSEUDONYMS.user("Ada")).not.toBe(PSEUDONYMS.user("ada"));
    expect(PSEUDONYMS.host("WS01")).toBe(PSEUDONYMS.host("ws01"));
    expect(PSEUDONYMS.host("ada").slice(5)).not.toBe(PSEUDONYMS.user("ada").slice(5));
    expect(other.user("ada")).not.toBe(PSEUDONYMS.user("ada"));
    expect(PSEUDONYMS.session(-7)).toBe(createPseudonyms(new Uint8Array(32)).session(-7));
    expect(PSEUDONYMS.session(-7)).not.toBe(other.session(-7));
    expect(
      [PSEUDONYMS.session(-7), other.session(-8)].every((id) => Number.isSafeInteger(id) && id < 0),
    ).toBe(true);
    expect(PSEUDONYMS.session(7)).toBe(7);
  });
});

describe("nothing that an anonymized key can get names anybody", () => {
  const asked = [
    "",
    "?format=csv",
    "?sort=user",
    "?sort=-host",
    "?search=zq",
    "?user=zq-ada",
    "?host=ZQ-WS01",
    "?feature=solver",
    "?limit=2&offset=1",
    "?kind=reservation",
    "?server=eda",
    "?refresh=true",
  ];

  test("whatever GET there is, before and after others have asked the same", async () => {
    const at = site();
    const paths = at.app.routes
      .filter(({ method, path }) => method === "GET" && !/^\/(stream|ws|swagger)|\/stream$/.test(path))
      .map(({ path }) => path.replace(":id", "eda"));
    expect(paths.length).toBeGreaterThan(15);
    let named = 0;
    for (const round of ["first", "again"]) {
      for (const path of paths) {
        for (const query of asked) {
          // What they ask must not come back as an answer about them: an echo of the query in an error is their own.
          const seen = await everyByte(await at.get(`${path}${query}`, { key: at.anonymous }));
          expect(REAL.test(seen) ? `${round} ${path}${query}: ${seen}` : "").toBe("");
          if (REAL.test(await everyByte(await at.get(`${path}${query}`, { key: at.keys.viewer })))) named++;
        }
      }
    }
    // The same questions do name people to others.
    expect(named).toBeGreaterThan(10);
  });

  test("acting and what needs another role is refused without a word of them", async () => {
    const at = site();
    for (const { method, path } of at.app.routes.filter(({ method }) => method !== "GET")) {
      const response = await at.get(path.replace(":id", "eda"), { key: at.anonymous, method });
      expect([path, response.status]).toEqual([path, 403]);
      expect(await everyByte(response)).not.toMatch(REAL);
    }
    for (const path of [
      "/api/logs/recent",
      "/api/logs/search",
      "/api/logs/stats",
      "/stream/logs",
      "/ws/logs",
    ])
      expect([path, (await at.get(path, { key: at.anonymous })).status]).toEqual([path, 403]);
  });

  test("the summary counts what others see", async () => {
    const at = site();
    const [mine, theirs] = await Promise.all(
      [at.anonymous, at.keys.viewer].map(async (key) =>
        (await at.get("/api/licenses/summary", { key })).json(),
      ),
    );
    expect(mine).toEqual(theirs);
    expect(mine).toMatchObject({ users: 5, hosts: 2 });
  });

  test("the same answer has another tag, and the tag of one is none of the other's", async () => {
    const at = site();
    const tagOf = async (key: string) =>
      (await at.get("/api/licenses/users", { key })).headers.get("etag") ?? "";
    const [mine, theirs] = [await tagOf(at.anonymous), await tagOf(at.keys.viewer)];
    expect(mine).not.toBe(theirs);
    const again = await at.get("/api/licenses/users", {
      key: at.anonymous,
      headers: { "if-none-match": theirs },
    });
    expect(again.status).toBe(200);
    const own = await at.get("/api/licenses/users", {
      key: at.anonymous,
      headers: { "if-none-match": mine },
    });
    expect(own.status).toBe(304);
  });
});

describe("pseudonyms work like names", () => {
  test("rows carry them, and nothing else of a person", async () => {
    const { users } = await usersOf(site(), "?kind=checkout&user=".concat(PSEUDONYMS.user("zqBob Smith")));
    expect(users).toHaveLength(3);
    for (const row of users) {
      expect(row).toMatchObject({ user: PSEUDONYMS.user("zqBob Smith"), display: null, qualifier: null });
    }
    expect(users.map(({ host }) => host)).toContain(PSEUDONYMS.host("zq-ws02.zqsite"));
  });

  test("a host is found whatever its case", async () => {
    const { total } = await usersOf(site(), `?host=${PSEUDONYMS.host("zq-ws01").toUpperCase()}`);
    expect(total).toBe(11);
  });

  test("reservations for people and machines have them, for groups nothing", async () => {
    const { users } = await usersOf(site(), "?kind=reservation");
    expect(
      Object.fromEntries(users.map(({ reservedFor }) => [reservedFor?.type, reservedFor?.name])),
    ).toEqual({
      user: PSEUDONYMS.user("zq-user"),
      host: PSEUDONYMS.host("zq-host"),
      internet: PSEUDONYMS.host("zq-internet"),
      display: "not shown",
      other: "not shown",
      group: "not shown",
      host_group: "not shown",
      project: "not shown",
    });
  });

  const parameter = fc.constantFrom("user", "host");
  const realName = fc.constantFrom(...PEOPLE, ...HOSTS, ...FREE);
  const query = fc.record({
    sort: fc.constantFrom(
      "",
      "user",
      "-user",
      "host",
      "-host",
      "display",
      "qualifier",
      "startedAt",
      "-count",
    ),
    format: fc.constantFrom("json", "csv"),
    limit: fc.constantFrom("", "1", "3"),
  });

  test("a real name gives what a name gives that nobody has", async () => {
    const at = site();
    await fc.assert(
      fc.asyncProperty(parameter, realName, fc.uuid(), query, async (name, real, nobody, rest) => {
        const ask = async (value: string) => {
          const search = new URLSearchParams({ ...rest, [name]: value });
          for (const [key, empty] of [...search]) if (empty === "") search.delete(key);
          const response = await at.get(`/api/licenses/users?${search}`, { key: at.anonymous });
          const headers = [...response.headers].filter(
            ([header]) => !/^(x-request-id|etag|ratelimit-.*)$/.test(header),
          );
          return [response.status, headers, await response.text()];
        };
        expect(await ask(real)).toEqual(await ask(nobody));
      }),
      { numRuns: 60 },
    );
  });

  test("the order of rows is that of pseudonyms, whatever the order and the names of the real ones", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.shuffledSubarray(PEOPLE, { minLength: 2 }),
        fc.constantFrom(
          "",
          "?sort=user",
          "?sort=display",
          "?sort=count",
          "?kind=checkout",
          "?kind=reservation",
        ),
        async (people, asking) => {
          const shownFor = async (order: readonly string[]) => {
            const rows = order.map((user) => checkout(user, { handle: null }));
            const reservations = order.map((name) => ({ type: "user" as const, name, count: 1, pool: null }));
            const features = [feature("solver", { checkouts: rows, reservations })];
            return usersOf(site([picture("eda", { features })]), asking);
          };
          const forwards = await shownFor(people);
          expect(forwards).toEqual(await shownFor(people.toReversed()));
          const names = forwards.users
            .filter(({ kind }) => kind === "checkout")
            .map(({ user }) => user ?? "");
          expect(names).toEqual(names.toSorted());
        },
      ),
      { numRuns: 30 },
    );
  });
});

describe("streams", () => {
  const domainEvents: readonly EventInput[] = [
    { type: "checkout", ...session("zq-ada", "ZQ-WS01") },
    { type: "checkin", ...session("zqBob Smith", null) },
    { type: "server_status", server: "eda", daemon: null, from: "up", to: "down", reason: "nobody answers" },
    {
      type: "server_status",
      server: "eda",
      daemon: "acmed",
      from: "up",
      to: "down",
      reason: "zq-ada did it",
    },
    {
      ...{
        type: "denial",
        server: "eda",
        daemon: "acmed",
        feature: "solver",
        user: "zq-ada",
        host: "zq-ws01",
      },
      ...{ count: 1, reason: "zq-ada is not on the list", code: -4, attempts: 1, outcome: "denied" },
      ...{ deniedAt: new Date(NOW).toISOString(), until: new Date(NOW).toISOString() },
    },
    {
      ...{
        type: "alert",
        alert: 7,
        change: "fired",
        rule: "daemon_down",
        severity: "critical",
        state: "firing",
      },
      ...{
        server: "eda",
        daemon: "acmed",
        feature: null,
        message: "The daemon acmed is down: zq-ada did it",
      },
      ...{ value: null, threshold: null, startedAt: new Date(NOW).toISOString(), resolvedAt: null },
      ...{ acknowledged: true, acknowledgedAt: null, acknowledgedBy: "zq-ada", comment: "zq-ada" },
      silencedUntil: null,
    },
  ];

  test("combined has checkouts under pseudonyms and no logs, live and after a resume", async () => {
    const at = site();
    const { memory } = at;
    memory.log("zq-line");
    for (const event of domainEvents) memory.emit(event);
    memory.flush();

    const open = async (key: string, from?: number) =>
      readFrames(
        await at.get("/stream/combined?events=log,error_log,checkout,checkin,server_status,denial,alert", {
          key,
          ...(from !== undefined && { headers: { "last-event-id": String(from) } }),
        }),
      );
    const resumed = await open(at.anonymous, 1);
    const live = await open(at.anonymous);
    const named = await open(at.keys.viewer);
    memory.log("zq-line", { level: "error" });
    for (const event of domainEvents) memory.emit(event);
    memory.flush();
    memory.hub.close();

    const frames = { resumed: await resumed.rest(), live: await live.rest(), named: await named.rest() };
    memory.close();
    const events = (of: keyof typeof frames) =>
      frames[of].flatMap(({ event }) => (event === undefined ? [] : [event]));
    const once = ["checkout", "checkin", "server_status", "server_status", "denial", "alert"];
    expect(events("live")).toEqual(once);
    expect(events("resumed")).toEqual([...once, ...once]);
    expect(events("named")).toEqual(["log", "error_log", ...once]);
    expect(JSON.stringify([frames.live, frames.resumed])).not.toMatch(REAL);
    expect(JSON.stringify(frames.named)).toMatch(REAL);
    expect(frames.live.find(({ event }) => event === "checkout")?.data).toMatchObject({
      user: PSEUDONYMS.user("zq-ada"),
      host: PSEUDONYMS.host("ZQ-WS01"),
      display: null,
      handle: "101",
    });
    expect(frames.live.find(({ event }) => event === "checkin")?.data).toMatchObject({ host: null });
    expect(
      frames.live.filter(({ event }) => event === "server_status").map(({ data }) => data?.reason),
    ).toEqual(["nobody answers", null]);
    expect(frames.live.find(({ event }) => event === "denial")?.data).toMatchObject({
      ...{ user: PSEUDONYMS.user("zq-ada"), host: PSEUDONYMS.host("zq-ws01"), reason: null, code: -4 },
    });
    expect(frames.live.find(({ event }) => event === "alert")?.data).toMatchObject({
      message: "The daemon acmed of eda is down",
    });
  });

  test("a WebSocket gets the same, also after it has asked for everything", () => {
    const { memory, deps } = site();
    const sent: string[] = [];
    const caller = deps.keys.list().find(({ anonymize }) => anonymize) ?? null;
    const request = new Request("http://lic/ws/combined");
    const opening = openStream(memory, deps.log("http"), "combined", request, { caller } as Exchange, null);
    const handlers = createSocketHandlers(
      opening,
      "events=metrics",
      () => 0,
      () => {},
    );
    const ws = {
      getBufferedAmount: () => 0,
      cork: (write: () => void) => write(),
      sendText: (text: string) => void sent.push(text),
      close() {},
    };
    handlers.open(ws as unknown as Parameters<typeof handlers.open>[0]);
    const subscribe = JSON.stringify({ type: "subscribe", events: null, level: null, source: null });
    handlers.message(ws as unknown as Parameters<typeof handlers.open>[0], subscribe);
    memory.log("zq-line");
    for (const event of domainEvents) memory.emit(event);
    memory.flush();
    memory.close();
    const types = sent.map((text) => (JSON.parse(text) as { type: string }).type);
    expect(types.filter((type) => type !== "metrics")).toEqual([
      "subscribed",
      "checkout",
      "checkin",
      "server_status",
      "server_status",
      "denial",
      "alert",
    ]);
    expect(sent.join("\n")).not.toMatch(REAL);
    expect(sent.join("\n")).toContain(PSEUDONYMS.user("zq-ada"));
  });
});
