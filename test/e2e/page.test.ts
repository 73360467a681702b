import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { HAS_BROWSER, startBrowser } from "./browser.ts";
import { type Daemon, freePort, start, until } from "./harness.ts";
import { keyProxy } from "./page-proxy.ts";
import { createWatchedSite, type Watching } from "./watched-site.ts";

const AXE = Bun.file(join(import.meta.dir, "../../node_modules/axe-core/axe.min.js"));
const WIDTHS = [390, 1024, 1440];
const THEMES = ["light", "dark"] as const;

/** What a page must never do: complain, break its policy, or ask another host. */
async function listenTo(page: Page, origin: string): Promise<string[]> {
  const heard: string[] = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) heard.push(message.text());
  });
  page.on("pageerror", (error) => heard.push(String(error)));
  await page.route("**/*", (route) => {
    const url = route.request().url();
    if (url.startsWith(origin)) return route.continue();
    heard.push(`asks ${url}`);
    return route.abort();
  });
  return heard;
}

const namesIn = (page: Page) => page.locator('[role="rowgroup"] a.name').allTextContents();
const streamsOf = async (site: Watching) =>
  (await site.ask<{ streams: { sse: number } }>("/api/status")).streams.sse;
const isLive = (page: Page) => page.locator(".live", { hasText: "live" }).waitFor();

async function startDemo(): Promise<Daemon & { readonly key: string }> {
  const port = await freePort();
  const demo = await start({
    args: ["demo", "--port", `${port}`, "--history", "1", "--at", "Tue 10:30"],
    port,
  });
  const key = await until("the key", () => /lmk_[\w-]+/.exec(demo.output())?.[0]);
  return { ...demo, key };
}

describe.skipIf(!HAS_BROWSER)("the page", () => {
  test("shows the demo's features as the API has them, with nothing to complain of, and is accessible", async () => {
    await using demo = await startDemo();
    await using browser = await startBrowser({ keepPolicy: true });
    await using proxy = keyProxy(demo.url, demo.key, "/tools/licenses/");
    const page = await browser.blank();
    const heard = await listenTo(page, proxy.url);
    const feature = "feature?server=eda&daemon=siliqd&name=Synth-Ultra";
    for (const path of ["features", feature, "people", "signin"]) {
      await page.goto(`${proxy.url}${path}`);
      if (path !== "signin") await isLive(page);
      for (const width of WIDTHS) {
        for (const colorScheme of THEMES) {
          await page.setViewportSize({ width, height: 900 });
          await page.emulateMedia({ colorScheme });
          const view = `${path} ${width} ${colorScheme}`;
          expect([view, await page.evaluate("document.documentElement.scrollWidth")]).toEqual([view, width]);
          expect([view, await violations(page)]).toEqual([view, []]);
        }
      }
    }
    await page.goto(`${proxy.url}features`);
    await isLive(page);
    const { features } = await demo.json<{ features: { name: string }[] }>(
      "/api/licenses/features",
      demo.key,
    );
    const names = features.map(({ name }) => name).sort();
    expect((await namesIn(page)).sort()).toEqual(names);
    expect(heard).toEqual([]);
  });

  test("filters by its address; keys, Back and links work without loading it again", async () => {
    await using demo = await startDemo();
    await using browser = await startBrowser({ keepPolicy: true });
    await using proxy = keyProxy(demo.url, demo.key);
    const page = await browser.open(`${proxy.url}features?server=eda&sort=name`);
    await isLive(page);
    const all = await namesIn(page);
    await page.evaluate("window.stays = true");
    await page.keyboard.press("/");
    await page.keyboard.type("synth");
    await until("one is left", async () => (await namesIn(page)).length < all.length || undefined);
    expect(new URL(page.url()).search).toBe("?server=eda&sort=name&q=synth");
    const [first = ""] = await namesIn(page);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: first, level: 1 }).waitFor();
    expect(await page.title()).toBe(`${first} · licmond`);
    await page.goBack();
    expect(await page.locator("#search").inputValue()).toBe("synth");
    await page.keyboard.press("Escape");
    await page.keyboard.press("g");
    await page.keyboard.press("p");
    await page.getByRole("heading", { name: "People", level: 1 }).waitFor({ state: "attached" });
    await page.evaluate("scrollTo(0, 900)");
    await until(
      "rows of there",
      async () => (await page.locator('[aria-rowindex="40"]').count()) > 0 || undefined,
    );
    await page.locator('[aria-rowindex="40"] a.name').click();
    await page.getByRole("heading", { level: 1 }).waitFor();
    expect(await page.evaluate("scrollY")).toBe(0);
    await page.goBack();
    await until("it is scrolled", async () => (await page.evaluate("scrollY")) === 900 || undefined);
    expect(await page.evaluate("window.stays")).toBe(true);
  });

  test("follows polls, says when it is not live, and heals after a restart; many tabs share a stream", async () => {
    await using site = await createWatchedSite();
    await using browser = await startBrowser({ keepPolicy: true });
    const hostile = '<img src=x onerror="document.title=1">';
    const seats = (...users: string[]) => ({
      features: {
        solver: { total: 2, holders: users.map((user, at) => ({ user, host: "ws01", handle: at + 1 })) },
      },
    });
    const first = await site.watch();
    await first.poll(seats("ada"));
    await using proxy = keyProxy(first.daemon.url, first.key);
    const page = await browser.open(`${proxy.url}people`);
    const users = () => page.locator("#main .a-n").allTextContents();
    const untilUsers = (...wanted: string[]) =>
      until(
        `the page shows ${wanted}`,
        async () => Bun.deepEquals((await users()).sort(), wanted.sort()) || undefined,
      );
    await untilUsers("ada");
    for (let tabs = 1; tabs < 12; tabs++) await isLive(await browser.open(`${proxy.url}features`));
    expect(await streamsOf(first)).toBe(1);
    await first.poll(seats("ada", hostile.replaceAll(" ", "_")));
    await untilUsers("ada", hostile.replaceAll(" ", "_"));

    await first.daemon.kill();
    await page.locator(".live", { hasText: "offline" }).waitFor();
    expect(await users()).toHaveLength(2);
    await using second = await site.watch();
    await second.poll(seats("bob"));
    await untilUsers("bob");
    await isLive(page);
    expect(await streamsOf(second)).toBe(1);
  });

  test("asks for a key when there is none, and says what is wrong with one", async () => {
    await using site = await createWatchedSite();
    await using browser = await startBrowser({ keepPolicy: true });
    await using watching = await site.watch();
    const page = await browser.open(`${watching.daemon.url}/features`);
    await page.getByRole("heading", { name: "Sign in with your key" }).waitFor();
    await page.getByLabel("Key").fill("lmk_aaaaaaaaaaaa_wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    expect(await page.getByRole("alert").textContent()).not.toBe("");
  });
});

/** What axe finds, as `rule: where`. */
async function violations(page: Page): Promise<string[]> {
  // The page's policy refuses a script that a test puts in; one that the debugger evaluates is let through.
  await page.evaluate(`window.axe === undefined && (() => { ${await AXE.text()} })()`);
  const { violations: found } = await page.evaluate<{
    violations: { id: string; nodes: { target: string[]; failureSummary: string }[] }[];
  }>("axe.run(document, { resultTypes: ['violations'] })");
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target} ${failureSummary}`),
  );
}
