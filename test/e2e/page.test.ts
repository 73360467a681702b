import { describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { HAS_BROWSER, startBrowser } from "./browser.ts";
import { until } from "./harness.ts";
import { flexnetSays } from "./lmstat.ts";
import {
  heldBy,
  isLive,
  isRead,
  listenTo,
  namesIn,
  show,
  showDemo,
  signIn,
  streamsOf,
  untilUsers,
  violations,
  watchInBrowser,
} from "./page-rig.ts";

const FEATURE = "feature?server=eda&daemon=siliqd&name=Synth-Ultra";
describe.skipIf(!HAS_BROWSER)("the page", () => {
  test("filters by its address; keys, Back and links work without a reload", async () => {
    await using shown = await showDemo();
    const { demo, page } = shown;
    await show(page, `${demo.url}/features?server=eda&sort=name`);
    const all = await namesIn(page);
    await page.evaluate("window.stays = true");
    await page.keyboard.press("/");
    await page.keyboard.type("synth");
    await until("one is left", async () => (await namesIn(page)).length < all.length || undefined);
    await page.waitForURL("**/features?server=eda&sort=name&q=synth");
    const [first = ""] = await namesIn(page);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: first, level: 1 }).waitFor();
    expect(await page.title()).toBe(`${first} · licmond`);
    await page.goBack();
    expect(await page.locator("#search").inputValue()).toBe("synth");
    await page.keyboard.press("Escape");
    await page.keyboard.press("g");
    await page.keyboard.press("p");
    await page.getByRole("heading", { name: "People", level: 1 }).waitFor({ state: "attached" });
    await page.evaluate("scrollTo(0, 900)");
    await until(
      "rows of there",
      async () => (await page.locator('[aria-rowindex="40"]').count()) > 0 || undefined,
    );
    await page.locator('[aria-rowindex="40"] a.name').click();
    await page.getByRole("heading", { level: 1 }).waitFor();
    expect(await page.evaluate("scrollY")).toBe(0);
    await page.goBack();
    await until("it is scrolled", async () => (await page.evaluate("scrollY")) === 900 || undefined);
    expect(await page.evaluate("window.stays")).toBe(true);
  });

  test("follows polls, reports a lost connection, and recovers after a restart; tabs share a stream", async () => {
    await using rig = await watchInBrowser();
    const { site, browser, watching: first, url } = rig;
    const hostile = '<img_src=x_onerror="document.title=1">';
    await first.poll(heldBy("ada"));
    const page = await rig.open("people");
    await untilUsers(page, "ada");
    await page.evaluate("window.stays = true");
    for (let tabs = 1; tabs < 12; tabs++) await isLive(await browser.open(`${url}/features`));
    expect(await streamsOf(first)).toBe(1);
    await first.poll(heldBy("ada", hostile));
    await untilUsers(page, "ada", hostile);
    const past = await browser.open(`${url}/history`);
    await past.getByRole("cell", { name: hostile, exact: true }).waitFor();
    expect(await past.title()).toBe("History · licmond");
    await past.close();

    await first.daemon.kill();
    await page.locator(".live", { hasText: "offline" }).waitFor();
    await untilUsers(page, "ada", hostile);
    await using second = await site.watch();
    await second.poll(heldBy("bob"));
    await untilUsers(page, "bob");
    await isLive(page);
    expect([await streamsOf(second), await page.evaluate("window.stays")]).toEqual([1, true]);
  });

  test("prints every row of a list, with address and time at the end of each sheet", async () => {
    await using rig = await watchInBrowser();
    await rig.watching.poll(heldBy(...Array.from({ length: 200 }, (_, at) => `u${at}`)));
    const page = await rig.open("people?q=solver");
    const rows = "document.querySelectorAll('[role=rowgroup] [role=row]').length";
    expect(await page.evaluate(rows)).toBeLessThan(200);
    const foot = `document.querySelector(".on-paper").innerText`;
    await page.evaluate(`addEventListener("beforeprint", () => { window.printed = [${rows}, ${foot}]; })`);
    await page.pdf();
    expect(await page.evaluate("window.printed")).toEqual([
      200,
      expect.stringMatching(/^as of .* · q: solver · printed .* · http:.*\/people\?q=solver$/),
    ]);
    await until("the window's rows", async () => (await page.evaluate<number>(rows)) < 200 || undefined);

    await page.evaluate("localStorage.setItem('licmond-theme', 'dark')");
    await show(page, `${rig.url}/history?report=efficiency&server=eda`);
    await page.emulateMedia({ media: "print" });
    expect(await page.locator(".on-paper").textContent()).toMatch(
      / to now · report: efficiency · server: eda · printed .* · http:\/\/.*server=eda$/,
    );
    const colours =
      "(({ color, backgroundColor }) => [color, backgroundColor])(getComputedStyle(document.documentElement))";
    expect(await page.evaluate(colours)).toEqual(["rgb(0, 0, 0)", "rgb(255, 255, 255)"]);
  });

  test("shows public data to everyone, and more after signing in", async () => {
    await using rig = await watchInBrowser('[page]\npublic = "counts"');
    const { site, browser, watching, url } = rig;
    const page = await browser.open("about:blank");
    const heard = await listenTo(page, url);
    await watching.poll(heldBy("ada"));
    await page.goto(`${url}/features`);
    const untilFree = (free: string) =>
      until(`${free} free`, async () => {
        const row = await page.locator('[role="row"]', { has: page.getByText("solver") }).textContent();
        return row?.includes(free) || undefined;
      });
    await untilFree("1/2");
    await watching.poll(heldBy("ada", "bob"));
    await untilFree("2/2");
    expect(await page.content()).not.toMatch(/ada|bob|user-[0-9a-f]{16}/);
    await page.getByRole("link", { name: "Sign in" }).click();
    await signIn(page, await site.key("viewer"));
    await isLive(page);
    await page.goto(`${url}/people`);
    await page.getByText("bob", { exact: true }).waitFor();
    await watching.poll(heldBy("ada", "eve"));
    await page.getByText("eve", { exact: true }).waitFor();
    expect([heard, await streamsOf(watching)]).toEqual([[], 1]);
  });

  test("shows the overall state, follows polls without a reload, and acts on alerts as the role allows", async () => {
    await using rig = await watchInBrowser();
    const { site, watching, url } = rig;
    const expired = { total: 2, used: 2, expires: "2020-01-01" };
    const all = {
      members: ["up", "up", "up"],
      features: { "<b>a": expired, solver: { total: 3, used: 1 } },
    } as const;
    await watching.poll(all);
    const page = await rig.open("", await site.key("operator"));
    const heard = await listenTo(page, url);
    const untilSays = (words: string) =>
      page.getByRole("heading", { level: 1, name: words, exact: true }).waitFor();
    await untilSays("eda is fine, 1 alert needs attention.");
    await page.evaluate("window.stays = true");
    expect(await page.locator("h1").getAttribute("class")).toBe("line st-crit");
    // Denials are loaded after the picture.
    await page.locator(".figs dd", { hasText: "not known" }).waitFor();
    expect(await page.locator(".figs dd").allTextContents()).toEqual(["3 of 5", "2", "0", "–not known"]);
    expect(await page.locator(".only a.name").allTextContents()).toEqual(["<b>a", "solver"]);

    await page.getByRole("button", { name: "Ack <b>a expired" }).press("Enter");
    const dialog = page.getByRole("dialog");
    expect(await violations(page)).toEqual([]);
    await dialog.getByLabel("Comment").fill("ordered");
    await dialog.getByRole("button", { name: "Acknowledge <b>a (eda)" }).click();
    await page.getByRole("status").filter({ hasText: "Acknowledged: <b>a (eda)." }).waitFor();
    await untilSays("eda is fine, and nothing needs attention.");
    const alertOf = async () => (await watching.ask<{ alerts: object[] }>("/api/licenses/alerts")).alerts[0];
    expect(await alertOf()).toMatchObject({ acknowledgedBy: "test-2", comment: "ordered" });

    await watching.poll({ ...all, members: ["up", "down", "up"] });
    await untilSays("eda runs on 2 of 3 members.");
    expect(await page.locator("h1").getAttribute("class")).toBe("line st-warn");
    await watching.poll("Error getting status: Cannot connect to license server system. (-15,570:115)");
    await untilSays("eda does not answer.");
    expect(await page.locator("h1").getAttribute("class")).toBe("line st-crit");
    await page.locator(".need a", { hasText: "eda" }).click();
    await page.locator(".says .tool-says", { hasText: "LICENSE_SERVER_UNREACHABLE" }).waitFor();
    await page.locator(".stale-row", { hasText: "solver" }).waitFor();
    await site.lmutil.says(flexnetSays(all));
    await page.getByRole("button", { name: "Poll eda now" }).click();
    await page.getByRole("status").filter({ hasText: "eda was polled in" }).waitFor();
    await page.locator(".says", { hasText: "Fine, master 127.0.0.1." }).waitFor();

    await page.getByRole("link", { name: "Alerts 1 firing" }).click();
    await page.getByRole("button", { name: "Silence <b>a (eda)" }).click();
    await dialog.getByLabel("Until").selectOption("1 week");
    await dialog.getByRole("button", { name: /^Silence <b>a \(eda\) until / }).click();
    await page.locator(".al", { hasText: "silenced until" }).waitFor();
    expect(await alertOf()).toMatchObject({ silencedUntil: expect.any(String), comment: "ordered" });
    await watching.poll({ ...all, features: { "<b>a": { total: 2 } } });
    await page.getByText("No firing alerts.").waitFor();
    await page.getByRole("button", { name: "Resolved" }).click();
    await page.locator(".al", { hasText: "The license of <b>a expired" }).waitFor();
    expect(await page.evaluate("window.stays")).toBe(true);
    expect(heard).toEqual([]);

    await watching.poll(all);
    await using others = await startBrowser({ keepPolicy: true });
    const viewer = await others.open(`${url}/alerts`);
    await signIn(viewer, await site.key("viewer"));
    await viewer.getByText("need the role operator").waitFor();
    await viewer.locator(".al li").waitFor();
    expect(await viewer.locator("#main button", { hasText: /Acknowledge|Silence/ }).count()).toBe(0);
    // A page that lost its connection keeps its content.
    await watching.daemon.kill();
    await viewer.locator(".live", { hasText: "offline" }).waitFor();
    expect(await viewer.locator(".al li").count()).toBe(1);
  });

  test("asks for a key without a sign-in, and again in every tab when it has ended", async () => {
    await using rig = await watchInBrowser();
    const { site, browser, url } = rig;
    const address = `${url}/features?sort=name`;
    const page = await browser.open(address);
    const asks = (tab: Page) => tab.getByRole("heading", { name: "Sign in with your key" }).waitFor();
    await asks(page);
    await signIn(page, "lmk_aaaaaaaaaaaa_wrong");
    await page.getByRole("alert").filter({ hasText: /./ }).waitFor();
    await signIn(page, await site.key("viewer"));
    await isLive(page);
    expect(page.url()).toBe(address);
    await page.locator(".me", { hasText: "test-2 viewer" }).waitFor();

    const other = await browser.open(`${url}/people`);
    await isLive(other);
    await page.getByRole("button", { name: "Sign out" }).click();
    await Promise.all([asks(page), asks(other)]);
    // When one tab signs in, all tabs continue where they were.
    const operator = await site.key("operator");
    await signIn(other, operator);
    await Promise.all([isLive(other), page.goBack().then(() => isLive(page))]);

    const [, id = ""] = operator.split("_");
    expect((await site.run(["keys", "revoke", id])).exitCode).toBe(0);
    const revokedAt = performance.now();
    await Promise.all([asks(page), asks(other)]);
    expect(performance.now() - revokedAt).toBeLessThan(5_000);
  });

  test("shows the past: rows and their CSV, a chart with keys and zoom, each call, and why data is missing", async () => {
    await using shown = await showDemo();
    const { demo, page } = shown;
    const heard = await listenTo(page, demo.url);
    const [start, end] = [20 * 60, 2].map((minutes) => new Date(Date.now() - minutes * 60_000).toISOString());
    const range = `${start}/${end}`;
    const rowsOf = (label: string) =>
      page.getByRole("table", { name: label, exact: true }).locator("tbody tr").count();

    await show(page, `${demo.url}/history?range=${range}`);
    const { total } = await demo.json<{ total: number }>(
      `/api/licenses/usage?start=${start}&end=${end}&group_by=user&limit=1`,
      demo.key,
    );
    await page.getByRole("button", { name: /^Show/ }).click();
    expect(await rowsOf("By user")).toBe(total);
    const csv = new URL(
      (await page.getByText("CSV", { exact: true }).getAttribute("href")) ?? "",
      `${demo.url}/`,
    );
    const lines = (await (await demo.get(csv.pathname + csv.search, demo.key)).text()).trim().split("\r\n");
    expect(lines).toHaveLength(1 + total);
    await show(page, `${demo.url}/denials?range=${range}`);
    await page.getByText("Denials are not known: remote.").waitFor();
    await page.getByText("Neither log_file nor log_command is set").waitFor();

    await show(page, `${demo.url}/${FEATURE}`);
    const chart = page.getByRole("img", { name: /^Seats in use, .* peak \d+ of 16 at / });
    await chart.focus();
    await page.keyboard.press("End");
    await page.keyboard.press("ArrowLeft");
    await page.locator(".read", { hasText: /\b\d\d:\d\d: \d+ of 16/ }).waitFor();
    const over = await chart.locator(".u-over").boundingBox();
    if (over === null) throw new Error("the chart is not drawn");
    await page.mouse.move(over.x + over.width / 2, over.y + 20);
    await page.mouse.down();
    await page.mouse.move(over.x + over.width - 10, over.y + 30, { steps: 4 });
    await page.mouse.up();
    await until(
      "the range is zoomed",
      () => new URL(page.url()).searchParams.get("range")?.includes("/") || undefined,
    );
    await page.keyboard.press("]");
    expect(new URL(page.url()).searchParams.get("range")).toBe("24h");
    await isRead(page);
    await page.getByText("As table").click();
    await page.getByRole("button", { name: /^Show/ }).first().click();
    expect(await rowsOf("Seats in use")).toBeGreaterThan(250);
    // Over plain HTTP, a page of another host cannot use the clipboard, so it shows the text.
    await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
    await page.getByRole("button", { name: "Copy as curl" }).first().click();
    const curl = await page.getByLabel("Copy as curl").first().inputValue();
    const said = await Bun.$`sh -c ${`${curl} -sf`}`
      .env({ ...process.env, LICMOND_API_KEY: demo.key })
      .json();
    expect(said.features[0].feature).toBe("Synth-Ultra");
    expect(curl).not.toContain("lmk_");
    await page.getByRole("button", { name: "Seats needed", pressed: true }).focus();
    for (const tab of ["Sessions", "Denials", "Pools and expiry"]) {
      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: tab, pressed: true }).waitFor();
      await isRead(page);
    }
    expect(heard).toEqual([]);
  });
});
