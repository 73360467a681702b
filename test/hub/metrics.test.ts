import { beforeAll, expect, test } from "bun:test";
import type { ServerPicture } from "../../src/domain/picture.ts";
import { createExposition } from "../../src/export/exposition.ts";
import { createDirectory } from "../../src/hub/lists/directory.ts";
import { createFleetExposition } from "../../src/hub/metrics/exposition.ts";
import { until } from "../until.ts";
import { describeHub, type TestSite } from "./describe-hub.ts";
import { pictureStates, simulatedPictures } from "./pictures.ts";
import { madeUpFacts } from "./rig.ts";

const AT = Date.now();
const SITES = ["muc", "blr"] as const;
const nothing = () => {};

let now = AT;
describeHub("metrics of a hub", { clock: { now: () => now } }, (at) => {
  const { hub } = at;
  const pictures = new Map<string, ServerPicture[]>();
  const sites = new Map<string, TestSite>();

  beforeAll(async () => {
    now = AT;
    for (const [index, name] of SITES.entries()) {
      const site = await at.site(name);
      sites.set(name, site);
      pictures.set(name, simulatedPictures(index + 1, AT));
      const states = pictureStates(pictures.get(name) ?? []);
      const facts = madeUpFacts(1, 30, AT);
      await site.pushes({ sentAt: now - 5_000, to: 30, facts, head: 37, states });
    }
    await until("both sites are there", async () => {
      const { total } = await hub.json<{ total: number }>("/api/licenses/servers");
      return total === [...pictures.values()].flat().length || undefined;
    });
  });

  const scrape = async (query = "", accept = "text/plain") =>
    (await fetch(`${hub.url}/metrics${query}`, { headers: { "x-api-key": at.keys.viewer, accept } })).text();
  const samples = (text: string) => text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));

  test.each(SITES)("metrics of %s equal the site's own, except for the label site", async (name) => {
    const servers = pictures.get(name) ?? [];
    const own = await createExposition().render({ version: 1, servers }, nothing, "text");
    const mine = samples(await scrape())
      .filter((line) => line.startsWith("license_") && line.includes(`site="${name}"`))
      .map((line) => line.replace(`site="${name}",`, ""));
    expect(mine.sort()).toEqual(samples(own.toString()).sort());
    expect(mine.length).toBeGreaterThan(100);
  });

  test("each family has one header, in both formats", async () => {
    for (const accept of ["text/plain", "application/openmetrics-text"]) {
      const heads = (await scrape("", accept)).match(/^# TYPE \S+/gm) ?? [];
      expect(new Set(heads).size).toBe(heads.length);
    }
    expect(await scrape("", "application/openmetrics-text")).toEndWith("# EOF\n");
  });

  test("site= selects one site", async () => {
    const text = await scrape("?site=blr");
    expect(text).toContain('site="blr"');
    expect(text).not.toContain('site="muc"');
    expect((await hub.get("/metrics?site=nowhere")).status).toBe(404);
  });

  test("reports the state of each site and the outcomes of pushes", async () => {
    const text = await scrape();
    for (const line of [
      'licmond_site_state{site="muc",state="connected"} 1',
      'licmond_site_lag_facts{site="muc"} 7',
      'licmond_site_refused_facts{site="muc"} 0',
      'licmond_site_clock_offset_seconds{site="muc"} -5',
      `licmond_site_last_push_timestamp_seconds{site="muc"} ${AT / 1000}`,
      'licmond_hub_pushes_total{outcome="taken"} 2',
      "licmond_hub_facts_total 60",
      'licmond_hub_left_out{what="features"} 0',
    ])
      expect(samples(text)).toContain(line);
    expect(text).toMatch(/^licmond_hub_publish_lag_seconds [\d.]+$/m);
    const gap = sites.get("muc")?.push({ from: 99, to: 99, begins: false, facts: madeUpFacts(99, 1, AT) });
    await sites.get("muc")?.send(hub.url, gap);
    expect(samples(await scrape())).toContain('licmond_hub_pushes_total{outcome="conflict"} 1');
  });

  test("the JSON has the seats of all sites, or of the named ones", async () => {
    type Sample = { licenses: { total: number } };
    const { licenses } = await hub.json<Sample>("/api/metrics");
    const each = await Promise.all(SITES.map((name) => hub.json<Sample>(`/api/metrics?site=${name}`)));
    expect(each.reduce((sum, one) => sum + one.licenses.total, 0)).toBe(licenses.total);
    expect(licenses.total).toBeGreaterThan(0);
  });

  test("for a very large fleet it leaves out features first, then servers, and counts them", async () => {
    const { pool } = at;
    const directory = createDirectory(pool, { now: () => now });
    await directory.renew();
    const { servers } = directory.snapshot();
    const textOf = async (lines: number) => {
      const exposition = createFleetExposition({ reads: { pool: () => pool }, directory }, lines);
      return (await exposition.render(servers, nothing, "text")).toString();
    };
    const heads = await textOf(servers.length * 24);
    expect(heads).toContain("license_server_status");
    expect(heads).not.toMatch(/^license_(feature|pool)_|^license_server_features/m);
    expect(heads).toMatch(/^licmond_hub_left_out\{what="features"\} [1-9]/m);
    const none = await textOf(10);
    expect(none).not.toContain("license_server");
    expect(none).toContain(`licmond_hub_left_out{what="servers"} ${servers.length}`);
  });

  test("a silent site has only its state", async () => {
    now = AT + 60_000;
    await until("the sites are silent", async () => /state="silent"\} 1/.test(await scrape()) || undefined);
    const text = await until("their servers are stale", async () => {
      const said = await scrape();
      return said.includes("license_feature_seats_used") ? undefined : said;
    });
    expect(text).toMatch(/^license_feature_state\{site="muc",.*state="stale"\} 1$/m);
    expect(text).not.toContain("licmond_site_lag_facts{");
  });
});
