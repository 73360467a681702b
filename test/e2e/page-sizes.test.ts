import { describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { PAGE_PATHS } from "../../src/domain/words.ts";
import { HAS_BROWSER, startBrowser } from "./browser.ts";
import { isRead, startDemo } from "./page-rig.ts";

const SUBJECTS: Readonly<Partial<Record<string, string>>> = {
  feature: "feature?server=eda&daemon=siliqd&name=Timing_Signoff",
  person: "person?user=wmoreau",
  server: "server?id=cae",
};
const PATHS = ["", ...PAGE_PATHS.filter((path) => path !== "signin")].map((path) => SUBJECTS[path] ?? path);

/** Widths of the document and of its header's content beyond the window. */
const overflow = (page: Page) =>
  page.evaluate<number[]>(
    `[document.documentElement, ...document.querySelectorAll(".top, .dock")].map((box) => box.scrollWidth - box.clientWidth)`,
  );

describe.skipIf(!HAS_BROWSER)("the page", () => {
  test("has the reader's text size, and fits the window at 200 %", async () => {
    await using demo = await startDemo();
    await using browser = await startBrowser({ textSize: 32 });
    const page = await browser.open(`${demo.url}/signin${demo.code}`);
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.locator(".live").waitFor();
    expect(await page.evaluate("getComputedStyle(document.body).fontSize")).toBe("26px");
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
});
