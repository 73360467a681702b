import { beforeAll, expect, test } from "bun:test";
import { describeHub, type TestSite } from "./describe-hub.ts";
import { pictureStates, simulatedPictures } from "./pictures.ts";
import { madeUpFacts } from "./rig.ts";

const ROLES = ["nobody", "viewer", "anonymous", "operator", "admin", "calendar", "site"] as const;
type Role = (typeof ROLES)[number];
const READERS = ["viewer", "anonymous", "operator", "admin"] as const;
const ACTORS = ["operator", "admin"] as const;

/** Roles that may use each route of a hub. `*` means every role, and callers without a key. */
const ALLOWED: Readonly<Record<string, readonly Role[] | "*">> = {
  "GET /api/health": "*",
  "GET /api/ping": "*",
  "POST /api/signin": "*",
  "POST /api/fleet/push": ["site"],
  "GET /api/fleet/sites": READERS,
  "GET /api/fleet/sites/{id}": READERS,
  "GET /api/licenses": READERS,
  "GET /api/licenses/alerts": READERS,
  "POST /api/licenses/alerts/{id}/acknowledge": ACTORS,
  "POST /api/licenses/alerts/{id}/silence": ACTORS,
  "GET /api/licenses/denials": READERS,
  "GET /api/licenses/efficiency": READERS,
  "GET /api/licenses/expirations": READERS,
  "GET /api/licenses/expirations.ics": [...READERS, "calendar"],
  "GET /api/licenses/features": READERS,
  "GET /api/licenses/heatmap": READERS,
  "GET /api/licenses/outages": READERS,
  "GET /api/licenses/people": READERS,
  "POST /api/licenses/rescan": ACTORS,
  "GET /api/licenses/servers": READERS,
  "GET /api/licenses/servers/{id}": READERS,
  "GET /api/licenses/sessions": READERS,
  "GET /api/licenses/stats": READERS,
  "GET /api/licenses/summary": READERS,
  "GET /api/licenses/usage": READERS,
  "GET /api/licenses/users": READERS,
  "GET /api/licenses/waits": READERS,
  "GET /api/maintenance": READERS,
  "GET /api/me": READERS,
  "GET /api/metrics": READERS,
  "GET /api/picture": READERS,
  "GET /api/signins": READERS,
  "DELETE /api/signins/{id}": READERS,
  "POST /api/signin/code": READERS,
  "POST /api/signout": READERS,
  "GET /badge.svg": READERS,
  "GET /metrics": READERS,
  "GET /stream/combined": READERS,
  "GET /stream/metrics": READERS,
  "GET /ws/combined": READERS,
  "GET /ws/metrics": READERS,
  // These routes describe the fleet and its hosts.
  "GET /api/network": ["viewer", "operator", "admin"],
  "GET /api/server-info": ["viewer", "operator", "admin"],
  "GET /api/status": ["viewer", "operator", "admin"],
  "GET /api/execute": ["viewer", "operator", "admin"],
  // These routes contain names of people.
  "GET /api/logs/stream": ["viewer", "operator", "admin"],
  "GET /stream/logs": ["viewer", "operator", "admin"],
  "GET /ws/logs": ["viewer", "operator", "admin"],
  "GET /api/logs/recent": ["viewer", "operator", "admin"],
  "GET /api/logs/search": ["viewer", "operator", "admin"],
  "GET /api/logs/stats": ["viewer", "operator", "admin"],
  "POST /api/logs/clear": ["admin"],
  "GET /api/keys": ["admin"],
  "POST /api/keys": ["admin"],
  "GET /api/keys/{id}": ["admin"],
  "DELETE /api/keys/{id}": ["admin"],
  "POST /api/reload": ["admin"],
  // The site decides which role may run which command.
  "POST /api/execute": ACTORS,
};

describeHub("access to a hub", {}, (at) => {
  const { hub } = at;
  const keys: Partial<Record<Role, string>> = {};
  let documented: string[];
  let server: string;
  let site: TestSite;

  beforeAll(async () => {
    site = await at.site("muc");
    Object.assign(keys, at.keys, { site: site.key, calendar: await at.key({ role: "calendar" }) });
    const document = (await (await fetch(`${hub.url}/swagger/json`)).json()) as {
      paths: Record<string, Record<string, unknown>>;
    };
    documented = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const pictures = simulatedPictures(1, Date.now());
    server = `muc:${pictures[0]?.server.id}`;
    const facts = madeUpFacts(1, 30, Date.now());
    await site.pushes({ to: 30, facts, states: pictureStates(pictures) });
  });

  /** Sends a body that no route accepts. The role is checked first, so the answer shows whether the role passes. */
  async function outcome(what: string, role: Role): Promise<string> {
    const [method = "", path = ""] = what.split(" ");
    const key = keys[role];
    const ended = new AbortController();
    const response = await fetch(hub.url + path.replace("{id}", "999999999"), {
      method,
      headers: { "content-type": "application/json", ...(key !== undefined && { "x-api-key": key }) },
      ...(method === "POST" && { body: '{"nothing":1}' }),
      signal: ended.signal,
    });
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
    const code = response.ok || isStream ? null : ((await response.json()) as { code: string }).code;
    ended.abort();
    return code === "AUTH_MISSING" || code === "AUTH_INSUFFICIENT" ? code : "let in";
  }

  test("the document and this table list the same routes", () => {
    expect(documented.toSorted()).toEqual(Object.keys(ALLOWED).toSorted());
  });

  test.each(Object.entries(ALLOWED))("%s", async (what, allowed) => {
    for (const role of ROLES) {
      const isIn = allowed === "*" || (allowed as readonly string[]).includes(role);
      const wanted = isIn ? "let in" : role === "nobody" ? "AUTH_MISSING" : "AUTH_INSUFFICIENT";
      expect([role, await outcome(what, role)]).toEqual([role, wanted]);
    }
  });

  test.each(["PUT", "PATCH", "DELETE", "POST", "GET", "HEAD"])(
    "no path accepts %s unless the document says so",
    async (method) => {
      for (const path of new Set(documented.map((each) => each.split(" ")[1] ?? ""))) {
        const isTaken = documented.includes(`${method === "HEAD" ? "GET" : method} ${path}`);
        if (isTaken) continue;
        const response = await fetch(hub.url + path.replace("{id}", "x"), {
          method,
          headers: { "x-api-key": keys.admin ?? "" },
        });
        expect([path, response.status]).toEqual([path, 405]);
      }
    },
  );

  test("an anonymized key learns no name from any list", async () => {
    const rows: { name: string }[] = await at.pool`
      SELECT user_name AS name FROM open_sessions UNION SELECT user_name FROM sessions UNION
      SELECT user_name FROM current_rows UNION SELECT host FROM current_rows UNION SELECT host FROM sessions`;
    const names = rows.flatMap(({ name }) => (name !== null && name.length > 3 ? [name] : []));
    expect(names.length).toBeGreaterThan(20);
    const lists = documented.filter((what) =>
      /^GET \/(api\/(licenses|fleet|picture)|metrics|badge)/.test(what),
    );
    for (const what of lists) {
      const path = what.split(" ")[1]?.replace("{id}", what.includes("sites") ? "muc" : server) ?? "";
      const query =
        path === "/api/picture" ? "?site=muc" : path.includes("usage") ? "?group_by=user&start=-7d" : "";
      const text = await (await hub.get(path + query, keys.anonymous ?? "")).text();
      expect([path, names.filter((name) => new RegExp(`"${RegExp.escape(name)}"`).test(text))]).toEqual([
        path,
        [],
      ]);
    }
  });

  test("a site's key pushes only for its site, and only until it is revoked", async () => {
    const other = await at.site("blr");
    const codeOf = async (response: Response) =>
      `${response.status} ${((await response.json()) as { code?: string }).code}`;
    const pretend = { ...other.push(), site: "muc", epoch: site.epoch, instance: site.instance };
    expect(await codeOf(await other.send(hub.url, pretend))).toBe("403 AUTH_INSUFFICIENT");
    const renamed = {
      ...other.push({ hello: true, begins: false }),
      formerly: "muc",
      epoch: "0000000000000001",
    };
    expect(await codeOf(await other.send(hub.url, renamed))).toBe("409 CONFLICT");
    expect((await other.tries()).status).toBe(200);
    const id = other.key.split("_")[1];
    const revoked = await fetch(`${hub.url}/api/keys/${id}`, {
      method: "DELETE",
      headers: { "x-api-key": keys.admin ?? "" },
    });
    expect(revoked.status).toBe(204);
    expect(await codeOf(await other.tries())).toBe("401 AUTH_REVOKED");
    const { servers } = await hub.json<{ servers: { site: string }[] }>("/api/licenses/servers");
    expect(new Set(servers.map((each) => each.site))).toEqual(new Set(["muc"]));
  });

  test("a push learns nothing about other sites, and can use only its own name", async () => {
    const answer = await site.pushes({ from: 31, to: 30, begins: false, hello: true });
    expect(Object.keys(answer).sort()).toEqual(["commands", "cursor", "wanted"]);
    for (const name of ["MUC", "a b", "../muc", "muc:eda", "", "x".repeat(65), "'; DROP TABLE sites; --"]) {
      const response = await site.send(hub.url, { ...site.push(), site: name });
      expect([name, response.status]).toEqual([name, 400]);
    }
  });
});
