import { describe, expect, test } from "bun:test";
import { chown, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "../../src/cli/client/client.ts";
import { watchPicture } from "../../src/cli/client/watch-picture.ts";
import { ROW_COLUMNS } from "../../src/domain/picture.ts";
import type { KeptServer } from "../../src/domain/polls/kept-picture.ts";
import { type RunOptions, run, until } from "./harness.ts";
import { flexnetSays } from "./lmstat.ts";
import { createWatchedSite } from "./watched-site.ts";

/** A group without users. */
const GROUP = 54_321;
const as = (uid: number, ...groups: number[]) => [
  ...[
    "setpriv",
    `--reuid=${uid}`,
    "--regid=60000",
    groups.length > 0 ? `--groups=${groups}` : "--clear-groups",
  ],
];
/** Returns the status of a request by curl over a socket; `000` if it may not connect. */
async function statusOf(socket: string, path: string, who: readonly string[] = []): Promise<string> {
  const curl = ["curl", "-so", "/dev/null", "-w", "%{http_code}", "--unix-socket", socket];
  const [program = "", ...args] = [...who, ...curl, `http://localhost${path}`];
  const options: RunOptions = { program: [program] };
  return (await run(args, options)).stdout;
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
      const program = [
        "setpriv",
        `--regid=${GROUP}`,
        "--clear-groups",
        join(import.meta.dir, "../../dist/licmond"),
      ];
      await run(["750", site.folder], { program: ["chmod"] });
      await using _ = await site.watch({ env: { RUNTIME_DIRECTORY: directory }, program });
      const [admin, viewer] = [join(directory, "admin.sock"), join(directory, "viewer.sock")];
      const [member, stranger] = [as(60_001, GROUP), as(60_002)];
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

test("the picture follows each poll and continues after a crash, with the sessions of the events", async () => {
  await using site = await createWatchedSite();
  const directory = join(site.folder, "run");
  await mkdir(directory, { mode: 0o750 });
  const env = { RUNTIME_DIRECTORY: directory };
  const unix = join(directory, "viewer.sock");
  const first = await site.watch({ env });
  const client = createClient({ where: unix, url: "http://localhost", unix, key: null });
  const end = new AbortController();
  let [now, why]: [KeptServer | undefined, string | null] = [undefined, null];
  const watched = (async () => {
    for await (const { site, lost } of watchPicture(client, [], end.signal))
      [now, why] = [site.get("eda"), lost];
  })();
  const [user, session] = [ROW_COLUMNS.indexOf("user") + 1, ROW_COLUMNS.indexOf("session") + 1];
  const usersOf = () => [...(now?.rows.values() ?? [])].map((row) => row[user] as string).sort();
  const untilUsers = (...users: string[]) =>
    until(
      `the picture shows ${users}, not ${usersOf()}`,
      () => (why === null && Bun.deepEquals(usersOf(), users)) || undefined,
    );
  const seats = (...users: string[]) => {
    const holders = users.map((user) => ({ user, host: "ws01", handle: user.charCodeAt(0) }));
    return flexnetSays({ features: { solver: { total: 4, holders } } });
  };
  await first.poll(seats("ada"));
  await untilUsers("ada");
  await first.poll(seats("ada", "bob"));
  await untilUsers("ada", "bob");
  const { users } = await first.ask<{ users: { user: string; session: number }[] }>("/api/licenses/users");
  const sessions = new Map(
    [...(now as unknown as KeptServer).rows.values()].map((row) => [
      row[user] as string,
      row[session] as number,
    ]),
  );
  expect(sessions).toEqual(new Map(users.map(({ user, session }) => [user, session])));

  await first.daemon.kill();
  await until("the loss is seen", () => why !== null || undefined);
  await site.lmutil.says(seats("bob", "cy"));
  await using _ = await site.watch({ env });
  await untilUsers("bob", "cy");
  end.abort();
  await watched;
});
