import { describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import type { Unit } from "../../src/domain/words.ts";
import { unlessSeats } from "../../src/page/words.ts";
import { HAS_BROWSER, startBrowser } from "./browser.ts";
import { until } from "./harness.ts";
import { flexnetSays } from "./lmstat.ts";
import { isLive, isRead, listenTo, namesIn, signIn, startDemo, violations } from "./page-rig.ts";
import { createWatchedSite, type Watching } from "./watched-site.ts";

const FEATURE = "feature?server=eda&daemon=siliqd&name=Synth-Ultra";
const streamsOf = async (site: Watching) =>
  (await site.ask<{ streams: { sse: number } }>("/api/status")).streams.sse;

describe.skipIf(!HAS_BROWSER)("the page", () => {
  test("filters by its address; keys, Back and links work without a reload", async () => {
    await using demo = await startDemo();
    await using browser = await startBrowser({ keepPolicy: true });
    const page = await browser.open(`${demo.url}/features?server=eda&sort=name`);
    await signIn(page, demo.key);
    await isLive(page);
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
    await using site = await createWatchedSite();
    await using browser = await startBrowser({ keepPolicy: true });
    const hostile = '<img src=x onerror="document.title=1">';
    const seats = (...users: string[]) => ({
      features: {
        solver: { total: 2, holders: users.map((user, at) => ({ user, host: "ws01", handle: at + 1 })) },
      },
    });
    const first = await site.watch();
    await first.poll(seats("ada"));
    const page = await browser.open(`${first.daemon.url}/people`);
    await signIn(page, first.key);
    const users = () => page.locator("#main [role=cell].a-s").allTextContents();
    const untilUsers = (...wanted: string[]) =>
      until(
        `the page shows ${wanted}`,
        async () => Bun.deepEquals((await users()).sort(), wanted.sort()) || undefined,
      );
    await untilUsers("ada");
    await page.evaluate("window.stays = true");
    for (let tabs = 1; tabs < 12; tabs++) await isLive(await browser.open(`${first.daemon.url}/features`));
    expect(await streamsOf(first)).toBe(1);
    await first.poll(seats("ada", hostile.replaceAll(" ", "_")));
    await untilUsers("ada", hostile.replaceAll(" ", "_"));
    const past = await browser.open(`${first.daemon.url}/history`);
    await past.getByRole("cell", { name: hostile.replaceAll(" ", "_"), exact: true }).waitFor();
    expect(await past.title()).toBe("History · licmond");
    await past.close();

    await first.daemon.kill();
    await page.locator(".live", { hasText: "offline" }).waitFor();
    expect(await users()).toHaveLength(2);
    await using second = await site.watch();
    await second.poll(seats("bob"));
    await untilUsers("bob");
    await isLive(page);
    expect([await streamsOf(second), await page.evaluate("window.stays")]).toEqual([1, true]);
  });

  test("prints every row of a list, with address and time at the end of each sheet", async () => {
    await using site = await createWatchedSite();
    await using browser = await startBrowser({ keepPolicy: true });
    await using watching = await site.watch();
    const holders = Array.from({ length: 200 }, (_, at) => ({ user: `u${at}`, host: "ws", handle: at + 1 }));
    await watching.poll({ features: { solver: { total: 200, holders } } });
    const page = await browser.open(`${watching.daemon.url}/people?q=solver`);
    await signIn(page, watching.key);
    await isLive(page);
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
  });

  test("shows public data to everyone, and more after signing in", async () => {
    await using site = await createWatchedSite('[page]\npublic = "counts"');
    await using watching = await site.watch();
    const { url } = watching.daemon;
    await using browser = await startBrowser({ keepPolicy: true });
    const page = await browser.open("about:blank");
    const heard = await listenTo(page, url);
    const seats = (...users: string[]) => ({
      features: {
        solver: { total: 2, holders: users.map((user, at) => ({ user, host: "h", handle: at + 1 })) },
      },
    });
    await watching.poll(seats("ada"));
    await page.goto(`${url}/features`);
    const untilFree = (free: string) =>
      until(`${free} free`, async () => {
        const row = await page.locator('[role="row"]', { has: page.getByText("solver") }).textContent();
        return row?.includes(free) || undefined;
      });
    await untilFree("1/2");
    await watching.poll(seats("ada", "bob"));
    await untilFree("2/2");
    expect(await page.content()).not.toMatch(/ada|bob|user-[0-9a-f]{16}/);
    await page.getByRole("link", { name: "Sign in" }).click();
    await signIn(page, await site.key("viewer"));
    await isLive(page);
    await page.goto(`${url}/people`);
    await page.getByText("bob", { exact: true }).waitFor();
    await watching.poll(seats("ada", "eve"));
    await page.getByText("eve", { exact: true }).waitFor();
    expect([heard, await streamsOf(watching)]).toEqual([[], 1]);
  });

  test("shows the overall state, follows polls without a reload, and acts on alerts as the role allows", async () => {
    await using site = await createWatchedSite();
    await using browser = await startBrowser({ keepPolicy: true });
    const expired = { total: 2, used: 2, expires: "2020-01-01" };
    const all = {
      members: ["up", "up", "up"],
      features: { "<b>a": expired, solver: { total: 3, used: 1 } },
    } as const;
    await using watching = await site.watch();
    const { daemon } = watching;
    await watching.poll(all);
    const page = await browser.open(daemon.url);
    await signIn(page, await site.key("operator"));
    const heard = await listenTo(page, daemon.url);
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
    const viewer = await others.open(`${daemon.url}/alerts`);
    await signIn(viewer, await site.key("viewer"));
    await viewer.getByText("need the role operator").waitFor();
    await viewer.locator(".al li").waitFor();
    expect(await viewer.locator("#main button", { hasText: /Acknowledge|Silence/ }).count()).toBe(0);
    // A page that lost its connection keeps its content.
    await daemon.kill();
    await viewer.locator(".live", { hasText: "offline" }).waitFor();
    expect(await viewer.locator(".al li").count()).toBe(1);
  });

  test("asks for a key without a sign-in, and again in every tab when it has ended", async () => {
    await using site = await createWatchedSite();
    await using browser = await startBrowser({ keepPolicy: true });
    await using watching = await site.watch();
    const address = `${watching.daemon.url}/features?sort=name`;
    const page = await browser.open(address);
    const asks = (tab: Page) => tab.getByRole("heading", { name: "Sign in with your key" }).waitFor();
    await asks(page);
    await signIn(page, "lmk_aaaaaaaaaaaa_wrong");
    await page.getByRole("alert").filter({ hasText: /./ }).waitFor();
    await signIn(page, await site.key("viewer"));
    await isLive(page);
    expect(page.url()).toBe(address);
    await page.locator(".me", { hasText: "test-2 viewer" }).waitFor();

    const other = await browser.open(`${watching.daemon.url}/people`);
    await isLive(other);
    await page.getByRole("button", { name: "Sign out" }).click();
    await Promise.all([asks(page), asks(other)]);
    // All tabs continue where they were when one of them signs in.
    const operator = await site.key("operator");
    await signIn(other, operator);
    await Promise.all([isLive(other), page.goBack().then(() => isLive(page))]);

    const [, id = ""] = operator.split("_");
    expect((await site.run(["keys", "revoke", id])).exitCode).toBe(0);
    const revokedAt = performance.now();
    await Promise.all([asks(page), asks(other)]);
    expect(performance.now() - revokedAt).toBeLessThan(5_000);
  });

  test("shows the past: the API's figures, a chart with keys and zoom, each call, and why data is missing", async () => {
    await using demo = await startDemo();
    await using browser = await startBrowser({ keepPolicy: true });
    const page = await browser.open(`${demo.url}/signin${demo.code}`);
    await isLive(page);
    const heard = await listenTo(page, demo.url);
    const show = async (path: string) => {
      await page.goto(`${demo.url}/${path}`);
      await isLive(page);
      await isRead(page);
    };
    const ask = <T>(path: string) => demo.json<T>(`/api/licenses/${path}`, demo.key);
    const cells = (label: string) =>
      page
        .getByRole("table", { name: label, exact: true })
        .evaluate((table) =>
          [...(table as unknown as { rows: Iterable<{ cells: Iterable<{ textContent: string }> }> }).rows]
            .slice(1)
            .map((row) => [...row.cells].map(({ textContent }) => textContent)),
        );
    const numbers = (...values: (number | null)[]) =>
      values.map((value) => (value === null ? "–not known" : value.toLocaleString("en-GB")));
    const [start, end] = [20 * 60, 2].map((minutes) => new Date(Date.now() - minutes * 60_000).toISOString());
    const range = `${start}/${end}`;
    const asked = `start=${start}&end=${end}`;

    type Stats = {
      server: string;
      daemon: string;
      feature: string;
      total: number;
      peakUsed: number;
      p95Used: number;
      denials: number | null;
      unit: Unit;
    };
    const { features } = await ask<{ features: Stats[] }>(
      `stats?${asked}&series=false&sort=-averageUtilization`,
    );
    await show(`history?report=efficiency&range=${range}`);
    await page.getByRole("button", { name: /^Show/ }).first().click();
    const shown = await cells("Use of seats");
    expect(shown.map(([name, total, peak, p95]) => [name, total, peak, p95])).toEqual(
      features.map((row) => [
        `${row.feature}${unlessSeats(row.unit)} ${row.server} ${row.daemon}`,
        ...numbers(row.total, row.peakUsed, row.p95Used),
      ]),
    );
    expect(shown.map((row) => row[7])).toEqual(features.flatMap(({ denials }) => numbers(denials)));

    await show(`history?range=${range}`);
    const { total } = await ask<{ total: number }>(`usage?${asked}&group_by=user&limit=1`);
    await page.getByRole("button", { name: /^Show/ }).click();
    expect(await cells("By user")).toHaveLength(total);
    const csv = new URL(
      (await page.getByText("CSV", { exact: true }).getAttribute("href")) ?? "",
      `${demo.url}/`,
    );
    const lines = (await (await demo.get(csv.pathname + csv.search, demo.key)).text()).trim().split("\r\n");
    expect(lines).toHaveLength(1 + total);

    await show(`denials?range=${range}`);
    const denied = new Map((await cells("By feature")).map(([name, , count]) => [name, count]));
    for (const { server, daemon, feature, denials } of features)
      if (denials !== null && denials > 0)
        expect([feature, denied.get(`${feature} ${server} ${daemon}`)]).toEqual([
          feature,
          denials.toLocaleString("en-GB"),
        ]);
    await page.getByText("Denials are not known: remote.").waitFor();
    await page.getByText("Neither log_file nor log_command is set").waitFor();

    type Available = { server: string; availability: number | null; coverage: number };
    const { servers } = await ask<{ servers: Available[] }>(`outages?${asked}&limit=1`);
    await show(`outages?range=${range}`);
    expect((await cells("Available")).map(([name, , availability]) => [name, availability])).toEqual(
      servers.map(({ server, availability }) => [
        server,
        availability === null ? "–not known" : `${availability} %`,
      ]),
    );

    await show(FEATURE);
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
    expect((await cells("Seats in use")).length).toBeGreaterThan(250);
    // Plain HTTP of another host has no clipboard, so the text is shown.
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
