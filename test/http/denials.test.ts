import { afterEach, describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { DenialLogging } from "../../src/collector/log-tail/denial-watch.ts";
import type { Denial } from "../../src/domain/denials.ts";
import { createReader } from "../../src/history/reader.ts";
import { DENIAL_SORTS } from "../../src/store/denial-queries.ts";
import { createDenials } from "../../src/store/denials.ts";
import { createServers } from "../../src/store/servers.ts";
import { cleanUp, open, temporaryDirectory } from "../store/place.ts";
import { historyPort } from "./history-port.ts";
import { bench, monitored, NOW, picture } from "./make.ts";
import { PSEUDONYMS } from "./streams/rig.ts";

afterEach(cleanUp);

const minute = (minutes: number) => NOW - 3_600_000 + minutes * 60_000;
const denial = (minutes: number, more: Partial<Denial> = {}): Denial => ({
  ...{ at: minute(minutes), until: minute(minutes), server: "eda", daemon: "acmed", feature: "solver" },
  ...{ user: "ada", host: "WS01", count: 1, reason: "=No seats", code: -4, attempts: 1, outcome: "denied" },
  ...more,
});

const NEW_KEY = {
  ...({ role: "viewer", anonymize: true, expiresAt: null } as const),
  ...{ dailyQuota: null, monthlyQuota: null, requestsPerMinute: null },
};

const LOGGING: readonly DenialLogging[] = [
  { server: "eda", state: "on", source: "debug_log", since: minute(0), message: null },
  {
    server: "vfx",
    state: "unreadable",
    source: "debug_log",
    since: null,
    message: "/var/x.log does not exist",
  },
];

const FOUR: readonly Denial[] = [
  denial(0),
  denial(10, { user: "bob", host: "ws02", attempts: 3, until: minute(12) }),
  denial(20, {
    ...{ server: "vfx", daemon: "isv", feature: null, user: null, host: null, count: 4, attempts: 4 },
    ...{ reason: null, code: null },
  }),
  denial(30, { feature: "a,b", outcome: "granted_later" }),
];

function site(list = FOUR) {
  const store = open(temporaryDirectory());
  const servers = [monitored("eda"), monitored("vfx")];
  createServers({ store, clock: { now: () => NOW } }).configured(servers);
  const denials = createDenials(store);
  store.transaction(() => denials.write(list.map((one) => ({ denial: one, told: true }))));
  const at = bench({
    denials: { logging: () => LOGGING },
    history: historyPort(() => createReader(store.sqlite, { now: NOW })),
  });
  at.show(picture("eda"), picture("vfx", { server: monitored("vfx") }));
  return at;
}

interface Body {
  readonly denials: readonly Record<string, unknown>[];
  readonly total: number;
  readonly logging: readonly unknown[];
}
const minutesOf = (body: Body) =>
  body.denials.map(({ timestamp }) => (Date.parse(String(timestamp)) - minute(0)) / 60_000);

describe("/api/licenses/denials", () => {
  test("answers records, newest first, and which servers' denials can be seen", async () => {
    const at = site();
    const body = (await (await at.get("/api/licenses/denials")).json()) as Body;
    expect(body).toMatchObject({ total: 4, limit: 100, offset: 0 });
    expect(minutesOf(body)).toEqual([30, 20, 10, 0]);
    expect(body.denials[2]).toEqual({
      ...{ timestamp: new Date(minute(10)).toISOString(), until: new Date(minute(12)).toISOString() },
      ...{ server: "eda", daemon: "acmed", feature: "solver", user: "bob", host: "ws02", count: 1 },
      ...{ reason: "=No seats", code: -4, attempts: 3, outcome: "denied" },
    });
    expect(body.denials[1]).toMatchObject({
      feature: null,
      user: null,
      host: null,
      reason: null,
      code: null,
      count: 4,
    });
    expect(body.logging).toMatchObject([
      { server: "eda", state: "on", since: new Date(minute(0)).toISOString() },
      { server: "vfx", state: "unreadable", since: null, message: "/var/x.log does not exist" },
    ]);
  });

  test.each<[string, number[]]>([
    ["server=eda", [30, 10, 0]],
    ["feature=solver", [10, 0]],
    ["feature=a,b", [30]],
    ["user=bob,nobody", [10]],
    ["host=ws01", [30, 0]],
    [`start=${minute(10)}&end=${minute(30)}`, [20, 10]],
    ["sort=timestamp", [0, 10, 20, 30]],
    ["sort=user", [0, 30, 10, 20]],
    ["sort=-user", [10, 0, 30, 20]],
    ["sort=-attempts", [20, 10, 0, 30]],
    ["limit=2&offset=1", [20, 10]],
  ])("?%s", async (query, expected) => {
    const body = (await (await site().get(`/api/licenses/denials?${query}`)).json()) as Body;
    expect(minutesOf(body)).toEqual(expected);
  });

  test.each([
    ["server=nowhere", 404],
    ["sort=x", 400],
    ["start=yesterday", 400],
    [`start=${NOW}&end=${NOW}`, 400],
    ["limit=0", 400],
  ])("refuses ?%s", async (query, status) => {
    expect((await site().get(`/api/licenses/denials?${query}`)).status).toBe(status);
  });

  test("as CSV", async () => {
    const response = await site().get("/api/licenses/denials?format=csv&user=bob");
    expect(response.headers.get("x-total-count")).toBe("1");
    const [heading, row] = (await response.text()).split("\r\n");
    expect(heading).toBe(
      "timestamp,server,daemon,feature,user,host,count,reason,code,attempts,until,outcome",
    );
    expect(row).toContain(",solver,bob,ws02,1,'=No seats,-4,3,");
  });

  test("an anonymized key sees pseudonyms, asks by them, and learns no order of names", async () => {
    const at = site();
    const made = at.deps.keys.create({ ...NEW_KEY, name: "anonymous" });
    const key = made.outcome === "created" ? made.presented : null;
    const ask = async (query: string) =>
      (await (await at.get(`/api/licenses/denials?${query}`, { key })).json()) as Body;
    const all = await ask("");
    expect(JSON.stringify(all)).not.toMatch(/"ada"|"bob"|"ws0|\/var|seats/i);
    expect(all.denials.map(({ reason, code }) => [reason, code])).toEqual([
      [null, -4],
      [null, null],
      [null, -4],
      [null, -4],
    ]);
    const csv = await at.get("/api/licenses/denials?format=csv&sort=-reason", { key });
    expect(await csv.text()).not.toMatch(/ada|bob|ws0|seats/i);
    expect(all.denials[3]).toMatchObject({ user: PSEUDONYMS.user("ada"), host: PSEUDONYMS.host("ws01") });
    expect(minutesOf(await ask(`user=${PSEUDONYMS.user("bob")}`))).toEqual([10]);
    expect(minutesOf(await ask(`host=${PSEUDONYMS.host("ws01")}`))).toEqual([30, 0]);
    expect(minutesOf(await ask("user=bob"))).toEqual([]);
    const sorted = (await ask("sort=user&limit=3")).denials.map(({ user }) => String(user));
    expect(sorted).toEqual(sorted.toSorted());
  });

  test("whoever has which name, an anonymized key gets the same rows in the same order", async () => {
    const NAMES = ["ada", "bob", "eve", "uma"];
    const sorts = DENIAL_SORTS.filter((field) => field !== "user" && field !== "host");
    const shownFor = async (names: readonly string[], sort: string) => {
      // Equal but for the name and, to tell them apart, the code; a reason may quote the name.
      const at = site(
        names.map((user, index) =>
          denial(0, { user, host: `${user}-ws`, reason: `${user} may not`, code: index }),
        ),
      );
      const made = at.deps.keys.create({ ...NEW_KEY, name: "anonymous" });
      const key = made.outcome === "created" ? made.presented : null;
      const body = (await (await at.get(`/api/licenses/denials?sort=${sort}`, { key })).json()) as Body;
      return body.denials.map(({ code }) => code);
    };
    await fc.assert(
      fc.asyncProperty(
        fc.shuffledSubarray(NAMES, { minLength: NAMES.length }),
        fc.constantFrom(...sorts.flatMap((field) => [field, `-${field}`])),
        async (names, sort) => {
          expect(await shownFor(names, sort)).toEqual(await shownFor(NAMES, sort));
        },
      ),
      { numRuns: 40 },
    );
  });
});
