import { describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { HAS_BROWSER, startBrowser } from "./browser.ts";
import { lmstat } from "./lmstat.ts";
import { belowPrefix } from "./prefix-proxy.ts";
import { createSite, serverToml } from "./site.ts";

interface Heard {
  readonly elsewhere: string[];
  readonly complaints: string[];
}

async function listenTo(page: Page, origin: string): Promise<Heard> {
  const heard: Heard = { elsewhere: [], complaints: [] };
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) heard.complaints.push(message.text());
  });
  page.on("pageerror", (error) => heard.complaints.push(String(error)));
  await page.route("**/*", (route) => {
    const url = route.request().url();
    if (url.startsWith(`${origin}/`) || url.startsWith("data:")) return route.continue();
    heard.elsewhere.push(url);
    return route.abort();
  });
  return heard;
}

describe.skipIf(!HAS_BROWSER)("Swagger UI", () => {
  test("loads only from the binary, accepts a key, and calls the daemon", async () => {
    await using site = await createSite();
    const tool = await site.tool("lmutil");
    await tool.says(lmstat({ solver: { total: 4, holders: [] } }));
    await site.configure(serverToml("eda", tool.path));
    await using daemon = await site.serve();
    const key = await site.key("viewer");
    await using browser = await startBrowser({ keepPolicy: true });
    const page = await browser.blank();
    await using proxy = belowPrefix(daemon.url, "/tools/licenses/");
    const address = `${proxy.url.origin}/tools/licenses`;
    const heard = await listenTo(page, address);

    const loaded = await page.goto(`${address}/swagger`);
    const policy = loaded?.headers()["content-security-policy"] ?? "";
    expect(policy).toContain("script-src 'self';");
    expect(policy).not.toMatch(/script-src[^;]*unsafe/);
    await page.getByRole("heading", { name: "licmond" }).waitFor();
    expect(await page.locator(".opblock").count()).toBeGreaterThan(20);
    // Operations are collapsed; the first one is visible and shows who may call it.
    const first = page.locator(".opblock").first();
    const { y = Infinity } = (await first.boundingBox()) ?? {};
    expect(y).toBeLessThan(page.viewportSize()?.height ?? 0);
    for (const operation of await page.locator(".opblock-summary-description").allTextContents())
      expect(operation).toMatch(/ \((no key|[a-z, ]*admin)\)$/);
    await page.locator("details summary").click();
    await page.getByRole("cell", { name: "AUTH_MISSING" }).waitFor();

    await page.getByRole("button", { name: "Authorize" }).click();
    const dialog = page.locator(".dialog-ux");
    await dialog.getByLabel("Value").first().fill(key);
    await dialog.getByRole("button", { name: "Apply credentials" }).first().click();
    await dialog.getByRole("button", { name: "Close" }).first().click();

    // The tab stores the key across a reload.
    await page.goto(`${address}/swagger/`);
    await page.locator(".opblock").first().waitFor();
    expect(await page.evaluate("[localStorage.length, sessionStorage.length]")).toEqual([0, 1]);

    // Examples of optional parameters are shown but not sent; defaults are sent.
    const asked = [
      ["/api/licenses/features", "?offset=0", '"solver"'],
      ["/api/licenses/summary", "", '"seats"'],
    ] as const;
    for (const [path, query, holds] of asked) {
      const block = page.locator(".opblock", { has: page.locator(`[data-path="${path}"]`) });
      await block.locator(".opblock-summary-control").click();
      const answered = page.waitForResponse((response) => response.url().startsWith(address + path));
      await block.getByRole("button", { name: "Execute" }).click();
      const answer = await answered;
      expect([answer.status(), new URL(answer.url()).search]).toEqual([200, query]);
      const live = block.locator(".live-responses-table");
      await live.waitFor();
      expect(await live.locator(".response .response-col_status").first().textContent()).toContain("200");
      expect(await live.textContent()).toContain(holds);
    }
    expect(heard).toEqual({ elsewhere: [], complaints: [] });
  });
});
