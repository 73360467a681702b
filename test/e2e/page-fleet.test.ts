/** The page of a hub: the fleet and the pages of each site, with PostgreSQL and sites of the built binary. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import type { SiteRecord } from "../../src/domain/service/sites.ts";
import { HAS_POSTGRES } from "../hub/postgres.ts";
import { type Browser, HAS_BROWSER, startBrowser } from "./browser.ts";
import { SLOW, until } from "./harness.ts";
import { n, readFigures } from "./page-figures.ts";
import { type Fleet, SIMULATED, startFleet } from "./page-fleet-rig.ts";
import { inspect, isLive, leads, listenTo, signIn } from "./page-rig.ts";
import { belowPrefix } from "./prefix-proxy.ts";

const SCRIPT = "<img/src=x/onerror=window.pwned=1>";
/** Names without a space, as lmstat prints them. */
const ODD = [
  SCRIPT,
  "ARC/INFO",
  "=cmd()",
  "\u202egnp.exe",
  "x".repeat(2_000),
  '"server":"odd:',
  "a?b#c&d=e+f%2f",
];
/**
 * Maximum time until the page shows a killed site as silent. A site becomes silent after 30 s and is
 * checked every 10 s; the machine may be busy.
 */
const SILENT_WITHIN_MS = 45_000;

const OF_FLEET = [
  "",
  "?q=e",
  "alerts",
  "expiry",
  "denials",
  "outages",
  "history",
  "admin",
  "logs",
  "#palette",
];
const FEATURE = "feature?site=muc&server=eda&daemon=siliqd&name=Synth-Ultra";
const OF_SITE = [
  ...["?site=muc", "features?site=muc", FEATURE, "people?site=muc", "person?site=muc&user=nobody"],
  ...["servers?site=muc", "server?site=muc&id=eda", "alerts?site=muc", "expiry?site=muc", "denials?site=muc"],
  ...["history?site=muc", "outages?site=muc", "wall?site=muc", "?site=odd", "features?site=odd#palette"],
];

describe.skipIf(!SLOW || !HAS_BROWSER || !HAS_POSTGRES)("the page of a hub", () => {
  let fleet: Fleet;
  let browser: Browser;
  let page: Page;
  let heard: string[];
  let lead: ReturnType<typeof leads>;

  beforeAll(async () => {
    fleet = await startFleet(ODD);
    browser = await startBrowser({ keepPolicy: true });
    page = await browser.blank();
    heard = await listenTo(page, fleet.hub.url);
    await page.goto(`${fleet.hub.url}/?x=y`);
    await signIn(page, fleet.key);
    await isLive(page);
    lead = leads(page);
  });
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]();
    await fleet?.[Symbol.asyncDispose]();
  });

  const at = (path: string) => `${fleet.hub.url}/${path}`;
  const sites = async () => (await fleet.ask<{ sites: SiteRecord[] }>("/api/fleet/sites")).sites;
  const rowOf = (name: string) => page.locator(".si [role=row]", { hasText: new RegExp(`^\\s*${name}\\b`) });

  test("shows the API's data of the fleet, and links to each site and back", async () => {
    const { show, texts, rows: rowsOf } = await readFigures(page, { ...fleet.hub, key: fleet.key });
    await show("");
    await until("its figures are the API's", async () => {
      const { seats, servers, users, queued } = await fleet.ask<{
        seats: { used: number; total: number };
        servers: { up: number; degraded: number; down: number; unknown: number };
        users: number;
        queued: number;
      }>("/api/licenses/summary");
      const all = servers.up + servers.degraded + servers.down + servers.unknown;
      const said = await texts(".status dd");
      const wanted = [
        `${n(seats.used)} of ${n(seats.total)}`,
        `${servers.up} of ${all}`,
        n(users),
        n(queued),
      ];
      const rows = await rowsOf("Sites", "Site", "State", "Servers up", "Features", "Full", "Alerts");
      const wantedRows = (await sites()).map(
        ({ site, statuses, servers, features, fullFeatures, alerts }) => {
          const counts = [alerts.critical, alerts.warning, alerts.info].filter((count) => count !== 0);
          return [
            ...[site, "connected", `${statuses.up}/${servers}`, n(features), n(fullFeatures)],
            counts.join() || "0",
          ];
        },
      );
      const shownRows = rows.map(([site = "", ...row]) => [
        site.split(" ")[0],
        ...row.slice(0, -1),
        row.at(-1)?.match(/\d+/g)?.join(),
      ]);
      const isSame = Bun.deepEquals(shownRows.sort(), wantedRows.sort());
      return (isSame && rows.length === 3 && Bun.deepEquals(said, wanted)) || undefined;
    });

    const site = page.getByRole("button", { name: /^Site: / }).locator("b");
    await rowOf("stu").getByRole("link").click();
    await isLive(page);
    expect([new URL(page.url()).search, await site.textContent()]).toEqual(["?site=stu", "stu"]);
    await page.getByRole("link", { name: "Features", exact: true }).first().click();
    await page.locator('[role="rowgroup"] a.name').first().waitFor();
    expect(new URL(page.url()).searchParams.get("site")).toBe("stu");
    const names = await page.locator('[role="rowgroup"] .a-s').allTextContents();
    expect(new Set(names)).toEqual(new Set(SIMULATED.stu));
    await site.click();
    await page.getByRole("option", { name: /^muc/ }).click();
    await isLive(page);
    await until("muc is shown", async () => (await site.textContent()) === "muc" || undefined);
    expect(page.url()).toBe(at("features?site=muc"));
    await page.goBack();
    await until("stu is shown again", async () => (await site.textContent()) === "stu" || undefined);
    await page.getByRole("link", { name: "licmond" }).click();
    await rowOf("muc").waitFor();
    expect(page.url()).toBe(at(""));
    expect(heard).toEqual([]);
  });

  test("finds features and people of all sites", async () => {
    const { features } = await fleet.ask<{ features: { name: string; server: string }[] }>(
      "/api/licenses/features?site=muc&limit=1000",
    );
    const wanted = features[0];
    await lead(at(""));
    await page.keyboard.press("/");
    await page.keyboard.type(wanted?.name.toLowerCase() ?? "");
    const found = page.getByRole("table", { name: "Features" });
    await found
      .getByRole("link", { name: wanted?.name ?? "", exact: true })
      .first()
      .click();
    await page.getByRole("heading", { level: 1, name: wanted?.name ?? "" }).waitFor();
    await isLive(page);
    const { searchParams } = new URL(page.url());
    expect([searchParams.get("site"), `muc:${searchParams.get("server")}`]).toEqual([
      "muc",
      wanted?.server ?? "",
    ]);

    await lead(at("expiry"));
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search features" }).fill(wanted?.name.toLowerCase() ?? "");
    await page
      .getByRole("option", { name: wanted?.name ?? "" })
      .filter({ hasText: "Feature" })
      .first()
      .click();
    await page.getByRole("heading", { level: 1, name: wanted?.name ?? "" }).waitFor();

    const { users } = await fleet.ask<{ users: { user: string; site: string }[] }>(
      "/api/licenses/users?site=stu&kind=checkout&limit=1",
    );
    const { user = "" } = users[0] ?? {};
    await lead(at(`?q=${user}`));
    await page
      .getByRole("table", { name: "People" })
      .locator(`a[href*="user="][href*="site=stu"]`, { hasText: user })
      .first()
      .click();
    await page.getByRole("heading", { level: 1, name: user }).waitFor();
    await page.getByText("Has now").waitFor();
    expect(heard).toEqual([]);
  });

  test("lets a site run a command, whose output stays there", async () => {
    await lead(at("admin"));
    await page.getByRole("button", { name: "Run … status" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.locator("datalist option[value='muc:eda']").waitFor({ state: "attached" });
    await dialog.getByLabel("Server").fill("muc:nobody");
    await dialog.getByRole("button", { name: "Run status on muc:nobody" }).click();
    await dialog.getByRole("alert").filter({ hasText: "muc:nobody" }).waitFor();
    await dialog.getByLabel("Server").fill("muc:eda");
    await dialog.getByRole("button", { name: "Run status on muc:eda" }).click();
    await dialog.getByText("Exited with code 0").waitFor();
    await dialog.getByText("The output stays at the site.").waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    expect(heard.splice(0).filter((each) => !each.includes("404"))).toEqual([]);
  });

  test("works below a prefix", async () => {
    const prefix = "/tools/licenses/";
    await using proxy = belowPrefix(fleet.hub.url, prefix);
    const other = await browser.blank();
    const complaints = await listenTo(other, proxy.url.origin + prefix);
    // Cookies ignore ports, so the browser is also signed in at the proxy.
    await other.goto(proxy.url.origin + prefix);
    await other.locator(".si").getByRole("link", { name: /^muc/ }).click();
    await isLive(other);
    await other.getByRole("link", { name: "People", exact: true }).first().click();
    await other.locator('[role="rowgroup"] a.name').first().waitFor();
    expect(other.url()).toBe(`${proxy.url.origin + prefix}people?site=muc`);
    await other.getByRole("link", { name: "licmond" }).click();
    await other.locator(".si").waitFor();
    expect(complaints).toEqual([]);
    await other.close();
  });

  test("shows hostile names as text", async () => {
    await page.setViewportSize({ width: 1440, height: 2_000 });
    await lead(at(""));
    expect(await rowOf("odd").textContent()).toContain(SCRIPT);
    for (const name of ODD) {
      await lead(at(`?q=${encodeURIComponent(name.slice(0, 200))}`));
      const link = page.getByRole("table", { name: "Features" }).getByRole("link", { name, exact: true });
      // Dispatch the event instead of clicking, because the middle of a link of 2,000 letters is outside of
      // the window.
      await link.first().dispatchEvent("click");
      await page.locator("h1", { hasText: name }).waitFor();
      await isLive(page);
      expect(await page.locator("h1").textContent()).toBe(name);
      await lead(at(`features?site=odd&q=${encodeURIComponent(name.slice(0, 200))}`));
      const shown = await page.locator('[role="rowgroup"] a.name').allTextContents();
      expect(shown).toContain(name);
      const [width, pwned] = await page.evaluate<[number, unknown]>(
        "[document.documentElement.scrollWidth, window.pwned ?? null]",
      );
      expect([name, width, pwned]).toEqual([name, 1440, null]);
    }
    expect(heard).toEqual([]);
  });

  test("shows a killed site as silent everywhere, and recovers with it", async () => {
    await page.setViewportSize({ width: 1440, height: 1200 });
    await lead(at(""));
    const other = await browser.open(at("servers?site=stu"));
    await isLive(other);
    await other
      .getByRole("table", { name: "Servers" })
      .getByText("Fine")
      .or(other.getByText("members"))
      .first()
      .waitFor();
    const complaints = await listenTo(other, fleet.hub.url);
    await fleet.kill("stu");
    const killedAt = performance.now();
    await rowOf("stu")
      .getByText(/^silent since/)
      .waitFor();
    await page.getByRole("heading", { level: 1 }).getByText("has been silent since").waitFor();
    await other.locator(".bar-note", { hasText: "stu is silent: last contact with the hub" }).waitFor();
    await other.locator(".live", { hasText: "silent" }).waitFor();
    await until("its servers are stale", async () => {
      const cells = await other.locator("[role=rowgroup] .st").allTextContents();
      return (cells.length > 0 && cells.every((cell) => cell.toLowerCase().includes("stale"))) || undefined;
    });
    expect(performance.now() - killedAt).toBeLessThan(SILENT_WITHIN_MS);
    expect((await sites()).map(({ site, state }) => [site, state])).toContainEqual(["stu", "silent"]);
    for (const path of ["?site=stu", "features?site=stu", "wall?site=stu"]) {
      await other.goto(at(path));
      await other.locator(".live", { hasText: "silent" }).waitFor();
      await other.locator(".stale-row").first().waitFor();
    }
    await other.goto(at("servers?site=stu"));
    await other.locator(".live", { hasText: "silent" }).waitFor();
    await fleet.start("stu");
    await rowOf("stu").getByText("connected").waitFor();
    await isLive(other);
    await other.locator(".stale-row").first().waitFor({ state: "hidden" });
    expect([await other.locator(".bar-note").count(), heard, complaints]).toEqual([0, [], []]);
    await other.close();
  });

  test.each([...OF_FLEET, ...OF_SITE])("logs no errors and is accessible: /%s", async (path) => {
    await inspect(page, at(""), path);
    expect([path, heard.splice(0)]).toEqual([path, []]);
  });
});
