import { describe, expect, test } from "bun:test";
import { $ } from "bun";
import type { Page } from "playwright-core";
import { HAS_BROWSER, startBrowser } from "./browser.ts";
import { SLOW, until } from "./harness.ts";
import {
  between,
  type Fault,
  heldBy,
  isLive,
  isRead,
  leads,
  show,
  signIn,
  streamsOf,
  untilUsers,
  watchInBrowser,
  widthOf,
} from "./page-rig.ts";
import { createSite } from "./site.ts";

const says = (page: Page, words: string | RegExp) => page.locator(".bar-note", { hasText: words }).waitFor();

/** Returns the renderer processes of the browser that this test started. */
async function renderersOf(parent: number): Promise<number[]> {
  const all = await $`ps -eo pid=,ppid=,args=`.text();
  const processes = all.split("\n").map((line) => /^ *(\d+) +(\d+) (.*)/.exec(line)?.slice(1) ?? []);
  const below = (of: number): string[][] =>
    processes.filter(([, ppid]) => Number(ppid) === of).flatMap((each) => [each, ...below(Number(each[0]))]);
  return below(parent).flatMap(([pid, , args = ""]) =>
    args.includes("--type=renderer") ? [Number(pid)] : [],
  );
}

describe.skipIf(!HAS_BROWSER)("the page", () => {
  test("explains free seats of an expired feature, and counts queued requests as unmet", async () => {
    await using logs = await createSite();
    await Bun.write(`${logs.folder}/acmed.log`, "");
    await using rig = await watchInBrowser("", `log_file = "${logs.folder}/acmed.log"`);
    const { watching, url } = rig;
    await watching.poll({
      features: { solver: { total: 2, used: 2, queued: 3 }, oldie: { total: 3, expires: "2020-05-01" } },
    });
    const page = await rig.open("feature?server=eda&daemon=acmed&name=oldie");
    await page
      .locator(".facts", { hasText: "The server may refuse seats that it counts as free." })
      .waitFor();
    // The page reads the efficiency only once, possibly before the queue is stored. So load the page again
    // until it counts the queue.
    await until("the page counts queued requests", async () => {
      await show(page, `${url}/feature?server=eda&daemon=acmed&name=solver`);
      const unmet = page.locator("#main", { hasText: "Requests still denied or queued" });
      return unmet.waitFor({ timeout: 3_000 }).then(
        () => true,
        () => undefined,
      );
    });
    expect(await page.locator("#main").textContent()).not.toContain("still refused");
  });

  test.skipIf(!SLOW)("shows problems: waits, errors, no stream, another version", async () => {
    await using rig = await watchInBrowser();
    const { site, browser, watching } = rig;
    let { url } = rig;
    await watching.poll(heldBy("ada"));
    await using proxy = between(() => url);
    const page = await browser.open(`${proxy.origin}/people`);
    await signIn(page, watching.key);
    await untilUsers(page, "ada");
    // The page requests the picture again after the stream opens, so wait until it is live.
    await isLive(page);

    const picture = (response: () => Response | Promise<Response>, times = 1): Fault => {
      let left = times;
      return (path) => (path === "/api/picture" && left-- > 0 ? response() : null);
    };
    proxy.answers(picture(() => new Response("{}", { status: 429, headers: { "retry-after": "2" } })));
    await page.reload();
    await says(page, /Too many requests.*retrying in [12] s/);
    await untilUsers(page, "ada");
    await isLive(page);

    const failure = { error: true, code: "INTERNAL", message: "It broke.", statusCode: 500 };
    const broken = { status: 500, headers: { "x-request-id": "r-17" } };
    // Also fail the request that the page sends when the stream opens.
    proxy.answers(picture(() => Response.json(failure, broken), Number.POSITIVE_INFINITY));
    await page.reload();
    const alert = page.getByRole("alert");
    await alert.getByText("It broke.").waitFor();
    await alert.getByText("Request r-17").waitFor();
    proxy.answers(() => null);
    // If the stream has opened meanwhile, the page has loaded the picture and shows no button.
    await page.evaluate("[...document.querySelectorAll('[role=alert] button')].at(-1)?.click()");
    await untilUsers(page, "ada");

    // Single figures show loading and errors in the same way as the whole page.
    const tooMany = new Response("{}", { status: 429, headers: { "retry-after": "1" } });
    const answers = [tooMany, Response.json(failure, broken)];
    proxy.answers((path) => (path === "/api/health" ? (answers.shift() ?? null) : null));
    await page.goto(`${proxy.origin}/admin`);
    await says(page, "Too many requests");
    await alert.getByRole("button", { name: "Request r-17" }).waitFor();
    await alert.getByRole("button", { name: "Try again" }).click();
    await page.getByText("The database works").waitFor();
    await page.goto(`${proxy.origin}/people`);

    proxy.answers(
      picture(async () => {
        await Bun.sleep(4_000);
        return new Response("{}", { status: 503 });
      }, Number.POSITIVE_INFINITY),
    );
    await page.reload();
    await page.getByText(/^Still loading, \d+ KB$/).waitFor();
    await alert.getByText("503").waitFor();

    // An HTTP/1.0 proxy passes a stream on only after its end, so the page gets no event.
    proxy.answers((path) => (path.startsWith("/stream/") ? new Promise(() => {}) : null));
    await alert.getByRole("button", { name: "Try again" }).click();
    await untilUsers(page, "ada");
    const other = await browser.blank();
    await other.addInitScript("delete window.SharedWorker");
    await other.clock.install();
    await other.goto(`${proxy.origin}/people`);
    await other.clock.runFor(12_000);
    await says(other, "every 30 s");
    await watching.poll(heldBy("bob"));
    await other.clock.runFor(31_000);
    await untilUsers(other, "bob");
    await other.close();

    proxy.answers(() => null);
    await page.reload();
    await isLive(page);
    await watching.daemon.kill();
    await page.locator(".live", { hasText: "reconnecting" }).waitFor();
    await says(page, /^Disconnected since .* Showing the last known data/);
    await using second = await site.watch();
    ({ url } = second.daemon);
    // Serve the HTML of another version.
    const upgraded = '<script type="module" src="./assets/index-other.js"></script>';
    const html = { headers: { "content-type": "text/html" } };
    proxy.answers((path) => (path === "/" ? new Response(upgraded, html) : null));
    await says(page, "licmond was upgraded");
    await isLive(page);
  });

  test("names the config file when it has no servers", async () => {
    await using site = await createSite();
    await site.configure("");
    await using daemon = await site.serve();
    await using browser = await startBrowser({ keepPolicy: true });
    const page = await browser.open(daemon.url);
    await signIn(page, await site.key("admin"));
    await page.getByText(`Add one at the end of the config, ${site.config}:`).waitFor();
  });

  test("shows since when a hanging daemon is disconnected, and recovers", async () => {
    await using rig = await watchInBrowser();
    const { browser, watching } = rig;
    const { daemon } = watching;
    await watching.poll(heldBy("ada"));
    const page = await browser.blank();
    await page.addInitScript("delete window.SharedWorker");
    await page.clock.install();
    await page.goto(`${daemon.url}/people`);
    await signIn(page, watching.key);
    await isLive(page);
    // Wait for all answers: a request without an answer for 30 s would be reported before the silent
    // stream.
    await leads(page)(`${daemon.url}/people`);
    await untilUsers(page, "ada");
    const wall = await browser.blank();
    await wall.addInitScript("delete window.SharedWorker");
    await leads(wall)(`${daemon.url}/wall`);
    // All pages of a browser share one clock.
    const wait = (ms: number) => page.clock.runFor(ms);
    process.kill(daemon.pid, "SIGSTOP");
    try {
      await wait(30_000);
      expect(await page.locator(".bar-note").count()).toBe(0);
      await wait(15_000);
      await says(page, /^Disconnected since \d\d:\d\d\. Showing the last known data/);
      await wall.locator(".wall.lost", { hasText: /Disconnected since/ }).waitFor();
      // The pending requests time out, so that the page can retry.
      await wait(30_000);
      await says(page, "licmond does not answer");
    } finally {
      process.kill(daemon.pid, "SIGCONT");
    }
    await wait(1_000);
    await Promise.all([isLive(page), isLive(wall)]);
    expect([await page.locator(".bar-note").count(), await wall.locator(".lost").count()]).toEqual([0, 0]);
  });

  test.skipIf(!SLOW)("is correct after sleep, and closes its stream while hidden", async () => {
    await using rig = await watchInBrowser();
    const { browser, watching, url } = rig;
    await watching.poll(heldBy("ada"));
    const page = await rig.open("people");
    await untilUsers(page, "ada");
    const debug = await page.context().newCDPSession(page);
    await debug.send("Page.setWebLifecycleState", { state: "frozen" });
    await watching.poll(heldBy("bob"));
    await watching.poll(heldBy("bob", "cy"));
    await debug.send("Page.setWebLifecycleState", { state: "active" });
    const wokeAt = performance.now();
    await untilUsers(page, "bob", "cy");
    expect(performance.now() - wokeAt).toBeLessThan(2_000);

    // Stop the page while more events arrive than the daemon buffers.
    const many = (round: number) => Array.from({ length: 2_000 }, (_, at) => `u${at}of${round}`);
    const stopped = await renderersOf(process.pid);
    expect(stopped).not.toEqual([]);
    for (const pid of stopped) process.kill(pid, "SIGSTOP");
    try {
      for (let round = 0; round < 10; round++) await watching.poll(heldBy(...many(round)));
      await watching.poll(heldBy("bob"));
    } finally {
      for (const pid of stopped) process.kill(pid, "SIGCONT");
    }
    const wentOnAt = performance.now();
    await untilUsers(page, "bob");
    expect(performance.now() - wentOnAt).toBeLessThan(2_000);
    await page.close();

    const untilStreams = (count: number) =>
      until(`${count} streams`, async () => (await streamsOf(watching)) === count || undefined);
    await untilStreams(0);
    const own = await browser.blank();
    await own.addInitScript("delete window.SharedWorker");
    await own.clock.install();
    await own.goto(`${url}/people`);
    await isLive(own);
    expect(await streamsOf(watching)).toBe(1);
    const hide = (hidden: boolean) =>
      own.evaluate(`Object.defineProperty(document, "hidden", { configurable: true, value: ${hidden} });
        document.dispatchEvent(new Event("visibilitychange"))`);
    await hide(true);
    await own.clock.runFor(61_000);
    await untilStreams(0);
    await watching.poll(heldBy("dora"));
    await hide(false);
    await untilUsers(own, "dora");
    await isLive(own);
    expect(await streamsOf(watching)).toBe(1);
  });

  test("finds hostile names in the palette, and can switch single keys off", async () => {
    await using rig = await watchInBrowser();
    const { watching } = rig;
    const hostile = '<img/src=x/onerror="document.title=1">';
    await watching.poll(heldBy(hostile));
    const page = await rig.open("features");
    await page.keyboard.press("Control+k");
    await page.keyboard.type("<img");
    await page.getByRole("option", { name: /onerror.*Person/ }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: hostile, level: 1 }).waitFor();
    expect(new URL(page.url()).searchParams.get("user")).toBe(hostile);
    expect(await page.title()).toBe(`${hostile} · licmond`);
    await page.getByText("Used in 90 days").waitFor();

    const theme = () => page.evaluate("document.documentElement.dataset.theme ?? null");
    await page.keyboard.press("t");
    expect(await theme()).toBe("light");
    await page.keyboard.press("?");
    await page.getByLabel(/single keys/i).uncheck();
    await page.keyboard.press("Escape");
    await page.keyboard.press("t");
    await page.keyboard.press("/");
    expect([await theme(), await page.getByRole("dialog").count()]).toEqual(["light", 0]);
    await page.reload();
    await isLive(page);
    await page.keyboard.press("t");
    expect(await theme()).toBe("light");
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog").waitFor();
  });

  test("fits windows between phones and desktops, and shows focus below sticky headers", async () => {
    await using rig = await watchInBrowser();
    const { watching, url } = rig;
    await watching.poll(heldBy("ada"));
    const page = await rig.open("features");
    for (const width of [320, 701, 1161, 1280]) {
      await page.setViewportSize({ width, height: 256 });
      expect(await widthOf(page)).toBe(width);
    }
    await page.setViewportSize({ width: 390, height: 700 });
    await page.goto(`${url}/admin`);
    await isRead(page);
    const hidden = `(() => {
      const at = document.activeElement;
      const { left, top, width, height } = at.getBoundingClientRect();
      const hit = document.elementFromPoint(left + width / 2, top + height / 2);
      return at === document.body || hit?.contains(at) || at.contains(hit) ? null : at.outerHTML;
    })()`;
    for (let stop = 0; stop < 24; stop++) {
      await page.keyboard.press("Tab");
      expect(await page.evaluate(hidden)).toBeNull();
    }
  });

  test("notifies when a seat is free, and keeps rows in place under the pointer", async () => {
    await using rig = await watchInBrowser();
    const { watching, url } = rig;
    await watching.poll(heldBy("ada", "bob"));
    const page = await rig.open("features");
    await page.getByRole("link", { name: "solver" }).click();
    await page.getByRole("button", { name: "Tell me when free" }).click();
    await page.getByText(/You get a notification|This tab plays a sound/).waitFor();
    // The notification also works on another page and after a reload.
    await page.goto(`${url}/people?sort=user`);
    await isLive(page);
    await page.locator('[role="row"] a.name').first().hover();
    await watching.poll(heldBy("bob"));
    await says(page, "solver is free");
    await until(
      "the title says so",
      async () => (await page.title()).startsWith("● solver is free") || undefined,
    );
    await watching.poll(heldBy("bob", "aaron"));
    await untilUsers(page, "bob", "aaron");
    const order = () => page.locator("#main [role=rowgroup] .a-s").allTextContents();
    expect(await order()).toEqual(["bob", "aaron"]);
    await page.getByRole("button", { name: /^2 changes/ }).click();
    expect(await order()).toEqual(["aaron", "bob"]);
  });
});
