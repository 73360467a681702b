import { describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import type { Picture } from "../../src/domain/live-picture.ts";
import { FEATURE_COLUMNS } from "../../src/domain/picture.ts";
import { HAS_BROWSER } from "./browser.ts";
import { SLOW, until } from "./harness.ts";
import { between, isLive, showDemo, violations, watchInBrowser } from "./page-rig.ts";

/** Returns MB of heap after a collection. */
async function heapOf(page: Page): Promise<number> {
  const debug = await page.context().newCDPSession(page);
  await debug.send("HeapProfiler.collectGarbage");
  const { usedSize } = await debug.send("Runtime.getHeapUsage");
  await debug.detach();
  return usedSize / 1e6;
}

/** An event stream that the test controls. */
function createStream() {
  let clients: ReadableStreamDefaultController<string>[] = [];
  return {
    opened: () => clients.length,
    answer() {
      const body = new ReadableStream<string>({
        start(client) {
          client.enqueue(": open\n\n");
          clients.push(client);
        },
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    },
    send: (data: object) => {
      for (const client of clients) client.enqueue(`event: picture\ndata: ${JSON.stringify(data)}\n\n`);
    },
    beat: () => {
      for (const client of clients) client.enqueue("event: heartbeat\ndata: {}\n\n");
    },
    end() {
      for (const client of clients) client.close();
      clients = [];
    },
  };
}

const HOLDERS = [{ user: "lovelace", host: "ws-lovelace" }];
const HELD = { solver: { total: 40, holders: HOLDERS, queued: 1, user: "turing" }, mesh: { total: 2 } };
const NAMES = /lovelace|turing/i;
describe.skipIf(!HAS_BROWSER)("the page", () => {
  test("shows the worst first on the wall, and charts above a footer of two lines", async () => {
    await using shown = await showDemo();
    const { demo, page } = shown;
    await page.setViewportSize({ width: 1920, height: 1080 });
    await page.goto(`${demo.url}/wall`);
    await page.getByRole("button", { name: "1 of 2" }).waitFor();
    // The first tile is the worst server: usually a degraded one, at times the branch office, which is
    // down.
    await page
      .locator(".tile")
      .first()
      .getByText(/runs on 2 of 3 members|does not answer/)
      .waitFor();
    const curves = page.locator(".tile .spark svg");
    await until("the curves", async () => (await curves.count()) === 6 || undefined);
    // Make the line of sums so long that it needs two lines.
    await page.locator(".sums").evaluate((sums) => {
      (sums as unknown as { textContent: string }).textContent = "word ".repeat(35);
    });
    for (const curve of await curves.all()) expect(await curve.isVisible()).toBe(true);
    expect(await page.evaluate("document.querySelector('.wall footer').scrollWidth <= innerWidth")).toBe(
      true,
    );
  });

  test.skipIf(!SLOW)(
    "shows the wall for a day on one stream, reports a lost connection, and loads another version",
    async () => {
      await using rig = await watchInBrowser('[page]\npublic = "counts"');
      const { browser, watching } = rig;
      await watching.poll({ features: HELD });
      await using proxy = between(() => watching.daemon.url);
      const stream = createStream();
      const isStream = (path: string) => path.startsWith("/stream/");
      proxy.answers((path) => (isStream(path) ? stream.answer() : null));
      const page = await browser.blank();
      await page.addInitScript("delete window.SharedWorker");
      await page.clock.install();
      await page.goto(`${proxy.origin}/wall`);
      await isLive(page);
      await page.evaluate("window.stays = true");

      const { servers } = (await (await watching.daemon.get("/api/picture")).json()) as Picture;
      const [{ snapshot, features, status }] = servers as [Picture["servers"][0]];
      const [usedAt, freeAt] = (["used", "available"] as const).map(
        (word) => 1 + FEATURE_COLUMNS.indexOf(word),
      );
      let at = snapshot;
      const change = () => {
        const changed = features.map((feature) => [...feature]) as unknown[][];
        const solver = changed.find((feature) => feature.includes("solver")) ?? [];
        solver[usedAt ?? 0] = at % 40;
        solver[freeAt ?? 0] = 40 - (at % 40);
        const fields = { lastPollAt: new Date().toISOString(), collectedAt: new Date().toISOString() };
        const gone = { features: [], rows: [] };
        stream.send({
          server: "eda",
          from: at,
          to: ++at,
          status,
          changed: fields,
          features: changed,
          rows: [],
          gone,
        });
      };
      const changes = async (times: number) => {
        for (let time = 0; time < times; time++) {
          for (let minute = 0; minute < 10; minute++) change();
          await page.clock.runFor(1_000);
        }
      };
      await changes(20);
      const before = await heapOf(page);
      await changes(144);
      for (let step = 0; step < 75; step++) {
        stream.beat();
        await page.clock.runFor(12_000);
      }
      await page.locator(".tile li", { hasText: `${(at - 1) % 40}/40` }).waitFor();
      const after = await heapOf(page);
      expect([stream.opened(), after - before < 5]).toEqual([1, true]);
      expect(await page.content()).not.toMatch(NAMES);

      // Block the API, because any answer would set the page's clock to the server's time.
      await page.route("**/api/**", (route) => route.abort());
      proxy.answers(() => new Response("", { status: 502 }));
      stream.end();
      await page.locator(".live", { hasText: /reconnecting|offline/ }).waitFor();
      await page.clock.runFor(41_000);
      await page.locator(".wall.lost", { hasText: /Disconnected since \d/ }).waitFor();
      expect(await page.locator(".tile .st-ok").count()).toBe(0);
      expect(await violations(page)).toEqual([]);

      const upgraded = '<script type="module" src="./assets/index-other.js"></script>';
      const html = { headers: { "content-type": "text/html" } };
      proxy.answers((path) =>
        isStream(path) ? stream.answer() : path === "/" ? new Response(upgraded, html) : null,
      );
      await page.unroute("**/api/**");
      await page.clock.runFor(20_000);
      // The page cannot be queried while it loads.
      const isNew = () => page.evaluate<boolean>("window.stays === undefined").catch(() => false);
      await until("it is loaded anew", async () => (await isNew()) || undefined);
      await isLive(page);
      expect(await page.locator(".wall.lost").count()).toBe(0);
    },
  );
});
