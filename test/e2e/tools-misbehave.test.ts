import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { chmod, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { BINARY, SLOW, until } from "./harness.ts";
import { lmstat } from "./lmstat.ts";
import { createSite, type Site } from "./site.ts";

const INTERVAL_SECONDS = 10;
const TIMEOUT_SECONDS = 8;
const WATCHED_SECONDS = 60;

/** A tool whose first argument is its server: it notes when it was asked, and hangs while the file of that name says so. */
async function writeTool(site: Site): Promise<string> {
  const path = join(site.folder, "lmutil");
  for (const folder of ["asked", "hangs"]) await mkdir(join(site.folder, folder));
  await Bun.write(join(site.folder, "output"), lmstat({ solver: { total: 4, holders: [] } }));
  await Bun.write(
    path,
    `#!/bin/sh
date +%s.%N >> '${site.folder}'/asked/"$1"
[ -e '${site.folder}'/hangs/"$1" ] && exec sleep 600
exec cat '${site.folder}/output'
`,
  );
  await chmod(path, 0o755);
  return path;
}

function serversOf(ids: readonly string[], tool: (id: string) => string): string {
  return ids
    .map((id) => `[[servers]]\nid = "${id}"\nmanager = "flexnet"\naddress = "27000@127.0.0.1"\n${tool(id)}\n`)
    .join("\n");
}

async function healthMessage(site: Site): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${site.port}/api/health`);
  const body = (await response.json()) as { checks: { collector: { message: string } } };
  return body.checks.collector.message;
}

describe.skipIf(!SLOW)("tools that hang", () => {
  test.each([
    [30, 50],
    [60, 100],
  ])("%d of %d leave each healthy server polled within 1.5 intervals", async (hanging, count) => {
    await using site = await createSite();
    const tool = await writeTool(site);
    const ids = Array.from({ length: count }, (_, index) => `s${index}`);
    const asked = async (id: string) =>
      (await readFile(join(site.folder, "asked", id), "utf8")).trim().split("\n").map(Number);
    await site.configure(
      `[collector]\ninterval = "${INTERVAL_SECONDS}s"\ntimeout = "${TIMEOUT_SECONDS}s"\n\n` +
        serversOf(ids, (id) => `tool = ["${tool}", "${id}"]`),
    );
    await using daemon = await site.serve();
    await until("all servers answer", async () =>
      (await healthMessage(site)).startsWith(`${count} of ${count} servers answer; ${count} configured, `)
        ? true
        : undefined,
    );

    const begun = Date.now() / 1000;
    for (const id of ids.slice(0, hanging)) await Bun.write(join(site.folder, "hangs", id), "");
    const firstAsks = async () =>
      Promise.all(ids.slice(0, hanging).map(async (id) => (await asked(id)).find((at) => at > begun)));
    await until(
      "each hanging tool was asked once",
      async () => !(await firstAsks()).includes(undefined) || undefined,
      300_000,
    );
    await Bun.sleep(TIMEOUT_SECONDS * 1000);
    const known = Date.now() / 1000;
    await Bun.sleep(WATCHED_SECONDS * 1000);
    const message = await healthMessage(site);
    const end = Date.now() / 1000;

    const gaps = await Promise.all(
      ids.slice(hanging).map(async (id) => {
        const times = [known, ...(await asked(id)).filter((at) => at > known && at < end), end];
        return Math.max(...times.slice(1).map((at, index) => at - (times[index] ?? at)));
      }),
    );
    expect(Math.max(...gaps)).toBeLessThanOrEqual(1.5 * INTERVAL_SECONDS);
    // The healthy ones answer; of the hanging ones few are asked at a time.
    const [, answering, configured, recent] =
      /^(\d+) of \d+ servers answer; (\d+) configured, (\d+) asked/.exec(message)?.map(Number) ?? [];
    expect([answering, configured]).toEqual([count - hanging, count]);
    expect(recent).toBeGreaterThanOrEqual(count - hanging);
    expect(recent).toBeLessThan(count);
    expect(await daemon.stop()).toBe(0);
  });
});

test("a process that leaves its tool's session ends with the poll", async () => {
  await using site = await createSite();
  const path = join(site.folder, "lmutil");
  const pids = join(site.folder, "pids");
  await Bun.write(
    path,
    `#!/bin/sh\nsetsid sh -c 'echo $$ >> ${pids}; exec sleep 600' >/dev/null 2>&1 &\n` +
      // The tool ends when its child has left.
      `while ! [ -s '${pids}' ]; do sleep 0.01; done\ncat '${site.folder}/output'\n`,
  );
  await chmod(path, 0o755);
  await Bun.write(join(site.folder, "output"), lmstat({ solver: { total: 4, holders: [] } }));
  await site.configure(serversOf(["eda"], () => `tool = "${path}"`));
  await using daemon = await site.serve();
  await until("the server answers", async () =>
    (await healthMessage(site)).startsWith("1 of 1 servers answer; 1 configured, 1 asked") ? true : undefined,
  );
  const pid = (await readFile(pids, "utf8")).trim();
  // Gone, or a zombie where the first process of a container takes no care of them.
  await until("the process has ended", async () => {
    const stat = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => "");
    return stat === "" || / [ZX] /.test(stat) || undefined;
  });
  expect(await daemon.stop()).toBe(0);
});

test("without descriptors the error names them and the limit to raise", async () => {
  await using site = await createSite();
  const path = join(site.folder, "lmutil");
  await Bun.write(path, "#!/bin/sh\nexec sleep 60\n");
  await chmod(path, 0o755);
  const ids = Array.from({ length: 8 }, (_, index) => `s${index}`);
  await site.configure(serversOf(ids, () => `tool = "${path}"`));
  // Enough to start, and not for the pipes of eight tools.
  const child = Bun.spawn(
    ["sh", "-c", 'ulimit -n 28 && exec "$@"', "sh", BINARY, "serve", "--config", site.config],
    {
      stdout: "ignore",
      stderr: "pipe",
      env: { PATH: process.env.PATH ?? "" },
    },
  );
  let printed = "";
  for await (const bytes of child.stderr) {
    printed += new TextDecoder().decode(bytes);
    if (printed.includes("cannot be queried")) break;
  }
  child.kill("SIGTERM");
  await child.exited;
  expect(printed).toContain("No tool can be started: licmond has used up its file descriptors (EMFILE).");
  expect(printed).toContain("raise LimitNOFILE= of its unit");
});

function megabytes(pid: number, field: "VmRSS" | "VmHWM"): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(status)?.[1]) / 1000;
}

/** Bytes over which a tool is ended; what its printing may cost beyond that is the reading of a pipe. */
const GIGABYTE = 1_000_000_000;
const GIVEN_BACK_MB = 50;

describe.skipIf(!SLOW)("tools that print a gigabyte", () => {
  test.each([
    [1, 50],
    [8, 250],
  ])("%d at once take at most %d MB, give them back, and are ended for their size", async (count, most) => {
    await using site = await createSite();
    const path = join(site.folder, "lmutil");
    const ids = Array.from({ length: count }, (_, index) => `s${index}`);
    await Bun.write(
      path,
      `#!/bin/sh\n[ -e '${site.folder}/spam' ] && yes 'ann ws1 :0' | head -c ${GIGABYTE}\n`,
    );
    await chmod(path, 0o755);
    await site.configure(`[collector]\ninterval = "1h"\n\n${serversOf(ids, () => `tool = "${path}"`)}`);
    await using daemon = await site.serve();
    const key = await site.key("admin");
    // Every poll fails, and so does the request; what came of each is in the records.
    const rescan = () => daemon.get("/api/licenses/rescan", key, { method: "POST" });
    await rescan();
    await Bun.sleep(5000);
    const idle = megabytes(daemon.pid, "VmRSS");

    await Bun.write(join(site.folder, "spam"), "");
    await rescan();
    const { servers } = (await (await daemon.get("/api/licenses/servers", key)).json()) as {
      servers: { error: { message: string } | null }[];
    };
    expect(servers).toHaveLength(count);
    for (const { error } of servers)
      expect(error?.message).toStartWith("lmutil printed more than 16 MiB, and licmond ended it for that.");
    expect(megabytes(daemon.pid, "VmHWM") - idle).toBeLessThanOrEqual(most);
    await until(
      "the memory is given back",
      () => megabytes(daemon.pid, "VmRSS") - idle <= GIVEN_BACK_MB || undefined,
    );
    const raw = await (await daemon.get("/api/licenses/servers/s0/raw", key)).text();
    expect(raw).toContain("ann ws1 :0");
  });
});
