/** Hostile names on every page: as text, in links, in CSV and in print. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { PAGE_PATHS } from "../../src/domain/words.ts";
import { type Browser, HAS_BROWSER, startBrowser } from "./browser.ts";
import { SLOW, until } from "./harness.ts";
import { isLive, leads, listenTo, signIn } from "./page-rig.ts";
import { createWatchedSite, type WatchedSite, type Watching } from "./watched-site.ts";

const SCRIPT = "<img/src=x/onerror=window.pwned=1>";
/** Names without a space, as lmstat prints them. */
const NAMES = [
  ...[SCRIPT, "ARC/INFO", "=cmd()", "\u202egnp.exe", "x".repeat(4_000), "q'u`o", "&lt;b&gt;\u{1f480}"],
  ...["..", "a?b#c&d=e+f%2f", "javascript:window.pwned=1"],
];
/** Width of an A4 page without margins, in pixels. */
const PAPER = 718;
/** Hostile text that a user types, which may have spaces and quotes too. */
const TYPED = `${SCRIPT} "a"\n=b \u202e`;

interface Answer {
  readonly total?: number;
  readonly cells?: readonly object[];
  readonly features?:
    | number
    | readonly { readonly whatIf?: readonly object[]; readonly seats?: readonly object[] }[];
}

/** Returns the number of rows in an answer's CSV. The CSV of the efficiency has a row per seat. */
function rowsOf({ total = -1, cells, features }: Answer): number {
  if (typeof features !== "object") return cells?.length ?? total;
  const parts = features.map(({ whatIf = [], seats = [] }) => whatIf.length + seats.length);
  return parts.reduce((sum, count) => sum + count, 0) || total;
}

describe.skipIf(!SLOW || !HAS_BROWSER)("hostile names", () => {
  let site: WatchedSite;
  let watching: Watching;
  let browser: Browser;
  let page: Page;
  let heard: string[];
  let lead: ReturnType<typeof leads>;

  beforeAll(async () => {
    site = await createWatchedSite();
    const log = join(site.folder, "debug.log");
    const typed = JSON.stringify(TYPED);
    await site.write("", `name = ${typed}\nlabels = { "team" = ${typed} }\nlog_file = "${log}"`);
    const now = new Date();
    const clock = `${now.getUTCHours()}:${now.toISOString().slice(14, 19)}`;
    const denied = NAMES.map(
      (name) => `${clock} (acmed) DENIED: "${name}" ${name}@${name}  (${name} (-4,342))\n`,
    );
    const today = `${now.getUTCMonth() + 1}/${now.getUTCDate()}/${now.getUTCFullYear()}`;
    await Bun.write(log, `${clock} (acmed) TIMESTAMP ${today}\n`);
    watching = await site.watch();
    const of = (user: string) => ({
      ...{ total: 1, queued: 1, user, expires: "2020-01-01" },
      holders: [{ user, host: user }],
    });
    await watching.poll({
      features: Object.fromEntries(NAMES.map((name) => [name, of(name)])),
      unknown: NAMES,
    });
    await appendFile(log, denied.join(""));
    const { alerts } = await until("an alert", async () => {
      const found = await watching.ask<{ alerts: { id: number }[] }>("/api/licenses/alerts");
      return found.alerts.length > 0 ? found : undefined;
    });
    await watching.post(`/api/licenses/alerts/${alerts[0]?.id}/acknowledge`, { comment: TYPED });
    await watching.post("/api/keys", { name: TYPED.replace("\n", " "), role: "viewer" });
    await until(
      "the denials",
      async () =>
        (await watching.ask<{ total: number }>("/api/licenses/denials")).total >= NAMES.length || undefined,
    );
    browser = await startBrowser({ keepPolicy: true });
    page = await browser.open(watching.daemon.url);
    await signIn(page, watching.key);
    await isLive(page);
    heard = await listenTo(page, watching.daemon.url);
    lead = leads(page);
  });
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]();
    await watching?.[Symbol.asyncDispose]();
    await site?.[Symbol.asyncDispose]();
  });

  const featureOf = (name: string) =>
    `feature?${new URLSearchParams({ server: "eda", daemon: "acmed", name })}`;
  const personOf = (of: "user" | "host", name: string) => `person?${new URLSearchParams({ [of]: name })}`;
  /** Checks that no script ran, nothing was logged, and nothing is wider than the window: on a screen, a phone and paper. */
  const isHarmless = async (path: string) => {
    for (const [media, width] of [
      ["screen", 320],
      ["screen", 1440],
      ["print", PAPER],
    ] as const) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ media });
      const [wide, pwned] = await page.evaluate<[number, unknown]>(
        "[document.documentElement.scrollWidth, window.pwned ?? null]",
      );
      expect([path, media, wide, pwned]).toEqual([path, media, width, null]);
    }
    expect([path, heard.splice(0)]).toEqual([path, []]);
  };

  test.each(["", ...PAGE_PATHS])("are text on /%s", async (path) => {
    const paths = {
      feature: NAMES.map(featureOf),
      person: NAMES.map((name, at) => personOf(at % 2 === 0 ? "user" : "host", name)),
      server: ["server?id=eda", `server?id=${encodeURIComponent(TYPED)}`],
      people: ["people", "people?group=user", "people?group=host", `people?q=${encodeURIComponent(SCRIPT)}`],
      history: [
        "history",
        "history?group_by=feature",
        "history?report=efficiency",
        `history?report=compare&${NAMES.slice(0, 8)
          .map((name) => `feature=${encodeURIComponent(`eda acmed/${name}`)}`)
          .join("&")}`,
      ],
      logs: ["logs", `logs?q=${encodeURIComponent(SCRIPT)}`],
    }[path as string] ?? [path];
    for (const each of paths) {
      await page.emulateMedia({ media: "screen" });
      // The sign-in form has no live data to wait for.
      if (each === "signin") await page.goto(`${watching.daemon.url}/signin`);
      else await lead(`${watching.daemon.url}/${each}`);
      await isHarmless(each);
    }
  });

  test("link back to the same record", async () => {
    await page.emulateMedia({ media: "screen" });
    await page.setViewportSize({ width: 1440, height: 5_000 });
    for (const [path, heading] of [
      ["features", "feature"],
      ["people", "person"],
    ] as const) {
      await lead(`${watching.daemon.url}/${path}`);
      const links = await page
        .locator(`#main [role=row] a[href*="${heading}?"]`)
        .evaluateAll((all) =>
          all.map(
            (one) =>
              [
                (one as unknown as { getAttribute(name: string): string }).getAttribute("href"),
                one.textContent,
              ] as [string, string],
          ),
        );
      expect(new Set(links.map(([, text]) => text)).isSupersetOf(new Set(NAMES))).toBe(true);
      for (const [href, text] of new Map(links)) {
        // Dispatch the event instead of clicking, because the middle of a link of 4,000 letters is outside of the window.
        await page
          .locator(`#main a[href=${JSON.stringify(href)}]`)
          .first()
          .dispatchEvent("click");
        await page.locator("h1", { hasText: text }).waitFor();
        expect([href, await page.locator("h1").textContent()]).toEqual([href, text]);
        await page.goBack();
        await page
          .locator(`#main a[href=${JSON.stringify(href)}]`)
          .first()
          .waitFor();
      }
    }
  });

  test("affect only themselves where they change the direction of text", async () => {
    await page.emulateMedia({ media: "screen" });
    await page.setViewportSize({ width: 1440, height: 900 });
    await lead(`${watching.daemon.url}/history?group_by=feature`);
    const link = page.getByRole("link", { name: "\u202egnp.exe", exact: true });
    const [name, server] = [await link.boundingBox(), await link.locator("+ .q").boundingBox()];
    expect(server?.x).toBeGreaterThan(name?.x ?? Number.POSITIVE_INFINITY);
  });

  const reports = ["usage&group_by=feature", "usage", "efficiency", "heatmap"];
  test.each([
    ...["features", "people", "servers", "alerts", "denials", "expiry", "expiry?view=list", "outages"],
    ...reports.map((report) => `history?report=${report}`),
  ])("are text in every CSV of /%s, which has the rows of the copied call", async (path) => {
    await page.emulateMedia({ media: "screen" });
    // Over plain HTTP, a page of another host cannot use the clipboard, so it shows the call.
    await page.addInitScript("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
    await lead(`${watching.daemon.url}/${path}`);
    const links = await page
      .locator("a[download]")
      .evaluateAll((all) => all.map((one) => (one as unknown as { href: string }).href));
    const texts = await Promise.all(
      links.map(async (link) => {
        const answer = await page.request.get(link);
        expect(answer.status()).toBe(200);
        expect(answer.headers()["content-type"]).toContain("text/csv");
        return answer.text();
      }),
    );
    expect(texts.length).toBeGreaterThan(0);
    expect(texts.flatMap((text) => text.match(/(^|,|")[=+@][cS1]/gm) ?? [])).toEqual([]);
    for (const [at, figure] of (await page.locator(".sec:has(.calls)").all()).entries()) {
      await figure.getByRole("button", { name: "Copy as curl" }).click();
      const curl = await figure.getByLabel("Copy as curl").inputValue();
      const answer: Answer = await Bun.$`sh -c ${`${curl} -sf`}`
        .env({ ...process.env, LICMOND_API_KEY: watching.key })
        .json();
      // The names have no line breaks.
      expect(texts[at]?.trim().split("\r\n")).toHaveLength(1 + rowsOf(answer));
    }
  });
});
