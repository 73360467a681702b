import { afterEach, describe, expect, test } from "bun:test";
import type { ApiError } from "../../src/domain/errors.ts";
import type { HttpSettings } from "../../src/http/deps.ts";
import { proxyCaller } from "../../src/http/without-key.ts";
import { pool } from "../domain/make.ts";
import type { ApiDocument } from "./document.ts";
import { closeDoors, serve } from "./doors.ts";
import {
  type Bench,
  bench,
  checkout,
  denial,
  feature,
  monitored,
  NOW,
  PLENTY,
  PRIVATE,
  picture,
} from "./make.ts";
import { down, type MemoryStreams, readFrames, taken } from "./streams/rig.ts";

afterEach(closeDoors);

type Page = HttpSettings["page"];

function site(page: Partial<Page>, more: Partial<HttpSettings> = {}): Bench {
  const at = bench({}, { page: { ...PRIVATE, ...page }, ...more });
  const reservations = [{ type: "user" as const, name: "zq-ada", count: 1, pool: null }];
  const queue = [{ ...checkout("zq-ada", { host: "zq-ws" }), count: 1, pool: null }];
  const checkouts = [checkout("zq-ada", { host: "zq-ws" })];
  const pools = [{ id: "1", ...pool({ total: 4, vendorString: "zq:string" }) }];
  at.show(
    picture("eda", {
      server: monitored("eda", { labels: { place: "zq:muc" } }),
      features: [feature("solver", { checkouts, reservations, queue, queued: 1, pools })],
    }),
  );
  return at;
}

const document = (await (await bench().get("/swagger/json")).json()) as ApiDocument;
const GETS = Object.entries(document.paths).flatMap(([path, { get }]) =>
  get === undefined ? [] : [{ path: path.replace("{id}", "eda"), needed: get["x-permission"] }],
);
/** Permissions that always need a key (commands are off here), and permissions to read data about people. */
const ADMIN = ["keys", "raw", "protected_logs", "commands"];
const PEOPLE = ["holders", "people", "logs"];
/** Permissions for answers that describe the site, which only callers who see real names get. */
const SITE = ["logs", "details", "commands"];

describe("without a key", () => {
  const CASES = (["off", "counts", "pseudonyms", "names"] as const).flatMap((shows) =>
    GETS.map(({ path, needed }) => [shows, path, needed] as const),
  );
  test.each(CASES)("[page] public = %j: %s (%s)", async (shows, path, needed) => {
    const at = site({ public: shows });
    const answer = await at.get(path, { key: null });
    const code = answer.status < 400 ? "" : ((await answer.clone().json()) as { code: string }).code;
    if (needed === "open") expect(code).not.toStartWith("AUTH");
    else if (shows === "off") expect(code).toBe("AUTH_MISSING");
    else {
      const hidden = { counts: [...PEOPLE, ...SITE], pseudonyms: SITE, names: [] as string[] }[shows];
      const byDefault = shows === "counts" && path === "/api/licenses/usage";
      const refused = byDefault || [...ADMIN, ...hidden].includes(needed);
      expect([path, code === "AUTH_INSUFFICIENT"]).toEqual([path, refused]);
      if (!path.startsWith("/stream") && !path.endsWith("/stream") && shows !== "names") {
        const text = await answer.text();
        expect(text).not.toContain("zq-");
        expect(text).not.toContain("zq:");
        if (shows === "counts") expect(text).not.toMatch(/(user|host)-[0-9a-f]{16}/);
      } else await answer.body?.cancel();
    }
    // A wrong key is refused, even for public data.
    if (needed !== "open") expect(await at.status(path, { key: "lmk_wrong" })).toBe(401);
  });

  test.each(["POST", "DELETE"])("%s always needs a key", async (method) => {
    const at = site({ public: "names" });
    for (const { method: own, path } of at.app.routes) {
      if (own !== method || path === "/api/signin") continue;
      expect([path, await at.status(path.replace(":id", "eda"), { key: null, method })]).toEqual([path, 401]);
    }
    expect(await at.status("/api/licenses?refresh=true", { key: null })).toBe(403);
  });

  test("counts: pictures without rows, usage only of things, a summary of counts", async () => {
    const at = site({ public: "counts" });
    const ask = <T>(path: string) => at.json<T>(path, { key: null });
    const { servers } = await ask<{ servers: { features: unknown[]; rows: unknown[] }[] }>("/api/picture");
    expect(servers).toMatchObject([{ features: [{}], rows: [] }]);
    expect(await at.json("/api/picture")).toMatchObject({ servers: [{ rows: [{}, {}, {}] }] });
    expect(await ask("/api/licenses/summary")).toMatchObject({ users: 1, hosts: 1, queued: 1 });
    const statusOf = async (query: string) => await at.status(`/api/licenses/usage?${query}`, { key: null });
    expect(
      await Promise.all(["group_by=feature", "group_by=feature,user", "group_by=host"].map(statusOf)),
    ).toEqual([200, 403, 403]);
    expect(await Promise.all(["group_by=day&user=a", "group_by=day&host=a"].map(statusOf))).toEqual([
      403, 403,
    ]);
    const me = { keyId: null, via: "public", public: "counts", role: "viewer" };
    expect(await ask("/api/me")).toMatchObject(me);
  });

  test.each(["counts", "pseudonyms", "names"] as const)("%s: labels and vendor strings", async (shows) => {
    const at = site({ public: shows });
    const ask = <T>(path: string) => at.json<T>(path, { key: null });
    const isShown = shows === "names";
    const whole = await ask<{ servers: { labels: object; features: { pools: object[] }[] }[] }>(
      "/api/licenses",
    );
    expect(whole.servers).toMatchObject([
      {
        labels: isShown ? { place: "zq:muc" } : {},
        features: [{ pools: [{ vendorString: isShown ? "zq:string" : null }] }],
      },
    ]);
    expect((await ask<{ servers: { labels: object }[] }>("/api/picture")).servers[0]?.labels).toEqual(
      isShown ? { place: "zq:muc" } : {},
    );
    const metrics = await (await at.get("/metrics", { key: null })).text();
    expect(metrics.includes('label_place="zq:muc"')).toBe(isShown);
    for (const path of [
      "/api/licenses/features?label=place:zq:muc",
      "/api/licenses/stats?label=place:zq:muc",
      "/api/licenses/usage?group_by=label:place",
      "/stream/metrics?label=place:zq:muc",
    ]) {
      const answer = await at.get(path, { key: null });
      expect([path, answer.status === 403]).toEqual([path, !isShown]);
      await answer.body?.cancel();
    }
  });

  test("counts: streams without events about people, and pictures without rows", async () => {
    const at = site({ public: "counts" });
    const memory = at.deps.streams as MemoryStreams;
    const wanted = "/stream/combined?events=log,checkout,checkin,denial,server_status,picture";
    const [nobody, known] = [
      await readFrames(await at.get(wanted, { key: null })),
      await readFrames(await at.get(wanted)),
    ];
    const { at: _, until: __, ...denied } = denial(NOW, { user: "zq-ada" });
    const time = new Date(NOW).toISOString();
    memory.log("zq-line");
    memory.emit(taken({ user: "zq-ada", host: "zq-ws" }));
    memory.emit({ type: "denial", ...denied, deniedAt: time, until: time });
    memory.emit(down("eda"));
    memory.flush();
    memory.broadcaster.close();
    const events = (frames: { event?: string | undefined }[]) => frames.flatMap(({ event }) => event ?? []);
    expect(events(await nobody.rest())).toEqual(["server_status"]);
    expect(events(await known.rest())).toEqual(["log", "checkout", "denial", "server_status"]);
    memory.close();
  });

  test("has a bucket per address, and a share of the streams", async () => {
    const at = site({ public: "counts" }, { limits: { ...PLENTY, burst: 2, anonymousPerMinute: 1 } });
    const ask = async () => await at.status("/api/licenses/summary", { key: null });
    expect([await ask(), await ask(), await ask()]).toEqual([200, 200, 429]);
    expect(await at.status("/api/licenses/summary")).toBe(200);
    const room = site({ public: "counts" });
    const port = room.deps.streams as { limits: () => object };
    port.limits = () => ({ streams: 4, perKey: 50 });
    const open = async (key: string | null) => await room.status("/stream/metrics", { key });
    expect([await open(null), await open(null), await open(null), await open(room.keys.viewer)]).toEqual([
      ...[200, 200, 503, 200],
    ]);
  });

  test("the page asks for its caller: no key is no error, and an expired sign-in is forgotten", async () => {
    const headers = { "x-licmond": "page", cookie: "licmond_0123abcd=aaaaaaaaaaaa.b" };
    for (const [shows, status] of [
      ["off", 204],
      ["counts", 200],
    ] as const) {
      const at = site({ public: shows });
      const answer = await at.get("/api/me", { key: null, headers });
      expect([answer.status, answer.headers.get("set-cookie")]).toEqual([
        ...[status, "licmond_0123abcd=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict"],
      ]);
      expect(await at.status("/api/picture", { key: null, headers })).toBe(status);
      expect(await at.status("/api/licenses", { key: null, headers })).toBe(401);
      expect(await at.status("/api/me", { key: "x", headers })).toBe(401);
    }
  });
});

describe("a user signed in by a proxy", () => {
  const asked = (page: Partial<Page>, headers: Record<string, string>) => {
    try {
      const caller = proxyCaller(new Headers(headers), { ...PRIVATE, userHeader: "X-User", ...page });
      return caller && `${caller.name} ${caller.role}`;
    } catch (error) {
      return (error as ApiError).code;
    }
  };
  const groups = { roleHeader: "X-Groups" };
  const roles = { admins: "admin", ops: "operator", "cn=x,ou=y": "operator" } as const;
  test.each<[string, Partial<Page>, Record<string, string>, string | null]>([
    ["nobody", {}, {}, null],
    ["a blank", {}, { "x-user": "  " }, null],
    ["a viewer by default", {}, { "x-user": "anna" }, "anna viewer"],
    ["a long name", {}, { "x-user": "x".repeat(101) }, "AUTH_INVALID"],
    ["a control character", {}, { "x-user": "a\tb" }, "AUTH_INVALID"],
    ["a role as it is", groups, { "x-user": "anna", "x-groups": "staff, operator" }, "anna operator"],
    ["no role", groups, { "x-user": "anna", "x-groups": "staff" }, "AUTH_INSUFFICIENT"],
    ["never a calendar", groups, { "x-user": "anna", "x-groups": "calendar" }, "AUTH_INSUFFICIENT"],
    ["the greatest", { ...groups, roles }, { "x-user": "anna", "x-groups": "ops;admins" }, "anna admin"],
    [
      "a name with commas",
      { ...groups, roles },
      { "x-user": "anna", "x-groups": "cn=x,ou=y" },
      "anna operator",
    ],
    ["mapped alone", { ...groups, roles }, { "x-user": "anna", "x-groups": "admin" }, "AUTH_INSUFFICIENT"],
    ["all others", { ...groups, roles: { "*": "viewer" } }, { "x-user": "anna" }, "anna viewer"],
    ["by name", { roles: { anna: "admin", "*": "viewer" } }, { "x-user": "anna" }, "anna admin"],
    ["no word of Object", { roles: {} }, { "x-user": "constructor" }, "AUTH_INSUFFICIENT"],
  ])("%s", (_, page, headers, expected) => expect(asked(page, headers)).toBe(expected));

  test.each([
    [["127.0.0.1"], "operator"],
    [["192.0.2.1"], null],
  ] as const)("is trusted from %j only, and has the role of the page", async (trustedProxies, role) => {
    const at = site({ userHeader: "X-User", roleHeader: "X-Groups" }, { trustedProxies });
    const url = `http://127.0.0.1:${serve(at).port}`;
    const headers = { "x-user": "anna", "x-groups": "operator" };
    const me = await fetch(`${url}/api/me`, { headers });
    expect(me.status).toBe(role === null ? 401 : 200);
    if (role === null) return;
    expect(await me.json()).toMatchObject({ keyId: null, name: "anna", role, via: "proxy", signIn: null });
    const rescan = async (more: Record<string, string>) =>
      (await fetch(`${url}/api/licenses/rescan`, { method: "POST", headers: { ...headers, ...more } }))
        .status;
    const page = { "x-licmond": "page" };
    const statuses = [rescan({}), rescan({ ...page, origin: "http://evil.example" }), rescan(page)];
    expect(await Promise.all(statuses)).toEqual([403, 403, 200]);
    expect(at.linesOf("audit").at(-1)?.fields).toMatchObject({ by: null, via: "proxy", user: "anna", role });
    const link = await fetch(`${url}/api/signin/code`, { method: "POST", headers: { ...headers, ...page } });
    expect(link.status).toBe(403);
  });
});
