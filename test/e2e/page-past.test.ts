import { describe, expect, test } from "bun:test";
import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { HAS_BROWSER, startBrowser } from "./browser.ts";
import { SLOW, until } from "./harness.ts";
import { isLive, isRead, listenTo, signIn } from "./page-rig.ts";
import { createWatchedSite } from "./watched-site.ts";

const NAMES = [
  '<img/src=x/onerror="document.title=1">',
  "=cmd()",
  "ARC/INFO",
  "\u202Egnp.reversed",
  "it's",
  `long${"-name".repeat(800)}`,
] as const;
const REPORTS = ["usage&group_by=feature", "usage", "efficiency", "heatmap"].map(
  (each) => `history?report=${each}`,
);
const PAGES = [...REPORTS, "denials", "outages", "expiry", "expiry?view=list"];

interface Answer {
  readonly total?: number;
  readonly cells?: readonly object[];
  readonly features?:
    | number
    | readonly { readonly whatIf?: readonly object[]; readonly seats?: readonly object[] }[];
}

/** Returns the number of rows of a CSV for the same question. */
function rowsOf({ total = -1, cells, features }: Answer): number {
  if (typeof features !== "object") return cells?.length ?? total;
  const parts = features.map(({ whatIf = [], seats = [] }) => whatIf.length + seats.length);
  return parts.reduce((sum, count) => sum + count, 0) || total;
}

describe.skipIf(!SLOW || !HAS_BROWSER)("pages of the past", () => {
  test("accept hostile names in links, copied calls, CSV and print", async () => {
    await using site = await createWatchedSite();
    const log = join(site.folder, "acmed.log");
    await Bun.write(log, "");
    await site.write("", `log_file = "${log}"`);
    await using watching = await site.watch();
    const { daemon, key } = watching;
    const features = Object.fromEntries(
      NAMES.map((name) => [
        name,
        { total: 3, holders: NAMES.slice(0, 2).map((user) => ({ user, host: "-h" })) },
      ]),
    );
    await watching.poll({ features });
    const clock = new Date(Date.now() - 30_000).toISOString().slice(11, 19).replace(/^0/, " ");
    for (const name of NAMES.slice(1, 3))
      await appendFile(
        log,
        `${clock} (acmed) DENIED: "${name}" =eve()@-h  (Licensed number of users. (-4,342))\n`,
      );
    await watching.poll({ features }, 2);
    await until(
      "denials",
      async () => (await watching.ask<Answer>("/api/licenses/denials")).total === 2 || undefined,
    );

    await using browser = await startBrowser({ keepPolicy: true });
    const page = await browser.open(`${daemon.url}/features`);
    await signIn(page, key);
    await isLive(page);
    const heard = await listenTo(page, daemon.url);
    // Plain HTTP of another host has no clipboard, so the text is shown.
    await page.addInitScript("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
    const show = async (path: string) => {
      await page.goto(`${daemon.url}/${path}`);
      await isLive(page);
      await isRead(page);
      expect([path, await page.locator("main img").count(), await page.title()]).toEqual([
        path,
        0,
        expect.stringMatching(/ · licmond$/),
      ]);
    };

    for (const path of PAGES) {
      await show(path);
      for (const width of [320, 1440]) {
        await page.setViewportSize({ width, height: 900 });
        expect([path, width, await page.evaluate("document.documentElement.scrollWidth")]).toEqual([
          path,
          width,
          width,
        ]);
      }
      for (const figure of await page.locator(".sec:has(.calls)").all()) {
        await figure.getByRole("button", { name: "Copy as curl" }).click();
        const curl = await figure.getByLabel("Copy as curl").inputValue();
        const told: Answer = await Bun.$`sh -c ${`${curl} -sf`}`
          .env({ ...process.env, LICMOND_API_KEY: key })
          .json();
        const link = new URL(
          (await figure.getByText("CSV", { exact: true }).getAttribute("href")) ?? "",
          `${daemon.url}/`,
        );
        const csv = (await (await daemon.get(link.pathname + link.search, key)).text()).trim().split("\r\n");
        expect([path, csv.length - 1]).toEqual([path, rowsOf(told)]);
        expect([path, csv.filter((line) => /(^|,)[=+@]/.test(line))]).toEqual([path, []]);
      }
    }

    for (const name of NAMES) {
      await show("history?report=usage&group_by=feature");
      const link = page.getByRole("link", { name, exact: true });
      const [at, server] = [await link.boundingBox(), await link.locator("+ .q").boundingBox()];
      // A bidirectional control character in a name affects only the name.
      if (name.length < 100) expect([name, (server?.x ?? 0) > (at?.x ?? 0)]).toEqual([name, true]);
      await link.click();
      await page.getByRole("heading", { name, level: 1, exact: true }).waitFor();
      await isRead(page);
      expect(new URL(page.url()).searchParams.get("name")).toBe(name);
    }

    await page.evaluate("localStorage.setItem('licmond-theme', 'dark')");
    await page.setViewportSize({ width: 1440, height: 900 });
    await show("history?report=efficiency&server=eda");
    await page.emulateMedia({ media: "print" });
    const foot = await page.locator(".on-paper").textContent();
    expect(foot).toMatch(/ to now · report: efficiency · server: eda · printed .* · http:\/\/.*server=eda$/);
    const colours =
      "(({ color, backgroundColor }) => [color, backgroundColor])(getComputedStyle(document.documentElement))";
    expect(await page.evaluate(colours)).toEqual(["rgb(0, 0, 0)", "rgb(255, 255, 255)"]);
    expect(heard).toEqual([]);
  });
});
