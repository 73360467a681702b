import { expect, test } from "bun:test";
import { until } from "../until.ts";
import { describeHub } from "./describe-hub.ts";
import type { TestHub } from "./rig.ts";

const PAGE = { "x-licmond": "page" };

describeHub("browsers at two hubs", { hubs: 2 }, (at) => {
  const { hubs, keys, postgres } = at;
  const post = (hub: TestHub, path: string, body: object, headers: Record<string, string> = {}, key = "") =>
    hub.post(path, body, key, { ...PAGE, ...headers });
  const cookieIn = (answer: Response) => answer.headers.get("set-cookie")?.split(";")[0] ?? "";

  async function signIn(hub: TestHub, body: object, headers: Record<string, string> = {}): Promise<string> {
    const answer = await post(hub, "/api/signin", body, headers);
    if (answer.status !== 204) throw new Error(`${answer.status} ${await answer.text()}`);
    return cookieIn(answer);
  }
  const me = (hub: TestHub, cookie: string) => fetch(`${hub.url}/api/me`, { headers: { cookie } });
  const codeOf = async (answer: Response) =>
    `${answer.status} ${((await answer.json()) as { code: string }).code}`;

  test("either hub accepts the cookie at once", async () => {
    for (let round = 0; round < 20; round++) {
      const [first, second] = round % 2 === 0 ? hubs : hubs.toReversed();
      const cookie = await signIn(first as TestHub, { key: keys.viewer });
      const answer = await me(second as TestHub, cookie);
      expect([answer.status, await answer.json()]).toMatchObject([200, { role: "viewer", via: "sign_in" }]);
    }
  });

  test("a link works once, at either hub, with at most the role of its creator", async () => {
    const made = await post(hubs[0], "/api/signin/code", { role: "operator" }, {}, keys.admin);
    const { code, url } = (await made.json()) as { code: string; url: string };
    expect(url).toEndWith(`/signin#code=${code}`);
    const [used, again] = await Promise.all(hubs.map((hub) => post(hub, "/api/signin", { code }))).then(
      (answers) => answers.sort((a, b) => a.status - b.status),
    );
    expect([used?.status, await codeOf(again as Response)]).toEqual([204, "401 AUTH_INVALID"]);
    const answer = await me(hubs[1], cookieIn(used as Response));
    expect(await answer.json()).toMatchObject({
      name: "admin",
      role: "operator",
      signIn: { role: "operator" },
    });
    const more = await post(hubs[0], "/api/signin/code", { role: "admin" }, {}, keys.viewer);
    expect(await codeOf(more)).toBe("403 AUTH_INSUFFICIENT");
  });

  test.each(["calendar", "site"] as const)("a key with role %s cannot sign in", async (role) => {
    const key = await at.key({ role, ...(role === "site" && { site: "muc" }) });
    expect(await codeOf(await post(hubs[0], "/api/signin", { key }))).toBe("403 AUTH_INSUFFICIENT");
  });

  test("signing out at one hub signs out at both, and a new sign-in replaces the old one", async () => {
    const first = await signIn(hubs[0], { key: keys.viewer });
    const second = await signIn(hubs[1], { key: keys.viewer }, { cookie: first });
    await until("the old sign-in ends", async () => (await me(hubs[0], first)).status === 401 || undefined);
    const out = await post(hubs[0], "/api/signout", {}, { cookie: second });
    expect([out.status, (await me(hubs[0], second)).status]).toEqual([204, 401]);
    await until(
      "the other hub hears of it",
      async () => (await me(hubs[1], second)).status === 401 || undefined,
    );
  });

  test("changes with a cookie need the page's header", async () => {
    const cookie = await signIn(hubs[0], { key: keys.admin });
    const answer = await hubs[1].post("/api/keys", { name: "x", role: "viewer" }, "", { cookie });
    expect(await codeOf(answer)).toBe("403 AUTH_INSUFFICIENT");
  });

  test("a revoked key ends its sign-ins at both hubs within 5 s", async () => {
    const key = await at.key({ role: "viewer", name: "leaves" });
    const cookie = await signIn(hubs[0], { key, stay: true });
    for (const hub of hubs) expect((await me(hub, cookie)).status).toBe(200);
    const id = key.split("_")[1];
    // Revoke the key as the command line does, so that no hub learns it from a request.
    await at.pool`UPDATE api_keys SET revoked_at = ${Date.now()} WHERE id = ${id}`;
    for (const hub of hubs)
      await until("it ends", async () => (await me(hub, cookie)).status === 401 || undefined);
    expect(await codeOf(await me(hubs[1], cookie))).toBe("401 AUTH_REVOKED");
  });

  test("neither the cookie's secret nor the link's code is in the database", async () => {
    const cookie = await signIn(hubs[0], { key: keys.viewer });
    const made = await post(hubs[0], "/api/signin/code", {}, {}, keys.viewer);
    const { code } = (await made.json()) as { code: string };
    const rows = await at.pool`
      SELECT (SELECT json_agg(s)::text FROM sign_ins s) || (SELECT json_agg(c)::text FROM sign_in_codes c) AS text`;
    const [id, secret] = (cookie.split("=")[1] ?? "").split(".");
    expect(rows[0].text).toContain(id);
    for (const hidden of [secret, code]) {
      expect(rows[0].text).not.toContain(hidden);
      expect(rows[0].text).not.toContain(Buffer.from(hidden ?? "").toString("hex"));
    }
  });

  test("without the database a known sign-in works, and a new one is asked to wait", async () => {
    const cookie = await signIn(hubs[0], { key: keys.viewer });
    await me(hubs[0], cookie);
    await postgres.kill();
    try {
      expect((await me(hubs[0], cookie)).status).toBe(200);
      const refused = await post(hubs[0], "/api/signin", { key: keys.viewer });
      expect([refused.headers.has("retry-after"), await codeOf(refused)]).toEqual([
        true,
        "503 SERVICE_UNAVAILABLE",
      ]);
      const unknown = cookie.replace(/=[a-z0-9]{12}/, "=aaaaaaaaaaaa");
      expect((await me(hubs[0], unknown)).status).toBe(401);
      expect(await codeOf(await hubs[0].get("/api/licenses/features"))).toBe("503 SERVICE_UNAVAILABLE");
    } finally {
      await postgres.start();
    }
    await until(
      "it works again",
      async () => (await post(hubs[0], "/api/signin", { key: keys.viewer })).status === 204 || undefined,
    );
  });
});
