import { describe, expect, test } from "bun:test";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { HAS_BROWSER, startBrowser } from "./browser.ts";
import { until, untilPrinted } from "./harness.ts";
import { createSite } from "./site.ts";

const DEBUG = '[log]\nlevel = "debug"\n';
const JSON_BODY = { "content-type": "application/json" };

/** Forms that another page can send. */
const FORMS = [
  ["/api/signout", "text/plain"],
  ["/api/signout", "multipart/form-data"],
  ["/api/licenses/rescan", "application/x-www-form-urlencoded"],
  ["/api/reload", "text/plain"],
  ["/api/keys", "text/plain"],
] as const;

/** Sends a request by a script in a page. Returns the status or the error. */
const ask = (page: Page, url: string, init: RequestInit = {}): Promise<string> =>
  page.evaluate(`fetch(${JSON.stringify(url)}, ${JSON.stringify(init)}).then(
    (answer) => answer.type + " " + answer.status, (error) => error.name)`);

const signInAs = (page: Page, url: string, body: object) =>
  ask(page, url, {
    method: "POST",
    headers: { ...JSON_BODY, "X-Licmond": "page" },
    body: JSON.stringify(body),
    credentials: "include",
  });

/** Opens an EventSource or a WebSocket. Returns `open` or `error`. */
const connect = (page: Page, made: string): Promise<string> =>
  page.evaluate(`new Promise((tell) => { const one = ${made};
    for (const name of ["open", "error"]) one["on" + name] = () => { tell(name); one.close(); }; })`);

/** Embeds pictures, scripts, styles, frames and beacons, which need no permission to read an answer. */
const embed = (page: Page, urls: Readonly<Record<string, string>>, beacon: string) =>
  page.evaluate(`Promise.all(Object.entries(${JSON.stringify(urls)}).map(([tag, url]) => new Promise((end) => {
    const one = document.createElement(tag);
    one.onload = one.onerror = end;
    one.rel = "stylesheet";
    one[tag === "link" ? "href" : "src"] = url;
    document.body.append(one);
  }))).then(() => navigator.sendBeacon(${JSON.stringify(beacon)}, "{}"))`);

/** Submits a form as a button would. Returns the page that the browser then shows. */
async function submit(page: Page, action: string, enctype: string, name = "x", value = "y") {
  await page.evaluate(
    `{ const form = document.createElement("form"); form.method = "post"; form.action = ${JSON.stringify(action)};
       form.enctype = "${enctype}"; const field = document.createElement("input");
       field.name = ${JSON.stringify(name)}; field.value = ${JSON.stringify(value)};
       form.append(field); document.body.append(form); form.submit(); }`,
  );
  await page.waitForURL(action);
  return page.evaluate<string>("document.body.innerText");
}

describe.skipIf(!HAS_BROWSER)("in Chromium", () => {
  test("only the daemon's own page acts for a signed-in browser", async () => {
    await using site = await createSite(DEBUG);
    await using daemon = await site.serve();
    await using browser = await startBrowser();
    // License hosts may run other web servers.
    const others = Bun.serve({
      port: 0,
      fetch: () => new Response("<!doctype html><body>", { headers: { "content-type": "text/html" } }),
    });
    const key = await site.key("admin");
    const at = (path: string) => daemon.url + path;
    const me = at("/api/me");

    const own = await browser.open(at("/swagger"));
    expect(await signInAs(own, at("/api/signin"), { key })).toBe("basic 204");
    expect(await own.evaluate<string>("document.cookie")).toBe("");
    const [cookie] = await own.context().cookies(daemon.url);
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict", path: "/", expires: -1 });
    expect(await ask(own, me)).toBe("basic 200");
    const change = { method: "POST", headers: { "X-Licmond": "page" } };
    expect(await ask(own, at("/api/licenses/rescan"), change)).toBe("basic 200");
    expect(await ask(own, at("/api/licenses/rescan"), { method: "POST" })).toBe("basic 403");
    const socket = `new WebSocket("${at("/ws/metrics").replace("http", "ws")}")`;
    const source = `new EventSource("${at("/stream/metrics")}", { withCredentials: true })`;
    expect([await connect(own, socket), await connect(own, source)]).toEqual(["open", "open"]);

    const holds = async () =>
      (await daemon.json<{ signins: unknown[] }>("/api/signins", key)).signins.length === 1;
    for (const [host, seen] of [
      ["127.0.0.1", "X-Licmond: page"],
      ["localhost", "An API key is required"],
    ] as const) {
      const elsewhere = `http://${host}:${others.port}/`;
      const foreign = await browser.open(elsewhere);
      const include = { credentials: "include" } as const;
      const asked = [
        await ask(foreign, me, include),
        await ask(foreign, at("/api/signout"), { ...include, method: "POST", mode: "no-cors" }),
        await ask(foreign, at("/api/signout"), { ...include, ...change }),
        await ask(foreign, at("/api/licenses?refresh=true"), { ...include, mode: "no-cors" }),
        await signInAs(foreign, at("/api/signin"), { key }),
        await connect(foreign, socket),
        await connect(foreign, source),
      ];
      const refused = ["TypeError", "opaque 0", "TypeError", "opaque 0", "TypeError", "error", "error"];
      expect([host, ...asked]).toEqual([host, ...refused]);
      // The browser sends the cookie with a form on another port of this host, but not with a form on
      // another site.
      for (const [path, enctype] of FORMS) {
        await foreign.goto(elsewhere);
        const shown = await submit(foreign, at(path), enctype);
        expect([path, enctype, shown]).toEqual([path, enctype, expect.stringContaining(seen)]);
      }
      const refreshed = await foreign.goto(at("/api/licenses?refresh=true"), { referer: elsewhere });
      expect(refreshed?.status()).toBeGreaterThanOrEqual(401);
      await foreign.goto(elsewhere);
      const refresh = at("/api/licenses?refresh=true");
      const places = { img: refresh, script: me, link: at("/api/picture"), iframe: at("/features") };
      await embed(foreign, places, at("/api/signout"));
      expect(foreign.frames().map((frame) => frame.url())).not.toContain(at("/features"));
      await foreign.goto(elsewhere);
      const body = [`{"key":"${key}","x":"`, '"}'] as const;
      const signedIn = await submit(foreign, at("/api/signin"), "text/plain", ...body);
      expect(signedIn).toMatch(/INVALID_JSON|AUTH_INSUFFICIENT/);
      expect(await holds()).toBe(true);
      await foreign.close();
    }
    expect(await ask(own, me)).toBe("basic 200");
    expect(await own.context().cookies(daemon.url)).toMatchObject([{ value: cookie?.value ?? "" }]);
    expect(daemon.output()).not.toMatch(/path=\/api\/licenses status=200/);
    expect(daemon.output().match(/path=\/api\/licenses\/rescan status=200/g)).toHaveLength(1);
    expect(await ask(own, at("/api/signout"), change)).toBe("basic 204");
    expect([await ask(own, me), await holds()]).toEqual(["basic 401", false]);
    await others.stop(true);
  });
});

test("a link signs in once, survives a restart, and ends with its key and streams; no log has the cookie", async () => {
  await using site = await createSite(DEBUG);
  const RUNTIME_DIRECTORY = join(site.folder, "run");
  await mkdir(RUNTIME_DIRECTORY);
  const env = { RUNTIME_DIRECTORY };
  const daemon = await site.serve({ env });
  const key = await site.key("operator");
  const viewed = await site.run(["open", "--url", daemon.url], { env: { LICMOND_API_KEY: key } });
  expect(viewed.stdout).toMatch(new RegExp(`^${daemon.url}/signin#code=[\\w-]{43}\n$`));
  const ended = await site.run(["open", "--role", "viewer", "--for", "8h"], { env });
  expect(ended.stderr).toBe("");
  expect(ended.stdout).toMatch(/^http:\/\/\S+\/signin#code=\S+\n$/);

  const exchange = async (link: string) => {
    const body = JSON.stringify({ code: link.trim().split("#code=")[1] });
    const headers = { ...JSON_BODY, "X-Licmond": "page" };
    return daemon.get("/api/signin", undefined, { method: "POST", headers, body });
  };
  const cookieOf = (answer: Response) => ({ cookie: answer.headers.get("set-cookie")?.split(";")[0] ?? "" });
  const [first, second] = [await exchange(viewed.stdout), await exchange(ended.stdout)];
  expect([first.status, second.status, (await exchange(viewed.stdout)).status]).toEqual([204, 204, 401]);
  const [operator, viewer] = [cookieOf(first), cookieOf(second)];
  await daemon.get("/api/licenses?limit=x", undefined, { headers: operator });
  await daemon.stop();

  await using again = await site.serve({ env });
  const me = (headers: { cookie: string }) => again.json("/api/me", undefined, { headers });
  expect(await me(operator)).toMatchObject({ role: "operator", name: "test-1" });
  expect(await me(viewer)).toMatchObject({ role: "viewer", keyId: null, name: "socket (admin)" });
  const stream = await again.get("/stream/metrics", undefined, { headers: operator });
  const [keyId = ""] = key.slice(4).split("_");
  expect((await site.run(["keys", "revoke", keyId])).exitCode).toBe(0);
  const since = performance.now();
  expect(await stream.text()).toEndWith("the API key or the sign-in has ended\n\n");
  expect(performance.now() - since).toBeLessThan(10_000);
  expect(await me(operator)).toMatchObject({ code: "AUTH_REVOKED" });
  await untilPrinted(again, "path=/api/me");
  for (const printed of [daemon.output(), again.output()])
    for (const { cookie } of [operator, viewer])
      expect(printed).not.toContain(cookie.split(".")[1] ?? "no cookie");
  await until("the trail has the revocation", () => again.output().includes("API key revoked") || undefined);
});
