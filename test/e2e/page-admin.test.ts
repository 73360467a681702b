import { describe, expect, test } from "bun:test";
import { HAS_BROWSER, startBrowser } from "./browser.ts";
import { until } from "./harness.ts";
import { flexnetSays } from "./lmstat.ts";
import { isLive, isRead, listenTo, signIn, streamsOf, violations, watchInBrowser } from "./page-rig.ts";

const HOSTILE = '<img src=x onerror="document.title=1">';
const CONFIG = `[execute]
enabled = true
[[maintenance]]
servers = ["e*"]
start = "2026-01-01T00:00:00Z"
duration = "1h"
every = "week"`;

describe.skipIf(!HAS_BROWSER)("the page", () => {
  test("lets an administrator create and revoke keys, end sign-ins, run commands and reload the config", async () => {
    await using rig = await watchInBrowser(CONFIG);
    const { site, watching, url } = rig;
    const holders = [{ user: "ada", host: "ws01", handle: 1201 }];
    await watching.poll({ features: { solver: { total: 2, holders } } });
    const page = await rig.open("admin");
    const heard = await listenTo(page, url);
    await isRead(page);
    const dialog = page.getByRole("dialog");
    const told = (words: string) => page.locator(".outcome", { hasText: words }).waitFor();

    await page.getByRole("button", { name: "New key" }).press("Enter");
    await dialog.getByLabel("Name").fill(HOSTILE);
    await dialog.getByLabel("Sees pseudonyms").check();
    expect(await violations(page)).toEqual([]);
    const confirm = (key: string) => dialog.getByLabel("Your own key, to confirm").fill(key);
    await confirm("lmk_nonsense");
    await dialog.getByRole("button", { name: `Create the key ${HOSTILE}` }).click();
    await dialog.getByRole("alert").filter({ hasText: "Unknown API key" }).waitFor();
    await confirm(watching.key);
    await dialog.getByRole("button", { name: `Create the key ${HOSTILE}` }).click();
    const made = (await dialog.locator(".secret").textContent()) ?? "";
    expect(made).toMatch(/^lmk_[a-z0-9]{12}_[\w-]{43}$/);
    expect((await watching.daemon.get("/api/me", made)).status).toBe(200);
    await dialog.getByRole("button", { name: "Close" }).click();
    // A closed dialog has no role any more, but its element is removed a little later.
    await page.locator("dialog").waitFor({ state: "detached" });
    expect(await page.content()).not.toContain(made);
    await using others = await startBrowser({ keepPolicy: true });
    const other = await others.open(`${url}/admin`);
    await signIn(other, made);
    await other.getByText("Running commands needs the role operator").waitFor();
    await isRead(other);
    expect(await other.getByRole("table", { name: "Sign-ins" }).getByRole("row").count()).toBe(2);
    expect(await other.getByRole("button", { name: /Revoke|New key|Reload|Run/ }).count()).toBe(0);
    await other.goto(`${url}/logs`);
    await other.getByText("The log names people").waitFor();
    await page.getByRole("button", { name: `Revoke ${HOSTILE}` }).click();
    await confirm(watching.key);
    await dialog.getByRole("button", { name: `Revoke ${HOSTILE}` }).click();
    await told(`${HOSTILE} is revoked.`);
    await other.getByRole("heading", { name: "Sign in with your key" }).waitFor();
    expect((await watching.daemon.get("/api/me", made)).status).toBe(401);

    const viewer = await site.key("viewer");
    await signIn(other, viewer);
    await isLive(other);
    await page.reload();
    await page.getByRole("button", { name: /^End test-2/ }).click();
    await dialog.getByRole("button", { name: /^End the sign-in of test-2/ }).click();
    await told("The sign-in of test-2");
    await other.getByRole("heading", { name: "Sign in with your key" }).waitFor();

    await page.getByRole("button", { name: "Run … remove" }).click();
    const dry = dialog.getByRole("button", { name: "Show the command" });
    expect(await dry.isDisabled()).toBe(true);
    await dialog.getByLabel("Server").selectOption("eda");
    await dialog.getByLabel("handle").fill("1201");
    await dry.click();
    await dialog.getByText("Nothing has run yet").waitFor();
    expect(await dialog.locator(".output").textContent()).toContain('"1201"');
    expect(await violations(page)).toEqual([]);
    await dialog.getByLabel("handle").fill("9");
    await dry.click();
    await dialog.getByRole("alert").filter({ hasText: /./ }).waitFor();
    await dialog.getByLabel("handle").fill("1201");
    await dialog.getByRole("button", { name: "Run remove on eda" }).click();
    await dialog.getByText("Exited with code 0").waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();

    await page.getByRole("button", { name: "Reload configuration" }).click();
    await told("Configuration reloaded.");
    await site.write('[execute]\nenabled = "perhaps"');
    await page.getByRole("button", { name: "Reload configuration" }).click();
    await told("execute.enabled");
    await page.getByText("was refused; the previous configuration is active.").waitFor();

    await watching.poll(`${flexnetSays({ features: {} })}\n${HOSTILE}\n`);
    await page.goto(`${url}/server?id=eda`);
    await page.getByText("Raw output of the last poll").press("Enter");
    await page.getByRole("cell", { name: HOSTILE }).waitFor();
    await isRead(page);
    expect(await violations(page)).toEqual([]);
    // Expected refusals: the wrong confirmation, the command without a user, and the config.
    expect(heard.filter((each) => !/40[149]/.test(each))).toEqual([]);
  });

  test("follows the log until the reader scrolls up, continues at its end, searches it, and respects roles", async () => {
    await using rig = await watchInBrowser();
    const { site, watching, url } = rig;
    const page = await rig.open("logs");
    const heard = await listenTo(page, url);
    const scrolled = () => page.evaluate<number>("scrollY");
    const write = async (times: number) => {
      for (let time = 0; time < times; time++) await watching.post("/api/reload");
    };
    await write(60);
    const foot = page.locator(".tail-foot");
    await foot.getByText("Newest at the bottom").waitFor();
    await until("it is at its end", async () => ((await scrolled()) > 500 ? true : undefined));
    const isAtEnd = () =>
      page.evaluate<boolean>("innerHeight + scrollY >= document.documentElement.scrollHeight - 2");
    await until("it follows", async () => (await isAtEnd()) || undefined);
    await page.mouse.wheel(0, -400);
    await foot.getByText("Paused").waitFor();
    const where = await scrolled();
    await write(3);
    await foot.getByRole("button", { name: /^Continue: \d+ lines new/ }).waitFor();
    expect(await scrolled()).toBe(where);
    await foot.getByRole("button", { name: /^Continue/ }).click();
    await foot.getByText("Newest at the bottom").waitFor();
    await until("it follows again", async () => (await isAtEnd()) || undefined);
    await page.locator(".lt button.name").last().click();
    await page.getByRole("dialog").getByText("requestId").waitFor();
    await page.keyboard.press("Escape");

    await page.getByLabel("Source").selectOption("audit");
    await page.getByLabel("Search the log").fill("reload");
    await page.getByRole("table", { name: "Found" }).waitFor();
    expect(new URL(page.url()).search).toBe("?source=audit&q=reload");
    await until("the tail's stream has ended", async () => (await streamsOf(watching)) === 1 || undefined);
    expect(await violations(page)).toEqual([]);
    await using others = await startBrowser({ keepPolicy: true });
    const viewer = await others.open(`${url}/logs`);
    await signIn(viewer, await site.key("viewer"));
    await viewer.locator(".tail-foot").waitFor();
    expect(await viewer.getByLabel("Source").textContent()).not.toContain("audit");
    expect(heard).toEqual([]);
  });
});
