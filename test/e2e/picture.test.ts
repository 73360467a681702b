import { describe, expect, test } from "bun:test";
import { chown, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { BINARY, run } from "./harness.ts";
import { createWatchedSite } from "./watched-site.ts";

/** Id of a group that no account of the host belongs to. */
const GROUP = 54_321;
const as = (uid: number, groups: string) => ["setpriv", `--reuid=${uid}`, "--regid=60000", groups];
/** Sends a request with curl over a socket. Returns the status, or `000` if curl may not connect. */
async function statusOf(socket: string, path: string, who: readonly string[] = []): Promise<string> {
  const program = [...who, "curl", "-so", "/dev/null", "-w", "%{http_code}", "--unix-socket", socket];
  return (await run([`http://localhost${path}`], { program })).stdout;
}

describe("sockets", () => {
  test("survive a crash, and are removed by a regular stop", async () => {
    await using site = await createWatchedSite();
    const directory = join(site.folder, "run");
    await mkdir(directory, { mode: 0o750 });
    const env = { RUNTIME_DIRECTORY: directory };
    const admin = join(directory, "admin.sock");
    const first = await site.watch({ env });
    expect(await statusOf(admin, "/api/keys")).toBe("200");
    await first.daemon.kill();
    expect(await statusOf(admin, "/api/keys")).toBe("000");
    const { daemon } = await site.watch({ env });
    expect(await statusOf(admin, "/api/keys")).toBe("200");
    expect(await daemon.stop()).toBe(0);
    expect(await readdir(directory)).toEqual([]);
  });

  test.skipIf(process.getuid?.() !== 0)(
    "root is admin, the group is viewer, others are refused",
    async () => {
      await using site = await createWatchedSite();
      await chown(site.folder, 0, GROUP);
      const directory = join(site.folder, "run");
      await mkdir(directory, { mode: 0o750 });
      await chown(directory, 0, GROUP);
      const program = ["setpriv", `--regid=${GROUP}`, "--clear-groups", BINARY];
      await run(["750", site.folder], { program: ["chmod"] });
      await using _ = await site.watch({ env: { RUNTIME_DIRECTORY: directory }, program });
      const [admin, viewer] = [join(directory, "admin.sock"), join(directory, "viewer.sock")];
      const [member, stranger] = [as(60_001, `--groups=${GROUP}`), as(60_002, "--clear-groups")];
      expect({
        root: await statusOf(admin, "/api/keys"),
        member: await statusOf(viewer, "/api/picture", member),
        asViewer: await statusOf(viewer, "/api/keys", member),
        asAdmin: await statusOf(admin, "/api/picture", member),
        stranger: await statusOf(viewer, "/api/picture", stranger),
      }).toEqual({ root: "200", member: "200", asViewer: "403", asAdmin: "000", stranger: "000" });
    },
  );
});
