import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type BrowserContext, type CDPSession, chromium, type Page } from "playwright-core";
import { quantile } from "./measure.ts";
import { pace } from "./pace.ts";
import { type Place, rescan, startPlace } from "./place.ts";
import { lmstatText } from "./shapes.ts";
import { type Bench, figure, type Row } from "./table.ts";

const SERVERS = 20;
const FEATURES = 5_000;
const CHANGES_PER_SECOND = 50;
/** Number of servers polled per second. The changes of a second are spread over these polls. */
const POLLS_PER_SECOND = 5;
const LIVE_SECONDS = 10;
const PIXEL_ROUNDS = 15;
const TYPED = ["feature_0", "user0012", "s7", "nobody", "scaled 04"];

/** Main thread time of a browser so far, in ms. */
interface Busy {
  readonly task: number;
  readonly script: number;
  readonly layout: number;
}

/** A tab of Chromium with its debugger. */
interface Tab extends AsyncDisposable {
  readonly page: Page;
  readonly cdp: CDPSession;
  busy(): Promise<Busy>;
  /** Returns MB of JavaScript heap after a collection. */
  heap(): Promise<number>;
}

/**
 * Script that runs before the page's scripts. It records when rows appear, long tasks, and the time from a
 * key press to the next frame.
 */
const WATCH = `
  window.long = []; window.keys = [];
  new PerformanceObserver((list) => long.push(...list.getEntries().map(({ duration }) => duration)))
    .observe({ type: "longtask", buffered: true });
  addEventListener("keydown", ({ timeStamp }) => requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => keys.push(performance.now() - timeStamp);
    port2.postMessage(0);
  }), true);
  new MutationObserver((_, self) => {
    if (!document.querySelector('[role="rowgroup"] a.name')) return;
    self.disconnect();
    requestAnimationFrame(() => { window.readyAt = performance.now(); });
  }).observe(document, { childList: true, subtree: true });
`;

async function openTab(context: BrowserContext): Promise<Tab> {
  const page = await context.newPage();
  await page.addInitScript(WATCH);
  const cdp = await context.newCDPSession(page);
  await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
  const metric = async () => {
    const { metrics } = await cdp.send("Performance.getMetrics");
    return (name: string) => metrics.find((each) => each.name === name)?.value ?? Number.NaN;
  };
  return {
    page,
    cdp,
    async busy() {
      const of = await metric();
      const layout = of("LayoutDuration") + of("RecalcStyleDuration");
      return { task: 1000 * of("TaskDuration"), script: 1000 * of("ScriptDuration"), layout: 1000 * layout };
    },
    async heap() {
      await cdp.send("HeapProfiler.collectGarbage");
      return (await metric())("JSHeapUsedSize") / 1e6;
    },
    [Symbol.asyncDispose]: () => page.close(),
  };
}

/** Measures first paint and first rows with an empty cache, signed in. */
async function loadRows(context: BrowserContext, place: Place, phone: boolean): Promise<Row[]> {
  const name = phone ? "phone (CPU ÷ 4, 9 Mbit/s): " : "";
  const firsts: number[] = [];
  const lists: number[] = [];
  const tasks: number[] = [];
  for (let round = 0; round < 5; round++) {
    await using tab = await openTab(context);
    await tab.cdp.send("Network.enable");
    await tab.cdp.send("Network.setCacheDisabled", { cacheDisabled: true });
    if (phone) {
      await tab.cdp.send("Emulation.setCPUThrottlingRate", { rate: 4 });
      const bytes = 9e6 / 8;
      const network = { offline: false, latency: 40, downloadThroughput: bytes, uploadThroughput: bytes };
      await tab.cdp.send("Network.emulateNetworkConditions", network);
    }
    await tab.page.goto(`${place.url}/features`);
    await tab.page.waitForFunction("window.readyAt");
    const first = "performance.getEntriesByName('first-contentful-paint')[0].startTime";
    firsts.push(await tab.page.evaluate<number>(first));
    lists.push(await tab.page.evaluate<number>("readyAt"));
    tasks.push((await tab.busy()).task);
  }
  const of = (samples: number[]) => quantile(samples, 0.5);
  return [
    figure(`${name}first contentful paint`, of(firsts), "ms", phone ? 1_000 : 500),
    figure(`${name}list ready`, of(lists), "ms", phone ? 2_500 : 1_000),
    figure(`${name}CPU until then`, of(tasks), "ms"),
  ];
}

async function typingRows({ page, busy }: Tab, name: string): Promise<Row[]> {
  await page.evaluate("keys.length = 0");
  const before = await busy();
  await page.keyboard.press("/");
  let pressed = 1;
  for (const text of TYPED) {
    for (const key of text) {
      await page.keyboard.press(key === " " ? "Space" : key);
      await Bun.sleep(60);
    }
    await page.keyboard.press("Control+A");
    await page.keyboard.press("Backspace");
    await Bun.sleep(60);
    pressed += text.length + 2;
  }
  const after = await busy();
  const keys = await page.evaluate<number[]>("keys");
  return [
    figure(`${name}: key to paint, p50`, quantile(keys, 0.5), "ms", 16),
    figure(`${name}: key to paint, longest`, Math.max(...keys), "ms", 100),
    figure(`${name}: CPU of a key`, (after.task - before.task) / pressed, "ms"),
    figure(`${name}: of which script`, (after.script - before.script) / pressed, "ms"),
  ];
}

/** Changes the holders of `CHANGES_PER_SECOND` seats per second, spread over the servers. */
async function change(place: Place, texts: string[], seconds: number): Promise<void> {
  const each = CHANGES_PER_SECOND / POLLS_PER_SECOND;
  const polls: Promise<void>[] = [];
  const poll = async (at: number) => {
    const server = at % SERVERS;
    let left = each;
    const text = (texts[server] ?? "").replaceAll(/user\d{5}/g, (user) =>
      left-- > 0 ? `guest${at}_${left}` : user,
    );
    texts[server] = text;
    await Bun.write(join(dirname(place.tool), place.addresses[server] ?? ""), text);
    await rescan(place, [`s${server}`]);
  };
  await pace(seconds * POLLS_PER_SECOND, POLLS_PER_SECOND, () => polls.push(poll(polls.length)));
  await Promise.all(polls);
}

async function liveRows(tab: Tab, place: Place, texts: string[]): Promise<Row[]> {
  const { page, busy } = tab;
  await change(place, texts, 2);
  await page.evaluate("long.length = 0");
  const [before, startedAt] = [await busy(), performance.now()];
  await change(place, texts, LIVE_SECONDS);
  const [after, ms] = [await busy(), performance.now() - startedAt];
  const long = await page.evaluate<number[]>("long");
  const name = `${CHANGES_PER_SECOND} changes/s for ${LIVE_SECONDS} s`;
  return [
    figure(`${name}: tasks over 50 ms`, long.length, "", 0),
    figure(`${name}: the longest of them`, Math.max(0, ...long), "ms"),
    figure(`${name}: of a core`, (100 * (after.task - before.task)) / ms, "%", 10),
    figure(`${name}: of which script`, (100 * (after.script - before.script)) / ms, "%"),
    figure(`${name}: layout and style`, (100 * (after.layout - before.layout)) / ms, "%"),
  ];
}

/** Measures the time from the end of a poll to the paint of its new holder. */
async function pixelRows({ page }: Tab, place: Place, texts: string[]): Promise<Row[]> {
  await page.goto(`${place.url}/people?q=pixel`);
  await page.locator(".live", { hasText: "live" }).waitFor();
  const spans: number[] = [];
  for (let round = 0; round < PIXEL_ROUNDS; round++) {
    const painted = page.evaluate<number>(`new Promise((resolve) =>
      new MutationObserver((_, self) => {
        if (!document.querySelector('[role="rowgroup"]')?.textContent.includes("pixel${round}x")) return;
        self.disconnect();
        requestAnimationFrame(() => {
          const { port1, port2 } = new MessageChannel();
          port1.onmessage = () => resolve(performance.timeOrigin + performance.now());
          port2.postMessage(0);
        });
      }).observe(document, { childList: true, subtree: true, characterData: true }))`);
    const text = (texts[0] ?? "").replace(/user\d{5}/, `pixel${round}x`);
    texts[0] = text;
    await Bun.write(join(dirname(place.tool), place.addresses[0] ?? ""), text);
    await rescan(place, ["s0"]);
    const paintedAt = await painted;
    const answer = await fetch(`${place.url}/api/licenses/servers/s0`, {
      headers: { "X-API-Key": place.key },
    });
    const { lastPollAt } = (await answer.json()) as { lastPollAt: string };
    spans.push(paintedAt - Date.parse(lastPollAt));
  }
  return [
    figure("end of a poll to paint, median", quantile(spans, 0.5), "ms", 300),
    figure("end of a poll to paint, longest", Math.max(...spans), "ms"),
  ];
}

async function ofSite(checkouts: number, heapAtMost: number, whole: boolean): Promise<Row[]> {
  const shape = { features: FEATURES / SERVERS, checkouts: checkouts / SERVERS };
  const texts = Array.from({ length: SERVERS }, () => lmstatText(shape));
  await using place = await startPlace({ outputs: texts, concurrency: 2 });
  await rescan(place);
  const profile = await mkdtemp(join(tmpdir(), "licmond-bench-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: "/usr/bin/chromium",
    headless: true,
    bypassCSP: true,
    viewport: { width: 1440, height: 900 },
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--no-first-run",
      "--disable-background-networking",
    ],
  });
  try {
    const headers = { "content-type": "application/json", "x-licmond": "page" };
    const data = { key: place.key, stay: true };
    await context.request.post(`${place.url}/api/signin`, { data, headers });
    const rows: Row[] = [];
    if (whole)
      rows.push(...(await loadRows(context, place, false)), ...(await loadRows(context, place, true)));
    await using tab = await openTab(context);
    await tab.page.goto(`${place.url}/features`);
    await tab.page.waitForFunction("window.readyAt");
    await Bun.sleep(1_000);
    rows.push(...(await typingRows(tab, "typing")));
    if (whole) {
      rows.push(...(await liveRows(tab, place, texts)));
      rows.push(
        figure("elements", await tab.page.evaluate("document.querySelectorAll('*').length"), "", 1_500),
      );
    }
    rows.push(figure("heap", await tab.heap(), "MB", heapAtMost));
    if (whole) rows.push(...(await pixelRows(tab, place, texts)));
    const name = `${FEATURES} features, ${checkouts} checkouts: `;
    return rows.map((row) => ({ ...row, what: name + row.what }));
  } finally {
    await context.close();
    await rm(profile, { recursive: true, force: true });
  }
}

/** Measures the page in a browser, for a large site. */
export const page: Bench = {
  name: "page",
  what: "the list of features in Chromium: paint, list, keys, changes, memory",
  run: async () => [...(await ofSite(20_000, 40, true)), ...(await ofSite(50_000, 60, false))],
};
