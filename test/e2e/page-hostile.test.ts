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
/** Width of A4 without margins. */
const PAPER = 718;
/** User input may have spaces and quotes too. */
const TYPED = `${SCRIPT} "a"\n=b \u202e`;

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
    await site.write(
      "",
      `name = ${JSON.stringify(TYPED)}\nlabels = { "team" = ${JSON.stringify(TYPED)} }\nlog_file = "${log}"`,
    );
    const now = new Date();
    const clock = `${now.getUTCHours()}:${now.toISOString().slice(14, 19)}`;
    const denied = NAMES.map(
      (name) => `${clock} (acmed) DENIED: "${name}" ${name}@${name}  (${name} (-4,342))\n`,
    );
    await Bun.write(
      log,
      `${clock} (acmed) TIMESTAMP ${now.getUTCMonth() + 1}/${now.getUTCDate()}/${now.getUTCFullYear()}\n`,
    );
    watching = await site.watch();
    const features = NAMES.map(
      (name) =>
        [
          name,
          { total: 1, queued: 1, user: name, holders: [{ user: name, host: name }], expires: "2020-01-01" },
        ] as const,
    );
    await watching.poll({ features: Object.fromEntries(features), unknown: NAMES });
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
      ["screen", 390],
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
      // The sign-in form has no live data.
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
        // Dispatch the event, because the middle of 4,000 letters is outside of the window.
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

  test("are text in every CSV of a page", async () => {
    for (const path of [
      "features",
      "people",
      "servers",
      "alerts",
      "history",
      "denials",
      "expiry",
      "outages",
    ]) {
      await lead(`${watching.daemon.url}/${path}`);
      const links = await page
        .locator("a[download]")
        .evaluateAll((all) => all.map((one) => (one as unknown as { href: string }).href));
      expect([path, links.length > 0]).toEqual([path, true]);
      for (const link of links) {
        const answer = await page.request.get(link);
        expect([link, answer.status(), answer.headers()["content-type"]]).toEqual([
          link,
          200,
          expect.stringContaining("text/csv"),
        ]);
        expect([link, (await answer.text()).match(/(^|,|")[=+@][cS1]/gm)]).toEqual([link, null]);
      }
    }
  });
});
