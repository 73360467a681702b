import { describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { HAS_BROWSER, startBrowser } from "./browser.ts";
import { until } from "./harness.ts";
import { createStreamSite, publish, replay, requestIdOf, type Seen } from "./stream-site.ts";

/** Data of the page's script: frames as `[name, id, data]`, and the number of connections. */
interface Kept {
  readonly frames: readonly (readonly [name: string, id: string, data: string])[];
  readonly opened: number;
  readonly closes: readonly { readonly code: number; readonly reason: string }[];
}

const keptBy = (page: Page) => page.evaluate<Kept>("window.kept");

const seenBy = async (page: Page): Promise<Seen[]> =>
  (await keptBy(page)).frames.map(([name, id, data]) => ({
    id: Number(id),
    name,
    data: JSON.parse(data) as Seen["data"],
  }));

const untilPageSaw = (page: Page, requestId: string) =>
  until(
    `the page gets ${requestId}`,
    async () => (await seenBy(page)).some((each) => requestIdOf(each) === requestId) || undefined,
  );

const listen = (path: string, names: readonly string[]) => `
  window.kept ??= { frames: [], opened: 0, closes: [] };
  { const source = new EventSource(${JSON.stringify(path)});
    source.onopen = () => { window.kept.opened++; };
    for (const name of ${JSON.stringify(names)}) source.addEventListener(name, (event) => {
      window.kept.frames.push([name, event.lastEventId, event.data]);
    }); }`;

const connect = (path: string) => `
  window.kept ??= { frames: [], opened: 0, closes: [] };
  { const socket = window.socket = new WebSocket(${JSON.stringify(path)});
    socket.onopen = () => { window.kept.opened++; };
    socket.onclose = ({ code, reason }) => { window.kept.closes.push({ code, reason }); };
    socket.onmessage = ({ data }) => {
      const { type, id } = JSON.parse(data);
      window.kept.frames.push([type, id === undefined ? "" : id.slice(type.length + 1), data]);
    }; }`;

describe.skipIf(!HAS_BROWSER)("a page in Chromium", () => {
  test("its EventSource reconnects after a crash without lost or repeated events", async () => {
    await using site = await createStreamSite();
    await using browser = await startBrowser();
    const first = await site.serve();
    const key = await site.key("admin");
    const page = await browser.open(first.url);
    await page.evaluate(listen(`/stream/combined?api_key=${key}`, ["log", "metrics"]));
    await until("it is connected", async () => (await keptBy(page)).opened === 1 || undefined);
    await publish(first, { tag: "before", count: 100 });
    await untilPageSaw(page, "before-99");
    await first.kill();

    await using second = await site.serve();
    await publish(second, { tag: "after", count: 100 });
    await untilPageSaw(page, "after-99");
    const { opened } = await keptBy(page);
    expect(opened).toBe(2);
    const logs = (await seenBy(page)).filter(({ name }) => name === "log");
    const truth = await replay(second, key, (logs[0]?.id ?? 0) - 1, "after-99");
    expect(logs.slice(0, truth.length)).toEqual([...truth]);
    expect(truth.filter((each) => /^(before|after)-/.test(requestIdOf(each) ?? ""))).toHaveLength(200);
    expect((await seenBy(page)).map(({ name }) => name)).toContain("metrics");
  });

  test("its EventSource gets errors and warnings as named events", async () => {
    await using site = await createStreamSite();
    await using browser = await startBrowser();
    await using daemon = await site.serve();
    const key = await site.key("admin");
    const page = await browser.open(daemon.url);
    await page.evaluate(listen(`/stream/logs?api_key=${key}`, ["error_log", "warning_log"]));
    await page.evaluate(listen(`/stream/metrics?interval=250&api_key=${key}`, ["metrics"]));
    await until("both are connected", async () => (await keptBy(page)).opened === 2 || undefined);
    expect((await daemon.get("/api/licenses", "lmk_aaaaaaaaaaaa_wrong")).status).toBe(401);
    await site.configure("[log]\nlevel = 'loud'\n");
    process.kill(daemon.pid, "SIGHUP");
    const names = await until("all names came", async () => {
      const seen = (await seenBy(page)).map(({ name }) => name);
      return new Set(seen).size === 3 ? seen : undefined;
    });
    expect(names).toContain("warning_log");
  });

  test("its WebSocket gets the same objects, resumes, gets a close reason, and is refused for another origin", async () => {
    await using site = await createStreamSite();
    await using browser = await startBrowser();
    await using daemon = await site.serve();
    const key = await site.key("admin");
    await publish(daemon, { tag: "before", count: 50 });
    const truth = await replay(daemon, key, 1, "before-49");
    const from = truth[0]?.id ?? 0;
    const page = await browser.open(daemon.url);
    const url = `${daemon.url.replace("http", "ws")}/ws/logs?last_event_id=${from}&api_key=${key}`;
    await page.evaluate(connect(url));
    await untilPageSaw(page, "before-49");
    const stranger = await browser.open(daemon.url.replace("127.0.0.1", "localhost"));
    await stranger.evaluate(connect(url));
    const refusal = await until("the refusal", async () => (await keptBy(stranger)).closes[0]);
    expect([refusal.code, (await keptBy(stranger)).opened]).toEqual([1006, 0]);
    await page.evaluate(`window.socket.send(JSON.stringify({ type: "ping" }))`);
    const hasPong = async () => (await seenBy(page)).some(({ name }) => name === "pong");
    await until("the pong", async () => (await hasPong()) || undefined);
    const [resume, ...seen] = await seenBy(page);
    expect(resume?.data).toEqual({ type: "resume", from, oldest: from });
    expect(seen.slice(0, truth.length - 1)).toEqual(truth.slice(1));
    expect(await daemon.stop()).toBe(0);
    const close = await until("the close", async () => (await keptBy(page)).closes[0]);
    expect(close).toEqual({ code: 1001, reason: "licmond is shutting down" });
  });
});
