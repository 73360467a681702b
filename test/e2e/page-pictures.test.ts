/** Screenshots for the documents; `UPDATE_PICTURES=1` writes them. */
import { describe, expect, test } from "bun:test";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { ROOT } from "../docs/claims.ts";
import { HAS_BROWSER } from "./browser.ts";
import { leads, listenTo, showDemo } from "./page-rig.ts";

const TAKES = process.env.UPDATE_PICTURES === "1";
const FOLDER = join(ROOT, "docs/screenshots");
const MOST_BYTES = 80_000;
const THEMES = ["light", "dark"] as const;
const VIEWS = {
  overview: "",
  features: "features",
  feature: "feature?server=eda&daemon=siliqd&name=Schema_Editor",
  people: "people",
  server: "server?id=cae",
  history: "history?report=efficiency",
  denials: "denials?range=7d",
  expiry: "expiry",
  wall: "wall",
} as const;

test.skipIf(!HAS_BROWSER || !TAKES)("writes screenshots of nine pages", async () => {
  // Poll once, so that both themes show the same data.
  await using shown = await showDemo("--interval", "1h", "--history", "30");
  const { demo, page } = shown;
  const heard = await listenTo(page, demo.url);
  const lead = leads(page);
  await page.setViewportSize({ width: 1280, height: 800 });
  for (const [name, path] of Object.entries(VIEWS)) {
    await lead(`${demo.url}/${path}`);
    for (const colorScheme of THEMES) {
      await page.emulateMedia({ colorScheme });
      const picture = new Bun.Image(await page.screenshot({ animations: "disabled" }));
      await picture
        .png({ palette: true, compressionLevel: 9 })
        .write(join(FOLDER, `${name}-${colorScheme}.png`));
    }
  }
  expect(heard).toEqual([]);
});

describe("docs/screenshots", () => {
  test("has a small screenshot of each page in both themes, and no other file", async () => {
    const names = Object.keys(VIEWS).flatMap((name) => THEMES.map((theme) => `${name}-${theme}.png`));
    expect((await readdir(FOLDER)).sort()).toEqual(names.sort());
    for (const name of names)
      expect([name, Bun.file(join(FOLDER, name)).size < MOST_BYTES]).toEqual([name, true]);
  });
});
