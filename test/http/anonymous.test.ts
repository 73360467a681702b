import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { EventInput } from "../../src/domain/events.ts";
import type { ServerPicture } from "../../src/domain/picture.ts";
import { NOT_SERVED } from "../../src/domain/polls/feature-picture.ts";
import { RESERVATION_TYPES } from "../../src/domain/reading.ts";
import type { UserRecord } from "../../src/domain/records.ts";
import { createPseudonyms } from "../../src/http/anonymous/anonymous.ts";
import * as a from "../domain/make.ts";
import { type Bench, bench, checkout, denial, feature, NOW, picture } from "./make.ts";
import { type MemoryStreams, PSEUDONYMS, readFrames, socketOf, taken } from "./streams/rig.ts";

/** Names that appear only in fields about people, in several shapes. */
const PEOPLE = ["zq-ada", "zqBob Smith", "ZQ\\eve", "zq=cmd", "zq,uma"];
const HOSTS = ["ZQ-WS01", "zq-ws01", "zq-ws02.zqsite"];
const FREE = ["zq:0.0", "zq-qualifier", "zq-line"];
/** Matches the names above, but no hash in the name of an asset. */
const REAL = /zq(?:[-:=,\\]|bob)/i;

function populated(): ServerPicture[] {
  const [display = null, qualifier = null] = FREE;
  const rows = PEOPLE.flatMap((user, index) =>
    HOSTS.map((host, other) => {
      // Equal start times, so that there are many ties.
      const startedAt = NOW - (other === 0 ? 3_600_000 : 7_200_000);
      const handle = String(100 + index * 10 + other);
      return checkout(user, { host, display, qualifier, handle, startedAt });
    }),
  );
  const reserved = [...RESERVATION_TYPES, "other" as const];
  const waiting = { user: "zq-ada", host: "ZQ-WS01", display, qualifier, version: null };
  const one = feature("solver", {
    checkouts: rows,
    reservations: reserved.map((type) => ({ type, name: `zq-${type}`, count: 1, pool: null })),
    queue: [{ ...waiting, count: 2, handle: null, pool: null }],
  });
  const error = a.toolError({ message: "zq-ada broke it" });
  return [
    picture("eda", {
      features: [
        one,
        feature("mesher", { checkouts: [] }),
        feature("failed", { state: "failed", error: "zq-ada broke it" }),
      ],
      members: [a.member({ status: "down", error })],
      daemons: [a.daemon({ status: "down", error })],
      unparsed: [{ line: 1, text: "zq-line" }],
    }),
    picture("cad", {
      features: [feature("solver", { checkouts: [checkout("zq-ada", { host: null })] })],
      error: { code: "LICENSE_QUERY_FAILED", message: "It failed.", details: "zq-line" },
      state: "stale",
    }),
  ];
}

function site(pictures = populated()): Bench {
  const at = bench();
  at.show(...pictures);
  return at;
}

/** Matches a tag, which contains a base-36 digest. The digest can contain any two letters by chance. */
const TAG = /^"[0-9a-f]{12}-\d+-[0-9a-z]+"$/;

/** Returns the whole answer without the tag's digest. */
async function everyByte(response: Response): Promise<string> {
  const headers = [...response.headers].filter(([name, value]) => name !== "etag" || !TAG.test(value));
  return `${response.status} ${JSON.stringify(headers)} ${await response.text()}`;
}

const usersOf = (at: Bench, query: string) =>
  at.json<{ users: UserRecord[]; total: number }>(`/api/licenses/users${query}`, { key: at.keys.anonymous });

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

describe("no answer to an anonymized key contains a name", () => {
  const asked = [
    ...["", "?format=csv", "?sort=user", "?sort=-host", "?search=zq", "?user=zq-ada", "?host=ZQ-WS01"],
    ...["?feature=solver", "?limit=2&offset=1", "?kind=reservation", "?server=eda", "?refresh=true"],
  ];

  test("any GET route, before and after requests of others", async () => {
    const at = site();
    // Leave out pages: they are the same for all callers, and random letters in their file names could
    // match.
    const isPage = ({ hooks }: (typeof at.app.routes)[number]) => hooks.detail?.hide === true;
    const paths = at.app.routes
      .filter((route) => route.method === "GET" && !isPage(route))
      .filter(({ path }) => !/^\/(stream|ws)|\/stream$/.test(path))
      .map(({ path }) => path.replace(":id", "eda"));
    expect(paths.length).toBeGreaterThan(15);
    let named = 0;
    for (const round of ["first", "again"]) {
      for (const path of paths) {
        for (const query of asked) {
          const seen = await everyByte(await at.get(`${path}${query}`, { key: at.keys.anonymous }));
          expect(REAL.test(seen) ? `${round} ${path}${query}: ${seen}` : "").toBe("");
          if (REAL.test(await everyByte(await at.get(`${path}${query}`, { key: at.keys.viewer })))) named++;
        }
      }
    }
    // Check that the same queries return names to other keys.
    expect(named).toBeGreaterThan(10);
  });

  test("acting and routes of other roles are refused without names", async () => {
    const at = site();
    // Leave out signing in and out, which every key that reads may do and which reveals no people.
    const acting = at.app.routes.filter(({ method, path }) => method !== "GET" && !/\/api\/sign/.test(path));
    for (const { method, path } of acting) {
      const response = await at.get(path.replace(":id", "eda"), { key: at.keys.anonymous, method });
      expect([path, response.status]).toEqual([path, 403]);
      expect(await everyByte(response)).not.toMatch(REAL);
    }
    for (const path of ["api/logs/recent", "api/logs/search", "api/logs/stats", "stream/logs", "ws/logs"])
      expect([path, await at.status(`/${path}`, { key: at.keys.anonymous })]).toEqual([path, 403]);
  });

  test("errors of features have only licmond's own messages", async () => {
    const unserved = { state: "partial", error: NOT_SERVED } as const;
    const at = site([
      picture("eda", { features: [feature("b", unserved), ...(populated()[0]?.features ?? [])] }),
    ]);
    const { features } = await at.json<{ features: { error: string | null }[] }>("/api/licenses/features", {
      key: at.keys.anonymous,
    });
    const errors = new Set(features.map(({ error }) => error));
    expect(errors).toEqual(new Set([null, NOT_SERVED, "The tool reports an error"]));
  });

  test("the summary counts as for others", async () => {
    const at = site();
    const [mine, theirs] = await Promise.all(
      [at.keys.anonymous, at.keys.viewer].map((key) => at.json("/api/licenses/summary", { key })),
    );
    expect(mine).toEqual(theirs);
    expect(mine).toMatchObject({ users: 5, hosts: 2 });
  });

  test("the same answer has another tag, which does not match others' tags", async () => {
    const at = site();
    const users = (key: string, tag = "") =>
      at.get("/api/licenses/users", { key, headers: { "if-none-match": tag } });
    const [mine = "", theirs = ""] = await Promise.all(
      [at.keys.anonymous, at.keys.viewer].map(async (key) => (await users(key)).headers.get("etag") ?? ""),
    );
    expect(mine).not.toBe(theirs);
    expect((await users(at.keys.anonymous, theirs)).status).toBe(200);
    expect((await users(at.keys.anonymous, mine)).status).toBe(304);
  });
});

describe("pseudonyms work like names", () => {
  test("rows have them, and nothing else about a person", async () => {
    const { users } = await usersOf(site(), "?kind=checkout&user=".concat(PSEUDONYMS.user("zqBob Smith")));
    expect(users).toHaveLength(3);
    const user = PSEUDONYMS.user("zqBob Smith");
    for (const row of users) expect(row).toMatchObject({ user, display: null, qualifier: null });
    expect(users.map(({ host }) => host)).toContain(PSEUDONYMS.host("zq-ws02.zqsite"));
  });

  test("a host is found regardless of case", async () => {
    const { total } = await usersOf(site(), `?host=${PSEUDONYMS.host("zq-ws01").toUpperCase()}`);
    expect(total).toBe(11);
  });

  test("reservations for people and machines have them, groups do not", async () => {
    const { users } = await usersOf(site(), "?kind=reservation");
    const names = users.map(({ reservedFor }) => [reservedFor?.type, reservedFor?.name]);
    const hidden = ["display", "other", "group", "host_group", "project"].map((type) => [type, "not shown"]);
    expect(Object.fromEntries(names)).toEqual({
      user: PSEUDONYMS.user("zq-user"),
      host: PSEUDONYMS.host("zq-host"),
      internet: PSEUDONYMS.host("zq-internet"),
      ...Object.fromEntries(hidden),
    });
  });

  const parameter = fc.constantFrom("user", "host");
  const realName = fc.constantFrom(...PEOPLE, ...HOSTS, ...FREE);
  const sorts = ["", "user", "-user", "host", "-host", "display", "qualifier", "startedAt", "-count"];
  const query = fc.record({
    sort: fc.constantFrom(...sorts),
    format: fc.constantFrom("json", "csv"),
    limit: fc.constantFrom("", "1", "3"),
  });

  test("a real name matches as little as an unknown one", async () => {
    const at = site();
    await fc.assert(
      fc.asyncProperty(parameter, realName, fc.uuid(), query, async (name, real, nobody, rest) => {
        const ask = async (value: string) => {
          const search = new URLSearchParams({ ...rest, [name]: value });
          for (const [key, empty] of [...search]) if (empty === "") search.delete(key);
          const response = await at.get(`/api/licenses/users?${search}`, { key: at.keys.anonymous });
          const headers = [...response.headers].filter(
            ([header]) => !/^(x-request-id|etag|(x-)?ratelimit-.*)$/.test(header),
          );
          return [response.status, headers, await response.text()];
        };
        expect(await ask(real)).toEqual(await ask(nobody));
      }),
      { numRuns: 60 },
    );
  });

  test("rows are sorted by pseudonyms, regardless of the real names", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.shuffledSubarray(PEOPLE, { minLength: 2 }),
        fc.constantFrom(
          ...["", "?sort=user", "?sort=display", "?sort=count", "?kind=checkout"],
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
  const at = new Date(NOW).toISOString();
  const seat = { display: "zq:0.0", version: "v1", handle: "101", startedAt: at, durationSeconds: 5 };
  const place = { server: "eda", daemon: "acmed" };
  const changed = { type: "server_status", from: "up", to: "down" } as const;
  const denied = denial(NOW, { user: "zq-ada", host: "zq-ws01", reason: "zq-ada is not on the list" });
  const { at: _, until: __, ...denialFields } = denied;
  const numbers = { value: null, threshold: null, peakValue: null, durationSeconds: 0 };
  const times = { startedAt: at, firedAt: at, resolvedAt: null, acknowledgedAt: null, silencedUntil: null };
  const alert = {
    type: "alert",
    alert: 7,
    change: "fired",
    rule: "daemon_down",
    severity: "critical",
  } as const;
  const domainEvents: readonly EventInput[] = [
    taken({ ...seat, user: "zq-ada", host: "ZQ-WS01" }),
    { ...taken({ ...seat, user: "zqBob Smith", host: null }), type: "checkin" },
    { ...changed, server: "eda", daemon: null, reason: "nobody answers" },
    { ...changed, ...place, reason: "zq-ada did it" },
    { type: "denial", ...denialFields, deniedAt: at, until: at },
    {
      ...alert,
      ...place,
      ...numbers,
      ...times,
      state: "firing",
      feature: null,
      message: "The daemon acmed is down: zq-ada did it",
      acknowledged: true,
      acknowledgedBy: "zq-ada",
      comment: "zq-ada",
    },
  ];
  const types = domainEvents.map(({ type }) => type as string);
  const memoryOf = ({ deps }: Bench) => deps.streams as MemoryStreams;

  test("combined has checkouts under pseudonyms and no logs, live and after a resume", async () => {
    const at = site();
    const memory = memoryOf(at);
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
    const resumed = await open(at.keys.anonymous, 1);
    const live = await open(at.keys.anonymous);
    const named = await open(at.keys.viewer);
    // The two additional frames are the comment and `retry`.
    const replayed = await resumed.take(2 + types.length);
    memory.log("zq-line", { level: "error" });
    for (const event of domainEvents) memory.emit(event);
    memory.flush();
    memory.broadcaster.close();

    const frames = {
      resumed: [...replayed, ...(await resumed.rest())],
      live: await live.rest(),
      named: await named.rest(),
    };
    memory.close();
    const events = (of: keyof typeof frames) =>
      frames[of].flatMap(({ event }) => (event === undefined ? [] : [event]));
    expect(events("live")).toEqual(types);
    expect(events("resumed")).toEqual([...types, ...types]);
    expect(events("named")).toEqual(["log", "error_log", ...types]);
    expect(JSON.stringify([frames.live, frames.resumed])).not.toMatch(REAL);
    expect(JSON.stringify(frames.named)).toMatch(REAL);
    const [out, back, down, daemonDown, refused, alert] = frames.live.flatMap(({ event, data }) =>
      event === undefined ? [] : [data],
    );
    const host = PSEUDONYMS.host("ZQ-WS01");
    expect(out).toMatchObject({ user: PSEUDONYMS.user("zq-ada"), host, display: null, handle: "101" });
    expect(back).toMatchObject({ host: null });
    expect([down?.reason, daemonDown?.reason]).toEqual(["nobody answers", null]);
    expect(refused).toMatchObject({ user: PSEUDONYMS.user("zq-ada"), host, reason: null, code: -4 });
    expect(alert).toMatchObject({ message: "The daemon acmed of eda is down" });
  });

  test("a WebSocket gets the same, even if it asks for everything", () => {
    const at = site();
    const memory = memoryOf(at);
    const { done, say } = socketOf(at, "anonymous", "combined", "events=metrics");
    say({ type: "subscribe", events: null, level: null, source: null });
    memory.log("zq-line");
    for (const event of domainEvents) memory.emit(event);
    memory.flush();
    memory.close();
    const told = done.map((text) => (JSON.parse(String(text)) as { type: string }).type);
    expect(told.filter((type) => type !== "metrics")).toEqual(["subscribed", ...types]);
    expect(done.join("\n")).not.toMatch(REAL);
    expect(done.join("\n")).toContain(PSEUDONYMS.user("zq-ada"));
  });
});
