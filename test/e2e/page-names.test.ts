/** Callers without permission to see people find no names in answers, events and pages. */
import { describe, expect, test } from "bun:test";
import { PAGE_PATHS } from "../../src/domain/words.ts";
import { gather } from "../until.ts";
import { HAS_BROWSER } from "./browser.ts";
import { SLOW } from "./harness.ts";
import { isLive, leads, listenTo, signIn, watchInBrowser } from "./page-rig.ts";

const HOLDERS = [{ user: "lovelace", host: "ws-lovelace" }];
const HELD = { solver: { total: 40, holders: HOLDERS, queued: 1, user: "turing" }, mesh: { total: 2 } };
/** Names to search for. Names of queued hosts, such as `ws500`, are not unique enough. */
const NAMES = /lovelace|turing/i;
const FEATURE = "feature?server=eda&daemon=acmed&name=solver";
const VIEWS: Readonly<Record<string, string[]>> = {
  feature: [FEATURE, ...["sessions", "denials", "pools", "expiry"].map((tab) => `${FEATURE}&tab=${tab}`)],
  person: ["person?host=ws1", "person?user=x"],
  server: ["server?id=eda"],
  people: ["people", "people?group=user"],
  history: ["history", "history?group_by=host", "history?report=efficiency"],
  logs: ["logs", "logs?q=a"],
};

/** Records all data between a browser and a daemon, including streams. */
function keepsWords(daemon: string) {
  const answers: { readonly path: string; text(): string }[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    async fetch({ url, method, headers, body, signal }) {
      const path = url.slice(new URL(url).origin.length);
      headers.set("accept-encoding", "identity");
      const answer = await fetch(daemon + path, { method, headers, body, signal });
      if (answer.body === null) return answer;
      const [shown, kept] = answer.body.tee();
      const { text, done } = gather(kept);
      // If the browser closes a stream, reading it ends with an error.
      done.catch(() => {});
      answers.push({ path, text });
      return new Response(shown, { status: answer.status, headers: answer.headers });
    },
  });
  return { origin: server.url.origin, answers, [Symbol.asyncDispose]: () => server.stop(true) };
}

describe.skipIf(!SLOW || !HAS_BROWSER)("the page", () => {
  test.each(["counts", "pseudonyms", "an anonymized key"])("shows no name: %s", async (shows) => {
    const isPublic = !shows.includes("key");
    await using rig = await watchInBrowser(isPublic ? `[page]\npublic = "${shows}"` : "");
    const { site, watching, browser } = rig;
    await watching.poll({ features: { ...HELD, solver: { total: 40 } } });
    await using proxy = keepsWords(watching.daemon.url);
    const page = await browser.blank();
    await page.goto(proxy.origin);
    if (!isPublic) await signIn(page, await site.key("viewer", "--anonymize"));
    await isLive(page);
    const heard = await listenTo(page, proxy.origin);
    // The page gets these names from the stream before any picture contains them.
    await watching.poll({ features: HELD });
    const lead = leads(page);
    for (const path of ["", ...PAGE_PATHS.filter((path) => path !== "signin")])
      for (const view of VIEWS[path] ?? [path]) {
        await lead(`${proxy.origin}/${view}`);
        const content = await page.content();
        expect([view, NAMES.test(content)]).toEqual([view, false]);
        if (shows === "counts")
          expect([view, /user-[0-9a-f]{8}|host-[0-9a-f]{8}/.test(content)]).toEqual([view, false]);
        // The log page is hidden.
        if (view.startsWith("logs")) continue;
        const isOfPeople = /^(people|person|denials|feature\?|$)/.test(view);
        const says = (await page.locator("#main").textContent())?.includes("People are not shown here.");
        expect([view, says]).toEqual([view, shows === "counts" && isOfPeople]);
      }
    await lead(`${proxy.origin}/${FEATURE}`);
    expect(await page.getByRole("button", { name: "Copy badge link" }).count()).toBe(isPublic ? 1 : 0);
    await watching.poll({ features: { ...HELD, mesh: { total: 2, used: 1, user: "turing" } } });
    const streams = proxy.answers.filter(({ path }) => path.startsWith("/stream/"));
    expect(streams.some(({ text }) => text().includes("event: picture"))).toBe(true);
    const asked = proxy.answers.filter(({ path }) => /^\/(api|stream)\//.test(path));
    expect(asked.length).toBeGreaterThan(40);
    for (const { path, text } of asked) expect([path, NAMES.test(text())]).toEqual([path, false]);
    const pseudonyms = asked.filter(({ text }) => /user-[0-9a-f]{8}/.test(text()));
    expect(pseudonyms.length > 0).toBe(shows !== "counts");
    const places = await page.getByRole("navigation").first().getByRole("link").allTextContents();
    expect(places.some((word) => /People|Denials/.test(word))).toBe(shows !== "counts");
    expect(heard.filter((each) => !each.includes("403"))).toEqual([]);
  });
});
