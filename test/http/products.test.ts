import { afterEach, describe, expect, test } from "bun:test";
import type { Product } from "../../src/domain/stats/products.ts";
import * as a from "../domain/make.ts";
import { createRig } from "../history/rig.ts";
import { cleanUp } from "../store/place.ts";
import { type Bench, feature, historyBench, monitored, picture, pollMinutes } from "./make.ts";

afterEach(cleanUp);

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = a.NOON;
const NOW = START + 2 * HOUR;
const PRODUCTS: readonly Product[] = [
  { name: "Sim, full", features: ["*/*/sim_*"], costPerSeatYear: 8760, currency: "EUR" },
  { name: "Rest", features: ["eda/*/*"], costPerSeatYear: null, currency: null },
  { name: "Nothing", features: ["nosuch/*/*"], costPerSeatYear: 1, currency: "EUR" },
];

/**
 * Creates two hours of polls of two servers. On the first, `sim_core` has two holders in the first hour. On the second,
 * `sim_post` has three holders in the second hour, and the last quarter of an hour is unknown.
 */
async function site(): Promise<Bench> {
  const servers = [a.server({ id: "eda" }), a.server({ id: "cae" })];
  const rig = createRig(servers);
  const seats = (name: string, total: number, ...users: string[]) => {
    const checkouts = users.map((user) => a.checkout({ user, handle: user, startedAt: null }));
    return a.feature({ name, total, used: users.length, checkouts });
  };
  const isFirst = (at: number) => at < START + HOUR;
  await pollMinutes(rig, START, NOW, {
    eda: (at) => [seats("sim_core", 4, ...(isFirst(at) ? ["ann", "bob"] : [])), seats("viewer", 5)],
    cae: (at) =>
      at < NOW - 15 * MINUTE ? [seats("sim_post", 6, ...(isFirst(at) ? [] : ["ann", "cleo", "dan"]))] : null,
  });
  const at = historyBench(rig, NOW, { products: PRODUCTS });
  const of = (id: string, labels: Record<string, string>, ...names: string[]) =>
    picture(id, { server: monitored(id, { labels }), features: names.map((name) => feature(name)) });
  at.show(
    of("eda", { location: "muc", note: "a,b:c" }, "sim_core", "viewer"),
    of("cae", { location: "stu" }, "sim_post"),
  );
  return at;
}

const RANGE = `start=${START}&end=${NOW}`;
const SIM = `product=${encodeURIComponent("Sim, full")}`;

interface Body {
  readonly code: string;
  readonly message: string;
  readonly products: readonly Record<string, unknown>[];
  readonly [list: string]: unknown;
}
const ask = (at: Bench, path: string, key = at.keys.viewer) =>
  at.answer<Body>(`/api/licenses/${path}`, { key });

describe("a product", () => {
  test("has peaks of simultaneous use, never sums of peaks", async () => {
    const at = await site();
    const { body } = await ask(at, `stats?${RANGE}&${SIM}&product=Nothing`);
    // Peaks of 2 and 3, an hour apart.
    expect(body.features).toMatchObject([
      { server: "cae", feature: "sim_post", peakUsed: 3 },
      { server: "eda", feature: "sim_core", peakUsed: 2 },
    ]);
    const [sim, nothing] = body.products;
    expect(sim).toMatchObject({
      product: "Sim, full",
      features: 2,
      total: 10,
      peakHeld: 3,
      uniqueUsers: 4,
      sessions: 5,
      costPerSeatYear: 8760,
      currency: "EUR",
    });
    expect(sim?.coverage).toBeCloseTo((2 + 1.75) / 4, 1);
    // A seat-hour costs 1 EUR: 4 seats for two hours and 6 for the covered time, minus the held seat-hours.
    const paid = 4 * 2 + 6 * 1.75;
    expect(sim?.idleCost).toBeCloseTo(paid - Number(sim?.heldSeatHours), 0);
    expect(sim?.idleCost).toBe(Math.round(Number(sim?.idleSeatHours) * 100) / 100);
    expect(nothing).toMatchObject({ features: 0, total: null, peakHeld: null, idleCost: null, coverage: 0 });
  });

  test("has seats that are in use together", async () => {
    const at = await site();
    const { body } = await ask(at, `efficiency?${RANGE}&${SIM}`);
    const [sim] = body.products;
    expect(sim?.total).toBe(10);
    const seats = sim?.seats as { seat: number; busyPercent: number }[];
    expect(seats.map(({ busyPercent }) => Math.round(busyPercent / 5) * 5)).toEqual([
      ...[90, 90, 40],
      ...new Array(7).fill(0),
    ]);
    expect(sim?.whatIf).toContainEqual({ total: 5, saturatedSeconds: 0, affectedSessions: 0 });
    expect(sim?.whatIf).toContainEqual({ total: 11, saturatedSeconds: null, affectedSessions: null });
    expect([sim?.denials, sim?.queuedRequests]).toEqual([null, null]);
  });

  test("has each feature once: the first product wins", async () => {
    const at = await site();
    const { body } = await ask(at, `stats?${RANGE}&product=Rest`);
    expect(body.features).toMatchObject([{ server: "eda", feature: "viewer", peakUsed: 0 }]);
    expect(body.products).toMatchObject([{ product: "Rest", features: 1, peakHeld: 0, idleCost: null }]);
    const none = await ask(at, `stats?${RANGE}`);
    expect([none.body.total, none.body.products]).toEqual([3, undefined as never]);
  });

  test("that is unknown is 404, with the closest one", async () => {
    const at = await site();
    for (const path of ["stats", "efficiency"]) {
      const { status, body } = await ask(at, `${path}?product=Sim`);
      expect([status, body.code]).toEqual([404, "NOT_FOUND"]);
      expect(body.message).toStartWith('The config has no product "Sim". The closest name is "Sim, full"');
    }
  });
});

test.each<[string, Record<string, unknown>[]]>([
  ["product", [{ product: "Sim, full", peakHeld: 3, uniqueUsers: 4 }]],
  [
    "product,user&sort=-sessions&user=ann,cleo",
    [
      { product: "Sim, full", user: "ann", sessions: 2 },
      { product: "Sim, full", user: "cleo" },
    ],
  ],
  ["label:location&sort=-sessions", [{ "label:location": "stu" }, { "label:location": "muc" }]],
  [
    "label:note,product&sort=-sessions",
    [
      { "label:note": null, product: "Sim, full" },
      { "label:note": "a,b:c", product: "Sim, full" },
    ],
  ],
])("usage by %s", async (by, groups) => {
  const at = await site();
  expect((await ask(at, `usage?${RANGE}&group_by=${by}`)).body).toMatchObject({ groups });
  const csv = await at.get(`/api/licenses/usage?${RANGE}&group_by=${by}&format=csv`, { key: at.keys.viewer });
  const [head = ""] = (await csv.text()).split("\r\n");
  expect(head.split(",")).toEqual(expect.arrayContaining(by.replace(/&.*/, "").split(",")));
});

test.each(["label:", "label", "products", "label:a,label:b,label:c"])(
  "usage rejects group_by=%s",
  async (by) => {
    const { status, body } = await ask(await site(), `usage?group_by=${encodeURIComponent(by)}`);
    expect([status, body.code]).toEqual([400, "INVALID_QUERY"]);
    expect(body.message).toContain("label:<name>");
  },
);

test("a label that no server has is 404, with the closest one", async () => {
  const { status, body } = await ask(await site(), "usage?group_by=label:constructor,label:note");
  expect([status, body.code]).toEqual([404, "NOT_FOUND"]);
  expect(body.message).toStartWith(
    'Cannot group by "label:constructor": no license server has that label. The closest',
  );
});

test.each([
  ["", ["sim_post", "sim_core", "viewer"]],
  ["&sort=-total", ["sim_post", "viewer", "sim_core"]],
  ["&sort=feature&limit=2", ["sim_core", "sim_post"]],
])("efficiency%s covers %j", async (more, features) => {
  const { body } = await ask(await site(), `efficiency?${RANGE}${more}`);
  expect(body.features).toMatchObject(features.map((feature) => ({ feature })));
});

describe("label", () => {
  const LISTS = [
    ...["features", "users", "servers", "expirations", "alerts", "denials", "sessions", "outages", "waits"],
    ...["stats", "efficiency", "usage?group_by=server&", "people"],
  ];
  test.each(LISTS)("%s selects the servers that have it", async (path) => {
    const at = await site();
    const list = async (query: string, key = at.keys.viewer) => {
      const { status, body } = await ask(at, `${path}${path.includes("?") ? "" : "?"}${query}`, key);
      return status === 200
        ? (Object.values(body).find(Array.isArray) as { server?: string; id?: string }[])
        : body;
    };
    const rows = await list("label=location:stu");
    const ids = new Set((rows as { server?: string; id?: string }[]).map(({ server, id }) => server ?? id));
    expect([...ids].filter((id) => id !== "cae")).toEqual([]);
    if (!["expirations", "alerts", "denials", "waits", "people"].includes(path)) expect(ids.size).toBe(1);
    // A server must have all labels and the id.
    expect(await list("label=location:muc&label=note:a,b:c&server=cae")).toEqual([]);
    expect(await list("label=location:st")).toMatchObject({
      code: "NOT_FOUND",
      message: expect.stringContaining(
        'No license server has the label "location:st". The closest names are "location:stu"',
      ),
    });
    expect(await list("label=location:stu", at.keys.anonymous)).toMatchObject({ code: "AUTH_INSUFFICIENT" });
    expect(await list("label=location")).toMatchObject({ code: "INVALID_QUERY" });
  });

  test("the snapshot, the heat map and the calendar are filtered too", async () => {
    const at = await site();
    const { body } = await ask(at, "?label=location:muc".replace("?", "../licenses?"));
    expect(body.servers).toMatchObject([{ id: "eda" }]);
    for (const [query, features] of [
      ["label=location:stu", 1],
      ["server=eda", 2],
      ["", 3],
    ] as const)
      expect((await ask(at, `summary?${query}`)).body).toMatchObject({ features });
    expect((await ask(at, `heatmap?${RANGE}&label=location:muc`)).body.features).toBe(2 as never);
    const calendar = await at.get("/api/licenses/expirations.ics?label=location:x", { key: at.keys.viewer });
    expect(calendar.status).toBe(404);
  });
});
