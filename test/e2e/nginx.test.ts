import { describe, expect, test } from "bun:test";
import { HAS_OPENSSL } from "../certificates.ts";
import { HAS_BROWSER, startBrowser } from "./browser.ts";
import { SLOW, until } from "./harness.ts";
import { HAS_NGINX, startNginx } from "./nginx.ts";
import { isLive, isRead, listenTo, signIn } from "./page-rig.ts";
import { createWatchedSite } from "./watched-site.ts";

const PREFIX = "/tools/licenses/";
const FEATURE = "feature?server=eda&daemon=acmed&name=ARC%2FINFO";
const BADGE = "badge.svg?server=eda&daemon=acmed&feature=ARC/INFO";

describe.skipIf(!SLOW || !HAS_BROWSER || !HAS_NGINX || !HAS_OPENSSL)("below a prefix of nginx", () => {
  test.each(["http", "https"] as const)("the page works without configuration, over %s", async (scheme) => {
    await using site = await createWatchedSite();
    await using watching = await site.watch();
    const held = (...users: string[]) => {
      const holders = users.map((user, at) => ({ user, host: "ws01", handle: at + 1 }));
      return { features: { "ARC/INFO": { total: 2, holders } } };
    };
    await watching.poll(held("ada"));
    await using nginx = await startNginx(site.folder, watching.daemon.url, PREFIX);
    const address = nginx[scheme];
    await using browser = await startBrowser({ keepPolicy: true, trustsAll: true });
    const page = await browser.blank();
    const heard = await listenTo(page, address);

    // A link to a page asks for the key first, and then shows the page. The script of the chart is loaded
    // on demand.
    await page.goto(address + FEATURE);
    await signIn(page, watching.key);
    await isLive(page);
    await page.getByRole("heading", { name: "ARC/INFO", level: 1 }).waitFor();
    await page.locator(".uplot canvas").first().waitFor();
    await isRead(page);
    const [cookie] = await page.context().cookies();
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict", path: "/" });
    await page.getByText("1 of 2", { exact: true }).waitFor();
    await watching.poll(held("ada", "bob"));
    await page.getByText("2 of 2", { exact: true }).waitFor();
    await page.getByRole("link", { name: "People", exact: true }).click();
    await page.waitForURL(`${address}people`);
    expect(await page.locator("#main [role=cell].a-s").allTextContents()).toEqual(["ada", "bob"]);

    const badge = await page.goto(address + BADGE);
    expect([badge?.status(), await badge?.text()]).toEqual([200, expect.stringContaining("0 of 2 free")]);
    await page.goto(`${address}swagger`);
    const block = page.locator(".opblock", { has: page.locator('[data-path="/api/licenses/summary"]') });
    await block.locator(".opblock-summary-control").click();
    await block.getByRole("button", { name: "Execute" }).click();
    await block.locator(".live-responses-table", { hasText: '"seats"' }).waitFor();

    await page.goto(`${address}people`);
    await isLive(page);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in with your key" }).waitFor();
    await until("the cookie is gone", async () => (await page.context().cookies()).length === 0 || undefined);
    expect(heard).toEqual([]);
  });
});
