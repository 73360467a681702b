import { afterEach, describe, expect, test } from "bun:test";
import type {
  ProductRecord,
  SessionRecord,
  StatsRecord,
  UsageRecord,
} from "../../src/domain/history-records.ts";
import type { CheckoutReading } from "../../src/domain/reading.ts";
import type { FeatureRecord, UserRecord } from "../../src/domain/records.ts";
import * as a from "../domain/make.ts";
import { createRig } from "../history/rig.ts";
import { makeDays } from "../history/sessions/rig.ts";
import { cleanUp, fixedClock } from "../store/place.ts";
import { type Bench, historyBench, pollMinutes } from "./make.ts";
import { PSEUDONYMS } from "./streams/rig.ts";

afterEach(cleanUp);

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = a.NOON;
const NOW = START + 2 * HOUR;
const RANGE = `start=${START}&end=${NOW}`;

const SERVERS = [a.server({ id: "crash" }), a.server({ id: "mesh" })];
/** Holders of the third program. A user may be called `null`; a missing name is null. */
const ROWS = [
  a.checkout({ user: null, host: "ws7", handle: null, startedAt: null }),
  a.checkout({ user: null, host: null, handle: null, startedAt: null }),
  a.checkout({ user: "null", host: "ws7", handle: null, startedAt: null }),
];

/**
 * Two hours of polls: two programs share 500 seats, a third has its own 10, and two features of another server use one token
 * pool. The holders of the third program are in `ROWS`: all in the first hour, then only the first.
 */
async function site(): Promise<{ at: Bench; rig: ReturnType<typeof createRig> }> {
  const rig = createRig(SERVERS);
  const member = (name: string, ...counts: number[]) => {
    const checkouts = counts.map((count, at) => {
      return a.checkout({ user: `${name}${at}`, handle: name + at, count, startedAt: null });
    });
    const used = counts.reduce((sum, count) => sum + count);
    return a.feature({ name, total: 500, used, seatGroup: "0", checkouts });
  };
  for (let at = START; at <= NOW; at += MINUTE) {
    const poll = { startedAt: at - 200, finishedAt: at };
    const isFirst = at < START + HOUR;
    const rows: CheckoutReading[] = isFirst ? ROWS : ROWS.slice(0, 1);
    const crash = [
      isFirst ? member("dyna", 100, 300) : member("dyna", 100),
      member("mpp", 40),
      a.feature({ name: "post", total: 10, used: rows.length, checkouts: rows }),
    ];
    const mesh = ["HyperWorks", "GlobalZoneEU"].map((name) =>
      a.feature({
        name,
        total: 1_000_003,
        used: 25_000,
        unit: "tokens",
        checkouts: [a.checkout({ user: "eve", count: 25_000, startedAt: null })],
        assigned: [
          { user: "zoe", host: "ws9", since: START },
          { user: "eve", host: null, since: null },
        ],
      }),
    );
    await rig.poll(a.outcome({ ...poll, serverId: "crash", reading: a.reading({ features: crash }) }));
    await rig.poll(a.outcome({ ...poll, serverId: "mesh", reading: a.reading({ features: mesh }) }));
    if (at === START + 30 * MINUTE) rig.restart();
  }
  const products = [
    {
      name: "Crash",
      features: ["crash/*/dyna", "crash/*/mpp", "mesh/*/HyperWorks"],
      costPerSeatYear: null,
      currency: null,
    },
    { name: "Tokens", features: ["mesh/*/*"], costPerSeatYear: null, currency: null },
  ];
  const at = historyBench(rig, NOW, { products });
  at.show(...rig.live().snapshot().servers);
  return { at, rig };
}

const ask = <Body>(at: Bench, path: string, key = at.keys.viewer) =>
  at.json<Body>(`/api/licenses/${path}`, { key });

type Stats = { features: StatsRecord[]; products: ProductRecord[] };

describe("units and seat groups in the statistics", () => {
  test("are in the figures of each feature", async () => {
    const { at } = await site();
    const { features } = await ask<Stats>(at, `stats?${RANGE}`);
    expect(features.map((row) => [row.feature, row.total, row.peakUsed, row.unit, row.seatGroup])).toEqual([
      ["dyna", 500, 400, "seats", "0"],
      ["mpp", 500, 40, "seats", "0"],
      ["post", 10, 3, "seats", null],
      ["GlobalZoneEU", 1_000_003, 25_000, "tokens", null],
      ["HyperWorks", 1_000_003, 25_000, "tokens", null],
    ]);
    const { features: seats } = await ask<{ features: { unit: string }[] }>(at, `efficiency?${RANGE}`);
    expect(seats.map(({ unit }) => unit)).toEqual(["seats", "seats", "seats", "tokens", "tokens"]);
  });

  test("a product counts a group once, and no tokens", async () => {
    const { at } = await site();
    const { products } = await ask<Stats>(at, `stats?${RANGE}&product=Crash&product=Tokens`);
    expect(products).toMatchObject([
      { product: "Crash", features: 3, total: 500, peakHeld: 440, heldSeatHours: 580, uniqueUsers: 4 },
      { product: "Tokens", features: 1, total: null, peakHeld: null, heldSeatHours: null, uniqueUsers: 1 },
    ]);
    expect(products[0]?.idleSeatHours).toBe(2 * 500 - 580);
  });

  test("hours of several features are of seats, each group once; of one feature in its unit", async () => {
    const { at, rig } = await site();
    type Heat = {
      features: number;
      unit: string;
      cells: { peakUsed: number | null; averageUtilization: number | null }[];
    };
    const peaks = ({ cells }: Heat) => cells.flatMap(({ peakUsed }) => peakUsed ?? []);
    const all = await ask<Heat>(at, `heatmap?${RANGE}&timezone=UTC`);
    expect([all.features, all.unit, peaks(all)]).toEqual([3, "seats", [443, 141]]);
    expect(all.cells.find(({ peakUsed }) => peakUsed === 443)?.averageUtilization).toBeCloseTo(
      (100 * 443) / 510,
      1,
    );
    const one = await ask<Heat>(at, `heatmap?${RANGE}&timezone=UTC&feature=HyperWorks`);
    expect([one.features, one.unit, peaks(one)]).toEqual([1, "tokens", [25_000, 25_000]]);

    // The same answers come from packed days, and change when a feature gets another unit.
    rig.clock.time = NOW + 24 * HOUR;
    rig.history().packAll();
    const days = () => rig.reader().siteDays(0, 1e6).size;
    await makeDays(rig.store, fixedClock(rig.clock.time), () => {}, {});
    const made = days();
    expect(made).toBeGreaterThan(0);
    const packed = await ask<Heat>(
      at,
      `heatmap?start=${START - 12 * HOUR}&end=${START + 12 * HOUR}&timezone=UTC`,
    );
    // The last reading counts for one minute after it, which is in a third hour.
    expect(peaks(packed)).toEqual([443, 141, 141]);
    const credits = a.feature({ name: "post", total: 10, used: 1, unit: "credits", checkouts: [] });
    const poll = { startedAt: NOW + 25 * HOUR, finishedAt: NOW + 25 * HOUR, serverId: "crash" };
    await rig.poll(a.outcome({ ...poll, reading: a.reading({ features: [credits] }) }));
    expect(days()).toBe(0);
    expect(rig.feature("post")).toMatchObject({ unit: "credits", seatGroup: null });
  });

  test("usage adds up seats, and one feature in its unit", async () => {
    const { at } = await site();
    const groups = async (query: string) =>
      (await ask<{ groups: UsageRecord[] }>(at, `usage?${RANGE}&${query}`)).groups;
    const shown = (rows: readonly UsageRecord[]) =>
      rows.map(({ server, user, feature: name, heldSeatHours, peakHeld, unit }) => [
        server ?? user ?? name,
        heldSeatHours,
        peakHeld,
        unit,
      ]);
    expect(shown(await groups("group_by=server"))).toEqual([
      ["crash", 584, 443, "seats"],
      ["mesh", 0, 0, "seats"],
    ]);
    // Sessions of tokens are counted, but their seat-hours are not.
    expect((await groups("group_by=server"))[1]).toMatchObject({ sessions: 2, uniqueUsers: 1 });
    const byFeature = await groups("group_by=feature&sort=feature");
    expect(byFeature.map((row) => [row.feature, row.unit])).toEqual([
      ["GlobalZoneEU", "tokens"],
      ["HyperWorks", "tokens"],
      ["dyna", "seats"],
      ["mpp", "seats"],
      ["post", "seats"],
    ]);
    expect(byFeature[0]).toMatchObject({ heldSeatHours: 50_000, peakHeld: 25_000 });
    expect(shown(await groups("group_by=user&feature=HyperWorks"))).toEqual([
      ["eve", 50_000, 25_000, "tokens"],
    ]);
  });
});

test("a seat of a package counts once in usage, products and heat maps", async () => {
  const rig = createRig([a.server({ id: "cad" })]);
  const inPackage = (name: string, total: number, ...users: string[]) =>
    a.feature({
      name,
      total,
      used: users.length,
      seatGroup: "package suite",
      checkouts: users.map((user) => a.checkout({ user, handle: name + user, startedAt: null })),
    });
  const features = [
    inPackage("drafting", 14, "ada"),
    inPackage("modelling", 4, "bob"),
    inPackage("suite", 4, "ada", "bob"),
  ];
  await pollMinutes(rig, START, NOW, { cad: () => features });
  const product = { costPerSeatYear: null, currency: null };
  const products = [
    { ...product, name: "All", features: ["cad/*/*"] },
    { ...product, name: "Drafting", features: ["cad/*/drafting"] },
  ];
  const site = (some: typeof products) => {
    const at = historyBench(rig, NOW, { products: some });
    at.show(...rig.live().snapshot().servers);
    return at;
  };
  const at = site(products);
  const usage = async (query: string, of = at) => {
    const { groups } = await ask<{ groups: UsageRecord[] }>(of, `usage?${RANGE}&${query}`);
    return groups.map((row) => [
      row.product ?? row.user ?? row.feature ?? row.server,
      row.heldSeatHours,
      row.peakHeld,
      row.sessions,
    ]);
  };
  expect(await usage("group_by=server")).toEqual([["cad", 4, 2, 2]]);
  expect(await usage("group_by=user&sort=user")).toEqual([
    ["ada", 2, 1, 1],
    ["bob", 2, 1, 1],
  ]);
  expect(await usage("group_by=feature&sort=feature")).toEqual([
    ["drafting", 2, 1, 1],
    ["modelling", 2, 1, 1],
    ["suite", 4, 2, 2],
  ]);
  expect(await usage("group_by=user&feature=drafting")).toEqual([["ada", 2, 1, 1]]);
  expect(await usage("group_by=product", site(products.toReversed()))).toEqual([
    ["All", 4, 2, 2],
    ["Drafting", 2, 1, 1],
  ]);
  const stats = await ask<Stats>(at, `stats?${RANGE}&product=All`);
  expect(stats.products).toMatchObject([
    { features: 3, total: 4, peakHeld: 2, heldSeatHours: 4, uniqueUsers: 2, sessions: 2 },
  ]);
  const heat = await ask<{ cells: { peakUsed: number | null }[] }>(at, `heatmap?${RANGE}&timezone=UTC`);
  expect(heat.cells.flatMap(({ peakUsed }) => peakUsed ?? [])).toEqual([2, 2]);
});

describe("a holder without a known user", () => {
  test("is null in live data", async () => {
    const { at } = await site();
    const { users } = await ask<{ users: UserRecord[] }>(at, "users?feature=post");
    expect(users.map(({ user, host }) => [user, host])).toEqual([[null, "ws7"]]);
    const csv = await (await at.get("/api/licenses/users?feature=post&format=csv")).text();
    expect(csv.split("\r\n")[1]).toContain(",post,,ws7,");
    expect((await ask<{ users: UserRecord[] }>(at, "users?feature=post&user=null")).users).toEqual([]);
    const { users: count, hosts } = await ask<{ users: number; hosts: number }>(at, "summary");
    expect([count, hosts]).toEqual([3, 2]);
  });

  test("has its own sessions, over a restart and next to a user called null", async () => {
    const { at } = await site();
    const { sessions } = await ask<{ sessions: SessionRecord[] }>(
      at,
      `sessions?${RANGE}&feature=post&sort=endedAt`,
    );
    expect(sessions.map(({ user, host, endedAt }) => [user, host, endedAt === null])).toEqual(
      expect.arrayContaining([
        [null, "ws7", true],
        [null, null, false],
        ["null", "ws7", false],
      ]),
    );
    expect(sessions).toHaveLength(3);
    const csv = await (await at.get(`/api/licenses/sessions?${RANGE}&feature=post&format=csv`)).text();
    expect(csv.match(/,post,null,/g)).toHaveLength(1);
    const named = await ask<{ sessions: SessionRecord[] }>(at, `sessions?${RANGE}&feature=post&user=null`);
    expect(named.sessions.map(({ user }) => user)).toEqual(["null"]);
  });

  test("has its own row in usage, and is no person", async () => {
    const { at } = await site();
    const { groups } = await ask<{ groups: UsageRecord[] }>(at, `usage?${RANGE}&group_by=user&feature=post`);
    expect(groups.map(({ user, sessions, uniqueUsers }) => [user, sessions, uniqueUsers])).toEqual([
      [null, 2, 0],
      ["null", 1, 1],
    ]);
    const { features } = await ask<Stats>(at, `stats?${RANGE}&feature=post`);
    expect(features[0]).toMatchObject({ uniqueUsers: 1, sessions: 3 });
    const { people } = await ask<{ people: { kind: string; name: string }[] }>(
      at,
      "people?kind=user&sort=name",
    );
    expect(people.map(({ name }) => name)).toEqual(["dyna0", "dyna1", "eve", "mpp0", "null"]);
  });

  test("stays null under pseudonyms", async () => {
    const { at } = await site();
    const { anonymous } = at.keys;
    const { sessions } = await ask<{ sessions: SessionRecord[] }>(
      at,
      `sessions?${RANGE}&feature=post`,
      anonymous,
    );
    expect(new Set(sessions.map(({ user }) => user))).toEqual(new Set([PSEUDONYMS.user("null"), null]));
    const { users } = await ask<{ users: UserRecord[] }>(at, "users?feature=post", anonymous);
    expect(users.map(({ user }) => user)).toEqual([null]);
    const usage = `usage?${RANGE}&group_by=user&feature=post`;
    const { groups } = await ask<{ groups: UsageRecord[] }>(at, usage, anonymous);
    expect(groups.map(({ user }) => user)).toEqual([null, PSEUDONYMS.user("null")]);
  });
});

describe("people with an assigned feature", () => {
  const assigned = { kind: "assigned", session: null, count: 1, durationSeconds: null, handle: null };

  test("have their own kind of rows and a count, and hold no seat", async () => {
    const { at } = await site();
    const { features } = await ask<{ features: FeatureRecord[] }>(at, "features");
    expect(features.map(({ name, assigned: count }) => [name, count])).toEqual([
      ["dyna", null],
      ["mpp", null],
      ["post", null],
      ["HyperWorks", 2],
      ["GlobalZoneEU", 2],
    ]);
    const { users } = await ask<{ users: UserRecord[] }>(at, "users?kind=assigned&feature=HyperWorks");
    expect(users).toMatchObject([
      { ...assigned, user: "zoe", host: "ws9", startedAt: new Date(START).toISOString() },
      { ...assigned, user: "eve", host: null, startedAt: null },
    ]);
    const { servers } = await ask<{ servers: { counts: { checkouts: number } }[] }>(
      at,
      "servers?server=mesh",
    );
    expect(servers[0]?.counts.checkouts).toBe(2);
    const { sessions } = await ask<{ sessions: SessionRecord[] }>(at, `sessions?${RANGE}&user=zoe`);
    expect(sessions).toEqual([]);
  });

  test("have names like others", async () => {
    const { at } = await site();
    const { users } = await ask<{ users: UserRecord[] }>(
      at,
      "users?kind=assigned&feature=HyperWorks",
      at.keys.anonymous,
    );
    const hidden = [PSEUDONYMS.user("eve"), PSEUDONYMS.user("zoe")];
    expect(users.map(({ user }) => user).sort()).toEqual(hidden.sort());
    expect(users.map(({ host }) => host).sort()).toEqual([PSEUDONYMS.host("ws9"), null]);
    const { servers } = await at.json<{ servers: { rows: unknown[][] }[] }>("/api/picture?server=mesh");
    expect(servers[0]?.rows.filter((row) => row[2] === "assigned").map((row) => row.slice(1, 5))).toEqual([
      ["snpslmd/HyperWorks", "assigned", "zoe", "ws9"],
      ["snpslmd/HyperWorks", "assigned", "eve", null],
      ["snpslmd/GlobalZoneEU", "assigned", "zoe", "ws9"],
      ["snpslmd/GlobalZoneEU", "assigned", "eve", null],
    ]);
  });
});
