import { describe, expect, test } from "bun:test";
import { HAS_BROWSER, startBrowser } from "./browser.ts";
import { SLOW } from "./harness.ts";
import { inspect, isLive, listenTo, namesIn, showDemo, startDemo } from "./page-rig.ts";
import { belowPrefix } from "./prefix-proxy.ts";

const FEATURE = "feature?server=eda&daemon=siliqd&name=Synth-Ultra";
const COMPARE = "history?report=compare&before=1&feature=eda%20siliqd%2FSynth-Ultra";

const VIEWS = [
  ["overview", ["", "alerts", "alerts?state=resolved"]],
  ["servers", ["servers", "server?id=cae"]],
  ["features", ["features", "features?group=name"]],
  ["one feature", [FEATURE, "features#palette"]],
  ["people", ["people", "people?group=host&held=1", "people#keys", "person?user=wmoreau"]],
  ["history", ["history", "history?report=efficiency", "history?report=heatmap", COMPARE]],
  ["the wall", ["wall", "wall?servers=eda,gone&rows=4", "wall?label=location:muc&rows=1"]],
  ["the administrator's", ["admin", "logs", "logs?q=demo"]],
  ["what else looks back", ["denials", "expiry", "outages"]],
] as const;
const IN_BRIEF = [["a page of each kind", VIEWS.map(([, [first]]) => first)] as const];

describe.skipIf(!HAS_BROWSER)("the page", () => {
  test("shows the demo's features as the API has them, below a prefix", async () => {
    await using demo = await startDemo();
    await using browser = await startBrowser({ keepPolicy: true });
    const prefix = "/tools/licenses/";
    await using proxy = belowPrefix(demo.url, prefix);
    const address = proxy.url.origin + prefix;
    const page = await browser.open("about:blank");
    const heard = await listenTo(page, address);
    // Callers who are not signed in see the form, without an error.
    for (const path of ["features", "signin"]) {
      await page.goto(`${address}${path}`);
      await page.getByLabel("Key", { exact: true }).waitFor();
    }
    expect(heard).toEqual([]);
    await page.goto(`${address}signin${demo.code}`);
    await isLive(page);
    expect(page.url()).toBe(address);
    await inspect(page, address, "signin");
    // Make the window tall enough to show all rows.
    await page.setViewportSize({ width: 1440, height: 2_000 });
    await page.goto(`${address}features`);
    await isLive(page);
    const { features } = await demo.json<{ features: { name: string }[] }>(
      "/api/licenses/features",
      demo.key,
    );
    const names = features.map(({ name }) => name).sort();
    expect((await namesIn(page)).sort()).toEqual(names);
    expect(heard).toEqual([]);
  });

  test.each<readonly [string, readonly string[]]>(SLOW ? VIEWS : IN_BRIEF)(
    "logs no errors and is accessible: %s",
    async (_, paths) => {
      await using shown = await showDemo();
      const { demo, page } = shown;
      const heard = await listenTo(page, demo.url);
      for (const path of paths) await inspect(page, `${demo.url}/`, path);
      expect(heard).toEqual([]);
    },
  );
});
