import { expect } from "bun:test";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { type Browser, startBrowser } from "./browser.ts";
import { type Daemon, freePort, SLOW, start, until } from "./harness.ts";
import { createWatchedSite, type Watching } from "./watched-site.ts";

const AXE = Bun.file(join(import.meta.dir, "../../node_modules/axe-core/axe.min.js"));
/**
 * Widths of the windows to check. There are only three, because each is checked in both themes and axe
 * takes a second.
 */
const WIDTHS = [390, 1024, 1440];
const THEMES = ["light", "dark"] as const;
const IN_BRIEF: ReadonlySet<string> = new Set(["390 dark", "1440 light"]);

/** Records faults of a page: logged errors, policy violations, requests to other hosts. */
export async function listenTo(page: Page, origin: string): Promise<string[]> {
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

/** Returns the names in a list, without the unit that follows some of them. */
export const namesIn = (page: Page) =>
  page
    .locator('[role="rowgroup"] a.name')
    .evaluateAll((links) => links.map((link) => link.firstChild?.textContent ?? ""));
export const isLive = (page: Page) => page.locator(".live", { hasText: "live" }).waitFor();

/** Waits until every figure of the page is loaded. */
export const isRead = (page: Page) =>
  until("its figures", async () => (await page.locator('[aria-busy="true"]').count()) === 0 || undefined);

type Demo = Awaited<ReturnType<typeof startDemo>>;

/** Opens a page of the demo, signed in. */
export async function openDemo(browser: Browser, demo: Demo, path = ""): Promise<Page> {
  const page = await browser.open(`${demo.url}/${path}`);
  await signIn(page, demo.key);
  await isLive(page);
  return page;
}

/** A demo and a browser with a signed-in page; disposing ends both. */
export async function showDemo(...options: string[]) {
  await using stack = new AsyncDisposableStack();
  const demo = stack.use(await startDemo(...options));
  const browser = stack.use(await startBrowser({ keepPolicy: true }));
  const page = await openDemo(browser, demo);
  const all = stack.move();
  return { demo, browser, page, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

/** A watched site with its daemon and a browser; disposing ends all. */
export async function watchInBrowser(toml = "", serverToml = "") {
  await using stack = new AsyncDisposableStack();
  const site = stack.use(await createWatchedSite(toml, serverToml));
  const watching = stack.use(await site.watch());
  const browser = stack.use(await startBrowser({ keepPolicy: true }));
  const all = stack.move();
  return {
    site,
    watching,
    browser,
    url: watching.daemon.url,
    /** Opens a page, signed in as an admin or with another key. */
    async open(path: string, key = watching.key): Promise<Page> {
      const page = await browser.open(`${watching.daemon.url}/${path}`);
      await signIn(page, key);
      await isLive(page);
      return page;
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** Two seats of a feature `solver`, held by these users. */
export const heldBy = (...users: string[]) => ({
  features: {
    solver: { total: 2, holders: users.map((user, at) => ({ user, host: "ws01", handle: at + 1 })) },
  },
});

/** Waits until the page of people lists exactly these users. */
export const untilUsers = (page: Page, ...wanted: string[]) =>
  until(`the page shows ${wanted}`, async () => {
    const shown = await page.locator("#main [role=rowgroup] .a-s").allTextContents();
    return Bun.deepEquals(shown.sort(), wanted.sort()) || undefined;
  });

export const streamsOf = async ({ ask }: Pick<Watching, "ask">) =>
  (await ask<{ streams: { sse: number } }>("/api/status")).streams.sse;

export const widthOf = (page: Page) => page.evaluate<number>("document.documentElement.scrollWidth");

/** Opens a page and waits for its figures. */
export async function show(page: Page, address: string): Promise<void> {
  await page.goto(address);
  await isLive(page);
  await isRead(page);
}

/** Starts on a Tuesday at half past ten, with a day of history by default. */
export async function startDemo(
  ...options: string[]
): Promise<Daemon & { readonly key: string; readonly code: string }> {
  const port = await freePort();
  const args = ["demo", "--port", `${port}`, "--history", "1", "--at", "Tue 10:30", ...options];
  const demo = await start({ args, port });
  const key = await until("the key", () => /lmk_[\w-]+/.exec(demo.output())?.[0]);
  const code = /#code=[\w-]+/.exec(demo.output())?.[0] ?? "";
  return { ...demo, key, code };
}

/** Navigates, and waits until the page is live and all its requests are answered. */
export function leads(page: Page) {
  const open = new Set<object>();
  page.on("request", (request) => void (request.url().includes("/api/") && open.add(request)));
  for (const end of ["requestfinished", "requestfailed"] as const)
    page.on(end as "requestfinished", (request) => void open.delete(request));
  return async (address: string) => {
    open.clear();
    await page.goto(address);
    await isLive(page);
    await until("its answers", async () => {
      if (open.size > 0) return undefined;
      // An answer is rendered in the next frame, and may cause more requests.
      await page.evaluate("new Promise((go) => requestAnimationFrame(() => setTimeout(go, 50)))");
      return open.size === 0 || undefined;
    });
    // Some requests start only when typing and scrolling stop.
    await page.getByText("…", { exact: true }).first().waitFor({ state: "hidden" });
    await isRead(page);
  };
}

export async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel("Key", { exact: true }).fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
}

/**
 * Checks a page in both themes and all widths: it fits the window, and axe finds nothing. `#palette` and `#keys` open a
 * dialog first.
 */
export async function inspect(page: Page, address: string, path: string): Promise<void> {
  await page.goto(`${address}${path}`);
  if (path === "signin") await page.getByRole("heading", { level: 1 }).waitFor();
  else await isLive(page);
  if (path.endsWith("#palette")) await page.keyboard.press("Control+k");
  if (path.endsWith("#keys")) await page.keyboard.press("?");
  await isRead(page);
  for (const width of path.startsWith("wall") ? [...WIDTHS, 1920] : WIDTHS) {
    for (const colorScheme of THEMES) {
      if (!SLOW && !IN_BRIEF.has(`${width} ${colorScheme}`)) continue;
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme });
      const view = `${path} ${width} ${colorScheme}`;
      expect([view, await widthOf(page)]).toEqual([view, width]);
      expect([view, await violations(page)]).toEqual([view, []]);
    }
  }
}

/** Returns axe's findings as `rule: element`. */
export async function violations(page: Page): Promise<string[]> {
  // The page's policy blocks inserted scripts, but not scripts that the debugger runs.
  await page.evaluate(`window.axe === undefined && (() => { ${await AXE.text()} })()`);
  const { violations: found } = await page.evaluate<{
    violations: { id: string; nodes: { target: string[]; failureSummary: string }[] }[];
  }>("axe.run(document, { rules: { 'target-size': { enabled: true } }, resultTypes: ['violations'] })");
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target} ${failureSummary}`),
  );
}

/** Returns an answer that replaces the daemon's, or null to pass the request on. */
export type Fault = (path: string) => Response | Promise<Response> | null;

/** A proxy between a browser and a daemon, which answers some requests itself. */
export function between(daemon: () => string) {
  let fault: Fault = () => null;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    async fetch({ url, method, headers, body, signal }) {
      const { pathname, search } = new URL(url);
      return (
        fault(pathname) ??
        fetch(daemon() + pathname + search, { method, headers, body, signal, decompress: false }).catch(
          () => new Response("nobody there", { status: 502 }),
        )
      );
    },
  });
  return {
    origin: server.url.origin,
    answers(next: Fault) {
      fault = next;
    },
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}
