import { afterAll, beforeAll, expect, test } from "bun:test";
import { cleanUp } from "../store/place.ts";
import { describeHub } from "./describe-hub.ts";
import { type HistorySite, makeSite } from "./history-site.ts";

/** Time of the tests: a Wednesday morning. */
const NOW = Date.parse("2026-03-04T10:25:00Z");
const DAYS = 5;
const NAMES = ["muc", "blr"] as const;
const PRODUCTS = `
[[products]]
name = "LogicSim"
features = ["*eda/*/LogicSim_*"]
cost_per_seat_year = 9800
currency = "EUR"
[[products]]
name = "Simulation"
features = ["*cae/*/*", "*remote/*/*"]
cost_per_seat_year = 6400
currency = "EUR"
`;

const RANGES = {
  day: "start=2026-03-03T10:25:00Z&end=2026-03-04T10:25:00Z",
  cut: "start=2026-03-03T10:37:21Z&end=2026-03-04T09:12:05Z",
  week: "start=2026-02-28&end=2026-03-03",
  past: "start=2026-02-10&end=2026-02-28T11:30:00Z",
  today: "start=2026-03-04&end=2026-03-04T10:00:00Z",
  all: "start=2026-02-01&end=2026-03-05",
};
const ZONES = ["UTC", "Europe/Berlin", "Asia/Kolkata", "America/St_Johns"];
const SOME = "feature=Schema_Editor";

const STATS_SORTS = ["-peakUsed", "averageUsed", "-heldSeatHours", "uniqueUsers", "-sessions", "feature"];
const each = <T>(list: readonly T[], make: (one: T, index: number) => string) => list.map(make);
const ranges = Object.values(RANGES);
const QUESTIONS = [
  ...each(ranges, (range) => `stats?limit=1000&${range}`),
  ...each(ranges, (range, at) => `stats?limit=20&offset=3&sort=${STATS_SORTS[at]}&${range}`),
  ...each(ranges, (range, at) => `stats?limit=10&${SOME}&${range}&timezone=${ZONES[at % ZONES.length]}`),
  ...each(
    ["5m", "1h", "1d"],
    (interval) => `stats?limit=5&series=true&interval=${interval}&${RANGES.cut}&timezone=Asia/Kolkata`,
  ),
  `stats?limit=1000&label=location:muc&${RANGES.week}`,
  `stats?limit=1000&server=@cae&${RANGES.day}`,
  `stats?limit=1000&product=LogicSim&product=Simulation&${RANGES.week}`,
  `stats?limit=1000&product=LogicSim&${RANGES.cut}`,
  ...each(ranges, (range, at) => `heatmap?${range}&timezone=${ZONES[at % ZONES.length]}`),
  ...each(ranges, (range, at) => `heatmap?${SOME}&${range}&timezone=${ZONES[at % ZONES.length]}`),
  `heatmap?server=@styling&${RANGES.week}&timezone=UTC`,
  ...each(ranges, (range) => `efficiency?limit=1000&${range}`),
  `efficiency?limit=7&offset=2&sort=-total&${RANGES.week}`,
  `efficiency?limit=7&sort=-coverage&${RANGES.week}`,
  `efficiency?limit=1000&product=Simulation&${RANGES.week}`,
  ...each(
    ["user", "host", "feature", "daemon", "server", "product", "day", "user,feature", "label:location,day"],
    (by, at) =>
      `usage?limit=1000&group_by=${by}&${ranges[at % ranges.length]}&timezone=${ZONES[at % ZONES.length]}`,
  ),
  `usage?limit=9&offset=4&sort=-peakHeld&group_by=feature&${RANGES.all}`,
  `usage?limit=9&offset=4&sort=-user&group_by=user,host&${RANGES.all}`,
  `usage?limit=9&sort=unit&group_by=feature&${RANGES.all}`,
  `usage?limit=1000&group_by=user&server=@eda&${RANGES.week}`,
  `usage?limit=1000&group_by=day&${SOME}&${RANGES.week}&timezone=UTC`,
  ...each(ranges, (range) => `waits?limit=1000&${range}`),
  `waits?limit=5&sort=-fullSeconds&${RANGES.all}`,
  ...each(ranges, (range) => `outages?limit=1000&${range}`),
  `outages?limit=3&offset=1&sort=-durationSeconds&${RANGES.all}`,
  `outages?limit=100&status=down,degraded&server=@remote&${RANGES.all}`,
  "people?limit=10000",
  "people?limit=20&offset=7&sort=name&kind=user",
  "people?limit=1000&q=a&start=-2d",
  "people?limit=1000&server=@cae",
];

let now = NOW;
describeHub("history at a hub", { clock: { now: () => now }, config: PRODUCTS }, (at) => {
  const { hub, keys, postgres } = at;
  const sites = new Map<string, HistorySite>();

  beforeAll(async () => {
    const wanted = NAMES.map((name, index) => ({ name, seed: index + 1, days: DAYS, packs: name === "muc" }));
    const silent = { name: "sha", seed: 3, days: 2, people: "counts", packs: true } as const;
    for (const one of [...wanted, silent]) {
      const site = await makeSite({ ...one, end: NOW });
      sites.set(one.name, site);
      await site.pushTo(hub.url, (await at.site(one.name)).key);
    }
  });
  afterAll(cleanUp);

  const siteNamed = (name: string) => sites.get(name) as HistorySite;
  const atSite = (path: string) => path.replace("@", "");
  const atHub = (path: string, name: string) =>
    `/api/licenses/${path.replace("@", `${name}:`)}${path.includes("?") ? "&" : "?"}site=${name}`;
  /** Removes the site from a hub's answer, so that it compares with the site's own answer. */
  const ofSite = (name: string, text: string) =>
    text.replaceAll(`"site":"${name}",`, "").replaceAll(`${name}:`, "");

  test.each(QUESTIONS)("with site= the hub's answer equals the site's: %s", async (path) => {
    for (const name of NAMES) {
      const own = await siteNamed(name).daemon.get(`/api/licenses/${atSite(path)}`);
      const said = await hub.get(atHub(path, name));
      expect([said.status, own.status]).toEqual([200, 200]);
      expect(JSON.parse(ofSite(name, await said.text()))).toEqual(JSON.parse(await own.text()));
    }
  });
  test.each([QUESTIONS[0], QUESTIONS.find((path) => path.startsWith("heatmap")), "people?limit=1000"])(
    "and as CSV: %s",
    async (path = "") => {
      const name = "blr";
      const own = await siteNamed(name).daemon.get(`/api/licenses/${atSite(path)}&format=csv`);
      const said = await hub.get(`${atHub(path, name)}&format=csv`);
      const text = (await said.text()).replaceAll(`${name}:`, "");
      // The hub's CSV has the site as an additional first column.
      expect(text.replaceAll(/^(site|blr),/gm, "")).toBe(await own.text());
    },
  );

  type Rows = Record<string, Record<string, number | string | null>[]> & { total: number; coverage: number };
  const ask = (path: string, key = keys.viewer) => hub.json<Rows>(`/api/licenses/${path}`, key);
  const sum = (rows: Rows[string] = [], field: string) =>
    rows.reduce((total, row) => total + Number(row[field] ?? 0), 0);
  const BOTH = "site=muc&site=blr";

  test("sums over sites are the fleet's", async () => {
    const plain = `limit=10000&${RANGES.week}`;
    for (const [path, plural, fields] of [
      [
        `stats?${plain}`,
        "features",
        ["usedSeatHours", "heldSeatHours", "sessions", "denials", "saturatedSeconds"],
      ],
      [`waits?${plain}`, "waits", ["count", "fullSeconds"]],
      [`outages?${plain}`, "outages", ["durationSeconds"]],
      [`usage?group_by=feature&${plain}&timezone=UTC`, "groups", ["heldSeatHours", "sessions"]],
    ] as const) {
      const all = await ask(`${path}&${BOTH}`);
      const own = await Promise.all(NAMES.map((name) => ask(`${path}&site=${name}`)));
      expect(all.total).toBe(own.reduce((total, one) => total + one.total, 0));
      for (const field of fields) {
        const total = own.reduce((all, one) => all + sum(one[plural], field), 0);
        expect(total).toBeGreaterThan(0);
        expect([path, field, sum(all[plural], field)]).toEqual([path, field, expect.closeTo(total, 2)]);
      }
    }
    const [cells, ...of] = await Promise.all(
      [BOTH, ...NAMES.map((name) => `site=${name}`)].map((which) =>
        ask(`heatmap?${RANGES.week}&timezone=Europe/Berlin&${which}`),
      ),
    );
    for (const [index, cell] of (cells?.cells ?? []).entries())
      if (of.every((one) => one.cells?.[index]?.coverage === 1))
        expect(cell.averageUsed).toBeCloseTo(
          sum(
            of.map((one) => one.cells?.[index] ?? {}),
            "averageUsed",
          ),
          2,
        );
  });

  test("usage groups by site, and one person at two sites counts once", async () => {
    const range = `limit=10000&${RANGES.week}&timezone=UTC&${BOTH}`;
    const bySite = await ask(`usage?group_by=site&${range}`);
    expect(new Set(bySite.groups?.map(({ site }) => site))).toEqual(new Set(NAMES));
    for (const { site, heldSeatHours } of bySite.groups ?? []) {
      const own = await ask(`usage?group_by=day&limit=1000&${RANGES.week}&timezone=UTC&site=${site}`);
      expect(heldSeatHours).toBeCloseTo(sum(own.groups, "heldSeatHours"), 2);
    }
    const people = async (which: string) =>
      (await ask(`usage?group_by=user&limit=10000&${RANGES.week}&${which}`)).groups?.map(
        ({ user }) => user,
      ) ?? [];
    const each = (await Promise.all(NAMES.map((name) => people(`site=${name}`)))).flat();
    expect((await people(BOTH)).sort()).toEqual([...new Set(each)].sort());
    expect(new Set(each).size).toBeLessThan(each.length);
    expect((await hub.get("/api/licenses/usage?group_by=place")).status).toBe(400);
    expect((await siteNamed("muc").daemon.get("/api/licenses/usage?group_by=site")).status).toBe(400);
  });

  test("units and seat groups of the past are known", async () => {
    const { features = [] } = await ask(`stats?limit=10000&${RANGES.week}&site=muc`);
    expect(features.some(({ unit }) => unit === "tokens")).toBe(true);
    expect(features.some(({ seatGroup }) => seatGroup !== null)).toBe(true);
  });

  test("an anonymized key sees no name, and finds people by pseudonyms of the fleet", async () => {
    const path = `usage?group_by=user&limit=10000&sort=-sessions&${RANGES.week}&${BOTH}`;
    const [open, masked] = [await ask(path), await ask(path, keys.anonymous)];
    const names = new Set(open.groups?.map(({ user }) => user));
    expect(masked.groups?.map(({ sessions }) => sessions)).toEqual(
      open.groups?.map(({ sessions }) => sessions),
    );
    for (const { user } of masked.groups ?? [])
      expect(names.has(user as string) && user !== null).toBe(false);
    const [{ user = "", sessions = 0 } = {}] = masked.groups ?? [];
    const found = await ask(`${path}&user=${user}`, keys.anonymous);
    expect(found.groups?.map((group) => [group.user, group.sessions])).toEqual([[user, sessions]]);
    const people = await (await hub.get("/api/licenses/people?limit=10000", keys.anonymous)).text();
    for (const name of names) expect(people).not.toContain(`"${name}"`);
  });

  test("for a site that sends only counts, people are unknown, not zero", async () => {
    const range = "start=2026-03-03&end=2026-03-04";
    const { features = [] } = await ask(`stats?limit=1000&${range}&site=sha`);
    const own = await siteNamed("sha").daemon.json<Rows>(`/api/licenses/stats?limit=1000&${range}`);
    expect(features.map(({ usedSeatHours }) => usedSeatHours)).toEqual(
      own.features?.map(({ usedSeatHours }) => usedSeatHours) ?? [],
    );
    for (const { sessions, uniqueUsers, heldSeatHours } of features)
      expect([sessions, uniqueUsers, heldSeatHours]).toEqual([null, null, null]);
    const usage = await ask(`usage?${range}&site=sha`);
    expect([usage.total, usage.coverage]).toEqual([0, 0]);
    expect((await ask("people?site=sha")).total).toBe(0);
    type Tried = { whatIf: { affectedSessions: number | null }[] };
    const tried = await hub.json<{ features: Tried[] }>(`/api/licenses/efficiency?${range}&site=sha`);
    const affected = tried.features.flatMap(({ whatIf }) => whatIf.map((one) => one.affectedSessions));
    expect(new Set(affected)).toEqual(new Set([null]));
  });

  test("the past of a silent site stays, and the time since has no data", async () => {
    const path = `stats?limit=1000&${RANGES.day}&site=muc`;
    const before = await ask(path);
    now = NOW + 3 * 86_400_000;
    expect(await ask(path)).toEqual(before);
    expect((await ask("stats?site=muc&start=-2d")).total).toBe(0);
    const since = await ask(`usage?site=muc&start=-2d`);
    expect([since.total, since.coverage]).toEqual([0, 0]);
    const { servers = [], outages = [] } = await ask("outages?site=muc&start=-2d");
    expect(servers.every(({ availability, coverage }) => availability === null && coverage === 0)).toBe(true);
    expect(outages).toEqual([]);
  });

  test("without its database the hub answers 503 at once, and recovers", async () => {
    await postgres.kill();
    const away = await hub.get("/api/licenses/heatmap?site=muc");
    expect(away.status).toBe(503);
    await postgres.start();
    expect((await hub.get("/api/licenses/heatmap?site=muc")).status).toBe(200);
  });
});
