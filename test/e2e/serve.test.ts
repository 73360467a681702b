import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { processesLeft, processesWith } from "../collector/processes.ts";
import { type Daemon, freePort, start, until, untilPrinted } from "./harness.ts";
import { lmstat, REFUSED } from "./lmstat.ts";
import { createSite, type Site, secretOf, serverToml } from "./site.ts";

interface Json {
  readonly [name: string]: unknown;
}

/** The body of an answer, as an object. */
async function json(response: Response): Promise<Json> {
  const body: unknown = await response.json();
  if (typeof body !== "object" || body === null) throw new Error(`not an object: ${JSON.stringify(body)}`);
  return Object.fromEntries(Object.entries(body));
}

/** Waits until the named server's last poll came out as `state`. */
function untilState(daemon: Daemon, key: string, server: string, state: string): Promise<Json> {
  return until(`${server} is ${state}`, async () => {
    const record = await json(await daemon.get(`/api/licenses/servers/${server}`, key));
    return record.state === state ? record : undefined;
  });
}

const ada = { user: "ada", host: "ws01" };
const grace = { user: "grace", host: "ws02" };

describe("without a config", () => {
  test("serve starts with no servers and says what to do", async () => {
    await using site = await createSite();
    const port = await freePort();
    await using daemon = await start({
      args: ["serve"],
      port,
      env: {
        LICMOND_HTTP_PORT: String(port),
        LICMOND_HTTP_HOST: "127.0.0.1",
        LICMOND_STORAGE_DIRECTORY: join(site.folder, "storage"),
      },
    });
    const health = await json(await daemon.get("/api/health"));
    expect(health).toMatchObject({ status: "healthy" });
    const said = await until("the hint", () =>
      daemon.output().includes("licmond init") ? daemon.output() : undefined,
    );
    expect(said).toContain("licmond demo");
    expect(await daemon.stop()).toBe(0);
  });
});

describe("keys, while the daemon runs", () => {
  test("create, use, list, revoke", async () => {
    await using site = await createSite();
    await using daemon = await site.serve();

    expect((await daemon.get("/api/licenses/summary")).status).toBe(401);

    const created = await site.run(["keys", "create", "--name", "wall", "--role", "viewer"]);
    expect({ exitCode: created.exitCode, stdout: created.stdout }).toEqual({
      exitCode: 0,
      stdout: expect.stringMatching(/^lmk_[a-z0-9]{12}_[A-Za-z0-9_-]{43}\n$/),
    });
    const key = created.stdout.trim();
    expect((await daemon.get("/api/licenses/summary", key)).status).toBe(200);
    const bearer = await daemon.get("/api/ping", undefined, { headers: { Authorization: `Bearer ${key}` } });
    expect(bearer.status).toBe(200);

    const listed = await site.run(["keys", "list"]);
    expect(listed.exitCode).toBe(0);
    expect(listed.stdout).toContain("wall");
    expect(listed.stdout).not.toContain(secretOf(key));

    expect((await site.run(["keys", "create", "--name", "wall", "--role", "viewer"])).exitCode).toBe(1);

    expect((await site.run(["keys", "revoke", "wall"])).exitCode).toBe(0);
    const refused = await until("the revocation holds", async () => {
      const response = await daemon.get("/api/licenses/summary", key);
      return response.status === 200 ? undefined : response;
    });
    expect(refused.status).toBe(401);
    expect(await json(refused)).toMatchObject({ error: "Unauthorized", code: "AUTH_REVOKED" });
    expect((await site.run(["keys", "revoke", "nobody"])).exitCode).toBe(1);

    // Neither the key nor its secret stands in what the daemon printed.
    expect(daemon.output()).not.toContain(secretOf(key));
    expect(await daemon.stop()).toBe(0);
  });
});

describe("a polled server", () => {
  async function withServer(
    work: (site: Site, daemon: Daemon, key: string, says: (text: string) => Promise<void>) => Promise<void>,
  ) {
    await using site = await createSite();
    const tool = await site.tool("lmutil");
    await tool.says(lmstat({ solver: { total: 4, holders: [ada] }, mesher: { total: 2, holders: [] } }));
    await site.configure(serverToml("eda", tool.path));
    await using daemon = await site.serve();
    const key = await site.key("admin");
    await untilState(daemon, key, "eda", "ok");
    await work(site, daemon, key, (text) => tool.says(text));
  }

  test("every endpoint answers", () =>
    withServer(async (_site, daemon, key) => {
      const own = { server: "eda", state: "ok" };
      const answers: Record<string, Json> = {
        "/api/health": { status: "healthy", checks: { database: { status: "healthy" } } },
        "/api/ping": { message: "pong" },
        "/api/status": { version: expect.any(String) },
        "/api/server-info": { hostname: expect.any(String) },
        "/api/metrics": { type: "metrics", licenses: { total: 6, used: 1 } },
        "/api/network": { interfaces: expect.any(Array) },
        "/api/licenses": {
          servers: [
            { id: "eda", status: "up", state: "ok", features: [{ name: "solver" }, { name: "mesher" }] },
          ],
          summary: { servers: { up: 1 } },
        },
        "/api/licenses/features": {
          features: [
            { ...own, daemon: "acmed", name: "solver", total: 4, used: 1, available: 3, utilization: 25 },
            { ...own, daemon: "acmed", name: "mesher", total: 2, used: 0, available: 2, utilization: 0 },
          ],
          total: 2,
        },
        "/api/licenses/users": {
          users: [{ kind: "checkout", server: "eda", feature: "solver", ...ada, count: 1 }],
          total: 1,
        },
        "/api/licenses/servers": {
          servers: [{ id: "eda", daemons: [{ name: "acmed", status: "up" }] }],
          total: 1,
        },
        "/api/licenses/servers/eda": { id: "eda", manager: "flexnet", unparsedLines: 0 },
        "/api/licenses/servers/eda/raw": { exitCode: 0, stdout: expect.stringContaining("Users of solver") },
        "/api/licenses/summary": {
          servers: { up: 1, down: 0 },
          features: 2,
          seats: { total: 6, used: 1, available: 5 },
        },
      };
      for (const [path, expected] of Object.entries(answers)) {
        const response = await daemon.get(path, key);
        const body = await json(response);
        expect({ path, status: response.status, body }).toMatchObject({ path, status: 200, body: expected });
        expect(response.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
        expect(response.headers.get("content-type")).toContain("application/json");
      }
    }));

  test("equal snapshots are not sent twice", () =>
    withServer(async (_site, daemon, key) => {
      for (const path of ["/api/licenses", "/api/licenses/features", "/api/licenses/summary"]) {
        const first = await daemon.get(path, key);
        const tag = first.headers.get("etag");
        expect(tag).toBeString();
        const second = await daemon.get(path, key, { headers: { "If-None-Match": tag ?? "" } });
        expect([path, second.status, await second.text()]).toEqual([path, 304, ""]);
      }
    }));

  test("a rescan brings what the tool says now", () =>
    withServer(async (_site, daemon, key, says) => {
      await says(lmstat({ solver: { total: 4, holders: [ada, grace] }, mesher: { total: 2, holders: [] } }));
      // A read does not run the tool.
      const solver = async () => json(await daemon.get("/api/licenses/features?feature=solver", key));
      expect(await solver()).toMatchObject({ features: [{ used: 1 }] });
      const rescan = await daemon.get("/api/licenses/rescan", key, { method: "POST" });
      expect(await json(rescan)).toMatchObject({ results: [{ server: "eda", status: "ok", error: null }] });
      expect(await solver()).toMatchObject({ features: [{ used: 2 }] });
      expect(await json(await daemon.get("/api/licenses/users?user=grace", key))).toMatchObject({ total: 1 });
    }));

  test("a server that is down keeps its last numbers, as stale", () =>
    withServer(async (_site, daemon, key, says) => {
      await says(REFUSED);
      const forced = await daemon.get("/api/licenses/rescan", key, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ servers: ["eda"] }),
      });
      expect(forced.status).toBe(502);
      expect(await json(forced)).toMatchObject({ error: "Bad Gateway", code: "LICENSE_SERVER_UNREACHABLE" });
      expect(await json(await daemon.get("/api/licenses/features?feature=solver", key))).toMatchObject({
        features: [{ total: 4, used: 1, state: "stale" }],
      });
      expect(await json(await daemon.get("/api/licenses/servers/eda", key))).toMatchObject({
        status: "down",
        error: { code: "LICENSE_SERVER_UNREACHABLE" },
      });
      expect(await json(await daemon.get("/api/health"))).toMatchObject({ status: "degraded" });
    }));

  test("killed without a warning and started again, it shows the last picture at once, as stale", async () => {
    await using site = await createSite();
    const tool = await site.tool("lmutil");
    await tool.says(lmstat({ solver: { total: 4, holders: [ada] } }));
    await site.configure(serverToml("eda", tool.path));
    const first = await site.serve();
    const key = await site.key("viewer");
    const before = await untilState(first, key, "eda", "ok");
    await first.kill();

    await tool.says(REFUSED);
    await using second = await site.serve();
    const body = await json(await second.get("/api/licenses/features", key));
    expect(body).toMatchObject({
      features: [{ name: "solver", total: 4, used: 1, state: "stale", collectedAt: before.collectedAt }],
    });
    expect(await json(await second.get("/api/licenses/users", key))).toMatchObject({
      users: [{ user: "ada", state: "stale" }],
    });
    // Back again: fresh numbers.
    await tool.says(lmstat({ solver: { total: 4, holders: [] } }));
    const admin = await site.key("operator");
    // A rescan may join the poll of the start, whose tool was still refused.
    await until("fresh numbers", async () => {
      await second.get("/api/licenses/rescan", admin, { method: "POST" });
      const { features } = (await json(await second.get("/api/licenses/features", key))) as {
        features: { used: number; state: string }[];
      };
      return (features[0]?.used === 0 && features[0].state === "ok") || undefined;
    });
  });
});

describe("the command line beside the daemon", () => {
  test("a second daemon on the same storage is refused with the reason", async () => {
    await using site = await createSite();
    await using _first = await site.serve();
    const second = await site.run(["serve"], { env: { LICMOND_HTTP_PORT: String(await freePort()) } });
    expect(second.exitCode).toBe(1);
    expect(second.stderr + second.stdout).toContain(join(site.folder, "storage"));
  });

  test("a second signal ends it at once, and the tools that run with it", async () => {
    await using site = await createSite();
    await site.configure(serverToml("eda", join(import.meta.dir, "../fake-tools/ignore-sigterm")));
    // Tools get the daemon's $PATH: by a folder in it they are found.
    const mark = join(site.folder, "bin");
    await using daemon = await site.serve({ env: { PATH: `/usr/bin:/bin:${mark}` } });
    await until("the tool runs", () => (processesWith(mark).length > 1 ? true : undefined));
    process.kill(daemon.pid, "SIGTERM");
    await untilPrinted(daemon, "licmond stops");
    expect(await daemon.stop()).toBe(1);
    expect(await processesLeft(mark, 10_000)).toEqual([]);
  });

  test("a port that is taken ends serve with the reason", async () => {
    await using site = await createSite();
    await using other = await createSite();
    await using _first = await site.serve();
    const second = await other.run(["serve"], { env: { LICMOND_HTTP_PORT: String(site.port) } });
    expect(second.exitCode).toBe(1);
    expect(second.stderr + second.stdout).toContain(String(site.port));
  });
});
