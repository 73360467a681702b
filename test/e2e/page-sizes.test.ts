import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { PAGE_PATHS } from "../../src/domain/words.ts";
import { HAS_BROWSER, startBrowser } from "./browser.ts";
import { until } from "./harness.ts";
import { isLive, isRead, openDemo, show, startDemo } from "./page-rig.ts";

const SUBJECTS: Readonly<Partial<Record<string, string>>> = {
  feature: "feature?server=eda&daemon=siliqd&name=Timing_Signoff",
  person: "person?user=wmoreau",
  server: "server?id=cae",
};
const PATHS = ["", ...PAGE_PATHS.filter((path) => path !== "signin")].map((path) => SUBJECTS[path] ?? path);

/** Returns by how many pixels the document and its bars overflow. */
const overflow = (page: Page) =>
  page.evaluate<number[]>(
    `[document.documentElement, ...document.querySelectorAll(".top, .dock")].map((box) => box.scrollWidth - box.clientWidth)`,
  );

describe.skipIf(!HAS_BROWSER)("the page", () => {
  let demo: Awaited<ReturnType<typeof startDemo>>;
  beforeAll(async () => {
    demo = await startDemo();
  });
  afterAll(() => demo?.[Symbol.asyncDispose]());

  test("respects the reader's text size, and fits the window at 200 %", async () => {
    await using browser = await startBrowser({ textSize: 32 });
    const page = await openDemo(browser, demo);
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.locator(".live").waitFor();
    expect(await page.evaluate("getComputedStyle(document.body).fontSize")).toBe("26px");
    // The text is twice as large as by default, and so are the chart and its labels.
    await page.goto(`${demo.url}/${SUBJECTS.feature}`);
    await page.locator(".plot canvas").first().waitFor();
    const height = await page
      .locator(".plot canvas")
      .first()
      .evaluate((canvas) => canvas.getBoundingClientRect().height);
    expect(height).toBe(2 * (24 + 200 + 2 * 32 + 24));
    for (const path of PATHS) {
      await page.goto(`${demo.url}/${path}`);
      await page.locator(".live").waitFor();
      await isRead(page);
      for (const width of [1440, 1024, 780]) {
        await page.setViewportSize({ width, height: 900 });
        expect([path, width, Math.max(...(await overflow(page)))]).toEqual([path, width, 0]);
      }
    }
  });

  test("lists every page in its palette, by common words, and behind More on a phone", async () => {
    await using browser = await startBrowser();
    const page = await openDemo(browser, demo);
    const found = page.getByRole("dialog").getByRole("option");
    for (const [word, name, leadsTo] of [
      ["usage", "Usage", /\/history\?report=usage$/],
      ["outages", "Outages", /\/outages$/],
      ["downtime", "Outages", /\/outages$/],
      ["efficiency", "Efficiency", /\/history\?report=efficiency$/],
      ["heat map", "Hours", /\/history\?report=heatmap$/],
      ["settings", "Administration", /\/admin$/],
      ["api", "API documentation", /\/swagger$/],
    ] as const) {
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Search features" }).fill(word);
      await found.first().getByText(name, { exact: true }).waitFor();
      await page.keyboard.press("Enter");
      await page.waitForURL(leadsTo);
    }
    await page.goto(demo.url);
    await isLive(page);
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search features" }).fill("help");
    expect(await found.allTextContents()).toEqual([
      expect.stringContaining("Keys"),
      expect.stringContaining("API documentation"),
    ]);

    await page.keyboard.press("Escape");
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByRole("button", { name: "More" }).click();
    const offered = (await found.locator("bdi:first-child").allTextContents()).join(", ");
    for (const word of [
      "Overview",
      "Features",
      "People",
      "Servers",
      "Expiry",
      "Denials",
      "Alerts",
      "Wall",
      "Logs",
    ])
      expect(offered).toContain(word);
    for (const word of ["Administration", "Usage", "Efficiency", "Hours", "Compare", "Outages", "API"])
      expect(offered).toContain(word);
  });

  test("loads three files of 40 KB for the first page, and one more for any other", async () => {
    await using browser = await startBrowser({ keepPolicy: true });
    const page = await openDemo(browser, demo);
    for (const [path, most, kilobytes] of [
      ["", 3, 40],
      ["history", 4, 90],
    ] as const) {
      await page.goto(`${demo.url}/${path}`);
      await isLive(page);
      const isAsked = `performance.getEntriesByType("resource").some(({ name }) => /api.licenses.(stats|usage)/.test(name))`;
      await until(
        "its figures are asked for",
        async () => (await page.evaluate<boolean>(isAsked)) || undefined,
      );
      // The page requests figures after the first paint, so files that were requested earlier belong to the
      // first paint.
      const files = await page.evaluate<{ name: string; bytes: number }[]>(`(() => {
        const all = performance.getEntriesByType("resource");
        const shown = all.find(({ name }) => /api.licenses.(stats|usage)/.test(name)).startTime;
        const before = all.filter(({ name, startTime }) => startTime < shown && !name.includes("/api/"));
        return [...performance.getEntriesByType("navigation"), ...before].map((file) =>
          ({ name: file.name, bytes: file.encodedBodySize }));
      })()`);
      expect([path, files.length, files.map(({ name }) => name)]).toEqual([path, most, expect.anything()]);
      expect(files.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(kilobytes * 1024);
    }
  });

  test("sorts and filters every table by every column, and keeps that in its address", async () => {
    await using browser = await startBrowser({ keepPolicy: true });
    const page = await openDemo(browser, demo);
    const table = (name: string) => page.getByRole("table", { name, exact: true });
    const column = (name: string, at: number) =>
      table(name).locator(`tbody td:nth-child(${at})`).allTextContents();
    const load = (path = "") => show(page, `${demo.url}/${path}`);
    for (const path of [
      "history",
      "history?report=efficiency",
      "denials",
      "outages",
      "expiry?view=list",
      "admin",
    ]) {
      await load(path);
      expect([path, await page.locator(".rt th:not(:has(button))").allTextContents()]).toEqual([
        path,
        path === "admin" ? expect.anything() : [],
      ]);
    }

    for (const path of [
      "features",
      "people",
      "people?group=host",
      "servers",
      SUBJECTS.feature,
      SUBJECTS.server,
    ]) {
      await load(path);
      await page.locator("[role=columnheader] button").first().waitFor();
      expect([path, await page.locator("[role=columnheader]:not(:has(button))").allTextContents()]).toEqual([
        path,
        [],
      ]);
    }
    // This order requires the peaks of all features.
    await load("features?sort=-peak");
    await until("the highest peak is first", async () => {
      const peaks = await page
        .locator('[role="rowgroup"] [role="row"] [role="cell"]:nth-child(8)')
        .allTextContents();
      const read = peaks.map((peak) => Number(peak.replaceAll(/[^0-9]/g, "")));
      return (
        (read.length > 20 &&
          (read[0] ?? 0) > 100 &&
          Bun.deepEquals(
            read,
            read.toSorted((a, b) => b - a),
          )) ||
        undefined
      );
    });
    await load("server?id=eda");
    await page.getByLabel("Filter: Features").fill("synth");
    await until(
      "one feature is left",
      async () => (await page.locator('[role="rowgroup"] a.name').count()) === 1 || undefined,
    );

    await load("history?report=efficiency");
    await table("Use of seats").getByRole("button", { name: "Peak" }).click();
    const peaks = (await column("Use of seats", 3)).map(Number);
    expect(peaks).toEqual(peaks.toSorted((a, b) => b - a));
    await page.getByLabel("Filter: Use of seats").fill("synth EDA");
    await until("one row is left", async () => (await column("Use of seats", 1)).length === 1 || undefined);
    expect((await column("Effect of fewer seats", 1)).length).toBeGreaterThan(1);
    await until("the address has it", () => page.url().includes("use-of-seats-q=synth") || undefined);
    expect(new URL(page.url()).searchParams.get("use-of-seats-sort")).toBe("-peak");
    await page.reload();
    await until("the list", async () => (await column("Use of seats", 1)).length > 0 || undefined);
    expect(await column("Use of seats", 1)).toEqual(["Synth-Ultra eda siliqd"]);
    expect(await table("Use of seats").locator('[aria-sort="descending"]').allTextContents()).toEqual([
      "Peak",
    ]);

    await load("history?group_by=server");
    const shares = (await column("By server", 4)).map((share) => Number.parseFloat(share.replace("<", "")));
    const sum = shares.reduce((all, share) => all + share, 0);
    expect([shares.length > 1, sum > 90 && sum < 210]).toEqual([true, true]);
  });

  test("has no overflow and no broken words in narrow windows, and targets of 24 px", async () => {
    await using browser = await startBrowser();
    const page = await openDemo(browser, demo);
    const reports = ["history?report=efficiency", "history?report=heatmap", "expiry?view=list"];
    for (const path of [...PATHS, ...reports, "nope"]) {
      await page.setViewportSize({ width: 390, height: 900 });
      await page.goto(`${demo.url}/${path}`);
      if (path !== "nope") await page.locator(".live").waitFor();
      await isRead(page);
      const broken = await page.evaluate<
        string[]
      >(`[...document.querySelectorAll(".rt th, .rt .word")].flatMap((cell) => {
        const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
        const found = [];
        for (let text = texts.nextNode(); text !== null; text = texts.nextNode())
          for (const { 0: word, index } of text.data.matchAll(/[^\\s-]+/g)) {
            const range = document.createRange();
            range.setStart(text, index);
            range.setEnd(text, index + word.length);
            if (range.getClientRects().length > 1) found.push(word);
          }
        return found;
      })`);
      expect([path, broken]).toEqual([path, []]);
      for (const width of [390, 320]) {
        await page.setViewportSize({ width, height: 900 });
        expect([path, width, Math.max(...(await overflow(page)))]).toEqual([path, width, 0]);
      }
    }
    await page.setViewportSize({ width: 1440, height: 900 });
    for (const path of ["people", "logs", "features", "history"]) {
      await show(page, `${demo.url}/${path}`);
      const targets = '[role="rowgroup"] :is(a, button), .rt tbody a';
      await page.locator(targets).first().waitFor();
      const heights = await page
        .locator(targets)
        .evaluateAll((links) => links.map((link) => link.getBoundingClientRect().height));
      expect([path, Math.min(...heights) >= 24]).toEqual([path, true]);
    }
  });

  test("shows strips, heat maps and charts in forced colours", async () => {
    await using browser = await startBrowser();
    const page = await openDemo(browser, demo);
    await page.emulateMedia({ forcedColors: "active" });
    await show(page, `${demo.url}/${SUBJECTS.feature}`);
    const colours = (selector: string) =>
      page.evaluate<string[]>(
        `[...new Set([...document.querySelectorAll("${selector}")].map((one) => getComputedStyle(one).backgroundColor))]`,
      );
    await page.locator(".heat tbody td").first().waitFor();
    expect((await colours(".heat tbody td, .key i")).length).toBeGreaterThan(2);
    expect((await colours(".strip i")).filter((colour) => colour !== "rgba(0, 0, 0, 0)")).not.toEqual([]);
    expect(await page.evaluate('getComputedStyle(document.querySelector(".plot")).forcedColorAdjust')).toBe(
      "none",
    );
  });
});
