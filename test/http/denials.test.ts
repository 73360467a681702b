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
import { type Bench, bench, denial, monitored, NOW, picture } from "./make.ts";
import { PSEUDONYMS } from "./streams/rig.ts";

afterEach(cleanUp);

const minute = (minutes: number) => NOW - 3_600_000 + minutes * 60_000;
const denied = (minutes: number, more: Partial<Denial> = {}) =>
  denial(minute(minutes), { reason: "=No seats", ...more });

const LOGGING: readonly DenialLogging[] = [
  { server: "eda", state: "on", source: "debug_log", since: minute(0), message: null },
  { server: "vfx", state: "unreadable", source: "debug_log", since: null, message: "/var/x.log is gone" },
];

const NOBODY = { feature: null, user: null, host: null, reason: null, code: null };
const FOUR: readonly Denial[] = [
  denied(0),
  denied(10, { user: "bob", host: "ws02", attempts: 3, until: minute(12) }),
  denied(20, { server: "vfx", daemon: "isv", ...NOBODY, count: 4, attempts: 4 }),
  denied(30, { feature: "a,b", outcome: "granted_later" }),
];

function site(list = FOUR) {
  const store = open(temporaryDirectory());
  const servers = [monitored("eda"), monitored("vfx")];
  createServers({ store, clock: { now: () => NOW } }).configured(servers);
  store.transaction(() => createDenials(store).write(list.map((one) => ({ denial: one, told: true }))));
  const history = historyPort(() => createReader(store.sqlite, { now: NOW }));
  const at = bench({ denials: { logging: () => LOGGING }, history });
  at.show(picture("eda"), picture("vfx", { server: monitored("vfx") }));
  return at;
}

interface Body {
  readonly denials: readonly Record<string, unknown>[];
  readonly total: number;
  readonly logging: readonly unknown[];
}
const ask = (at: Bench, query = "", key = at.keys.viewer) =>
  at.json<Body>(`/api/licenses/denials?${query}`, { key });
const minutesOf = (body: Body) =>
  body.denials.map(({ timestamp }) => (Date.parse(String(timestamp)) - minute(0)) / 60_000);

describe("/api/licenses/denials", () => {
  test("returns records, newest first, and which servers report denials", async () => {
    const body = await ask(site());
    expect(body).toMatchObject({ total: 4, limit: 100, offset: 0 });
    expect(minutesOf(body)).toEqual([30, 20, 10, 0]);
    const { at, until, ...bob } = FOUR[1] ?? denied(0);
    const times = { timestamp: new Date(at).toISOString(), until: new Date(until).toISOString() };
    expect(body.denials[2]).toEqual({ ...bob, ...times });
    expect(body.denials[1]).toMatchObject({ ...NOBODY, count: 4 });
    expect(body.logging).toMatchObject([
      { server: "eda", state: "on", since: new Date(minute(0)).toISOString() },
      { server: "vfx", state: "unreadable", since: null, message: "/var/x.log is gone" },
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
    expect(minutesOf(await ask(site(), query))).toEqual(expected);
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

  test("an anonymized key sees pseudonyms, filters by them, and cannot infer the order of names", async () => {
    const at = site();
    const key = at.keys.anonymous;
    const hidden = (query: string) => ask(at, query, key);
    const all = await hidden("");
    expect(JSON.stringify(all)).not.toMatch(/"ada"|"bob"|"ws0|\/var|seats/i);
    expect(all.denials.map(({ reason }) => reason)).toEqual([null, null, null, null]);
    expect(all.denials.map(({ code }) => code)).toEqual([-4, null, -4, -4]);
    const csv = await at.get("/api/licenses/denials?format=csv&sort=-reason", { key });
    expect(await csv.text()).not.toMatch(/ada|bob|ws0|seats/i);
    expect(all.denials[3]).toMatchObject({ user: PSEUDONYMS.user("ada"), host: PSEUDONYMS.host("ws01") });
    expect(minutesOf(await hidden(`user=${PSEUDONYMS.user("bob")}`))).toEqual([10]);
    expect(minutesOf(await hidden(`host=${PSEUDONYMS.host("ws01")}`))).toEqual([30, 0]);
    expect(minutesOf(await hidden("user=bob"))).toEqual([]);
    const sorted = (await hidden("sort=user&limit=3")).denials.map(({ user }) => String(user));
    expect(sorted).toEqual(sorted.toSorted());
  });

  test("an anonymized key gets equal rows in equal order, regardless of the names", async () => {
    const NAMES = ["ada", "bob", "eve", "uma"];
    const sorts = DENIAL_SORTS.filter((field) => field !== "user" && field !== "host");
    const shownFor = async (names: readonly string[], sort: string) => {
      // Rows differ only in the name and in a code that identifies them. A reason may quote the name.
      const rows = names.map((user, code) =>
        denied(0, { user, host: `${user}-ws`, reason: `${user} may not`, code }),
      );
      const at = site(rows);
      return (await ask(at, `sort=${sort}`, at.keys.anonymous)).denials.map(({ code }) => code);
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
