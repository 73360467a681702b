import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { freePort } from "../free-port.ts";
import { cleanUp } from "../store/place.ts";
import { type HistorySite, makeSite } from "./history-site.ts";
import { HAS_POSTGRES, type Postgres, startPostgres } from "./postgres.ts";
import { keyAt, startHub, type TestHub } from "./rig.ts";

/** A Wednesday morning. */
const NOW = Date.parse("2026-03-04T10:25:00Z");
const DAYS = 9;
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
  week: "start=2026-02-25&end=2026-03-03",
  past: "start=2026-02-10&end=2026-02-26T11:30:00Z",
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
  `efficiency?limit=1000&product=Simulation&${RANGES.week}`,
  ...each(
    ["user", "host", "feature", "daemon", "server", "product", "day", "user,feature", "label:location,day"],
    (by, at) =>
      `usage?limit=1000&group_by=${by}&${ranges[at % ranges.length]}&timezone=${ZONES[at % ZONES.length]}`,
  ),
  `usage?limit=9&offset=4&sort=-peakHeld&group_by=feature&${RANGES.all}`,
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

describe.skipIf(!HAS_POSTGRES)("history at a hub", () => {
  let postgres: Postgres;
  let hub: TestHub;
  let viewer: string;
  const sites = new Map<string, HistorySite>();

  beforeAll(async () => {
    postgres = await startPostgres(await freePort(), ["fsync=off"]);
    const database = await postgres.database();
    viewer = await keyAt(database, { role: "viewer" });
    const keys = new Map<string, string>();
    for (const name of NAMES) keys.set(name, await keyAt(database, { role: "site", site: name }));
    hub = await startHub(database, { now: () => NOW }, PRODUCTS);
    for (const [index, name] of NAMES.entries()) {
      const site = await makeSite({ name, seed: index + 1, days: DAYS, end: NOW, packs: name === "muc" });
      sites.set(name, site);
      await site.pushTo(hub.url, keys.get(name) ?? "");
    }
  }, 180_000);
  afterAll(async () => {
    await hub?.[Symbol.asyncDispose]();
    await postgres?.[Symbol.asyncDispose]();
    cleanUp();
  });

  const siteNamed = (name: string) => sites.get(name) as HistorySite;
  const atSite = (path: string) => path.replace("@", "");
  const atHub = (path: string, name: string) =>
    `/api/licenses/${path.replace("@", `${name}:`)}${path.includes("?") ? "&" : "?"}site=${name}`;
  /** What a hub says, as its site says it. */
  const ofSite = (name: string, text: string) =>
    text.replaceAll(`"site":"${name}",`, "").replaceAll(`${name}:`, "");

  test.each(QUESTIONS)("with site= the hub says what the site says: %s", async (path) => {
    for (const name of NAMES) {
      const own = await siteNamed(name).daemon.get(`/api/licenses/${atSite(path)}`);
      const said = await hub.get(atHub(path, name), viewer);
      expect([said.status, own.status]).toEqual([200, 200]);
      expect(JSON.parse(ofSite(name, await said.text()))).toEqual(JSON.parse(await own.text()));
    }
  });
  test.each([QUESTIONS[0], QUESTIONS.find((path) => path.startsWith("heatmap")), "people?limit=1000"])(
    "and as CSV: %s",
    async (path = "") => {
      const name = "blr";
      const own = await siteNamed(name).daemon.get(`/api/licenses/${atSite(path)}&format=csv`);
      const said = await hub.get(`${atHub(path, name)}&format=csv`, viewer);
      const text = (await said.text()).replaceAll(`${name}:`, "");
      // Where records say their site it is the first column.
      expect(text.replaceAll(/^(site|blr),/gm, "")).toBe(await own.text());
    },
  );
});
