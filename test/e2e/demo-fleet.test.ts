import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HAS_POSTGRES } from "../hub/postgres.ts";
import { freePort, run, SLOW, start, until, untilPrinted } from "./harness.ts";

async function startDemo(...options: string[]) {
  const port = await freePort();
  // Making a month of history takes half a minute, so use a day.
  const args = ["demo", "--fleet", "--history", "1", "--port", String(port), ...options];
  const daemon = await start({ args, port });
  await untilPrinted(daemon, "Ctrl-C ends it.");
  const [, key = ""] = /Admin key {2}(\S+)/.exec(daemon.output()) ?? [];
  const [, directory = ""] = /Data +(\S+)/.exec(daemon.output()) ?? [];
  return { daemon, key, directory };
}

/** Returns the process id in PostgreSQL's pid file. */
const postgresOf = async ({ directory }: { readonly directory: string }) =>
  Number((await Bun.file(join(directory, "postgresql/data/postmaster.pid")).text()).split("\n")[0]);

const gone = (pid: number) =>
  until(`process ${pid} is gone`, () => (existsSync(`/proc/${pid}`) ? undefined : true));

describe.skipIf(!HAS_POSTGRES)("licmond demo --fleet", () => {
  test("shows three sites at one hub, also twice on one host; Ctrl-C leaves nothing behind", async () => {
    const demo = await startDemo();
    await using first = demo.daemon;
    const other = await startDemo();
    await using second = other.daemon;
    for (const { daemon, key } of [demo, other]) {
      const { sites } = await daemon.json<{ sites: object[] }>("/api/fleet/sites", key);
      expect(sites).toMatchObject(
        [4, 3, 3].map((servers, at) => ({ site: ["muc", "stu", "tor"][at], servers, lagFacts: 0 })),
      );
      const asked = "/api/licenses/sessions?site=tor&start=-12h&limit=5";
      expect((await daemon.json<{ sessions: object[] }>(asked, key)).sessions).toHaveLength(5);
      const [, code = ""] = /\/signin#code=(\S+)/.exec(daemon.output()) ?? [];
      const signedIn = await daemon.get("/api/signin", undefined, {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-Licmond": "page" },
        body: JSON.stringify({ code }),
      });
      expect([signedIn.ok, signedIn.headers.get("set-cookie")]).toEqual([true, expect.any(String)]);
      // Each printed curl command works. Each site's page works without a key.
      const tried = daemon.output().match(/^ {2}curl .*$/gm) ?? [];
      expect(tried).toHaveLength(4);
      for (const line of tried)
        expect(await Bun.$`sh -c ${line} 2>/dev/null`.json()).not.toHaveProperty("code");
      const pages = [...daemon.output().matchAll(/^ {2}\w+ +(http:\S+)/gm)].map(([, url = ""]) => url);
      expect(pages).toHaveLength(3);
      for (const url of pages) expect((await fetch(`${url}/api/licenses/summary`)).status).toBe(200);
    }
    const postgres = await postgresOf(demo);
    expect(await first.stop()).toBe(0);
    expect([existsSync(demo.directory), existsSync(`/proc/${postgres}`)]).toEqual([false, false]);
    expect((await second.get("/api/licenses/summary", other.key)).status).toBe(200);
    const left = await postgresOf(other);
    await second.kill();
    await gone(left);
    await rm(other.directory, { recursive: true });
  });

  test.skipIf(!SLOW)("a user's directory stays with its history, without the previous key", async () => {
    const folder = await mkdtemp(join(tmpdir(), "licmond-fleet-"));
    try {
      const demo = await startDemo("--directory", folder);
      const asked = "/api/licenses/sessions?start=-20h&end=-1h&limit=1";
      const { total } = await demo.daemon.json<{ total: number }>(asked, demo.key);
      expect(await demo.daemon.stop()).toBe(0);
      const again = await startDemo("--directory", folder);
      await using daemon = again.daemon;
      expect(daemon.output()).toContain("History exists already for muc");
      expect((await daemon.get("/api/status", demo.key)).status).toBe(401);
      const after = await daemon.json<{ total: number }>(asked, again.key);
      expect(total).toBeGreaterThan(0);
      expect(after.total).toBeGreaterThanOrEqual(total);
      expect(await daemon.stop()).toBe(0);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test("a directory that PostgreSQL cannot access is reported, and left unchanged", async () => {
    const folder = await mkdtemp(join(tmpdir(), "licmond-closed-"));
    try {
      await Bun.write(join(folder, "postgresql"), "a file in its place");
      const args = ["demo", "--fleet", "--history", "1", "--directory", folder];
      const { exitCode, stderr } = await run([...args, "--port", String(await freePort())]);
      expect([exitCode, stderr]).toEqual([1, expect.stringContaining(join(folder, "postgresql"))]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
