import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { chmod, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { gather } from "../until.ts";
import { BINARY, type Daemon, SLOW, until } from "./harness.ts";
import { lmstat } from "./lmstat.ts";
import { createSite, type Site, serverToml } from "./site.ts";

const INTERVAL_SECONDS = 10;
const TIMEOUT_SECONDS = 8;
const WATCHED_SECONDS = 40;

/** Writes a shell script as the tool, and lmstat output to the file `output` next to it. */
async function writeTool(site: Site, script: string): Promise<string> {
  const path = join(site.folder, "lmutil");
  await Bun.write(join(site.folder, "output"), lmstat({ solver: { total: 4, holders: [] } }));
  await Bun.write(path, `#!/bin/sh\ncd '${site.folder}'\n${script}\n`);
  await chmod(path, 0o755);
  return path;
}

const ids = (count: number) => Array.from({ length: count }, (_, index) => `s${index}`);
/** Each server passes its id as the first argument. */
const serversOf = (names: readonly string[], tool: string) =>
  names.map((id) => serverToml(id, tool).replace(/^tool = .*$/m, `tool = ["${tool}", "${id}"]`)).join("\n");

async function healthMessage(daemon: Daemon): Promise<string> {
  const { checks } = await daemon.json<{ checks: { collector: { message: string } } }>("/api/health");
  return checks.collector.message;
}

describe.skipIf(!SLOW)("tools that hang", () => {
  test("60 of 100 do not delay polls of healthy servers beyond 1.5 intervals", async () => {
    const [hanging, count] = [60, 100];
    await using site = await createSite();
    for (const folder of ["asked", "hangs"]) await mkdir(join(site.folder, folder));
    // The script records the time and hangs while a file named after the server exists.
    const script = 'date +%s.%N >>asked/"$1"\n[ -e hangs/"$1" ] && exec sleep 600\nexec cat output';
    const tool = await writeTool(site, script);
    const all = ids(count);
    const asked = async (id: string) =>
      (await readFile(join(site.folder, "asked", id), "utf8")).trim().split("\n").map(Number);
    const collector = `interval = "${INTERVAL_SECONDS}s"\ntimeout = "${TIMEOUT_SECONDS}s"`;
    await site.configure(`[collector]\n${collector}\n${serversOf(all, tool)}`);
    await using daemon = await site.serve();
    const well = `${count} of ${count} servers answer; ${count} configured, `;
    await until("all answer", async () => (await healthMessage(daemon)).startsWith(well) || undefined);

    const begun = Date.now() / 1000;
    const hangs = all.slice(0, hanging);
    for (const id of hangs) await Bun.write(join(site.folder, "hangs", id), "");
    const firstAsks = () => Promise.all(hangs.map(async (id) => (await asked(id)).find((at) => at > begun)));
    const allAsked = async () => !(await firstAsks()).includes(undefined);
    await until("each hanging tool was run once", async () => (await allAsked()) || undefined);
    await Bun.sleep(TIMEOUT_SECONDS * 1000);
    const known = Date.now() / 1000;
    await Bun.sleep(WATCHED_SECONDS * 1000);
    const message = await healthMessage(daemon);
    const end = Date.now() / 1000;

    const gaps = await Promise.all(
      all.slice(hanging).map(async (id) => {
        const times = [known, ...(await asked(id)).filter((at) => at > known && at < end), end];
        return Math.max(...times.slice(1).map((at, index) => at - (times[index] ?? at)));
      }),
    );
    expect(Math.max(...gaps)).toBeLessThanOrEqual(1.5 * INTERVAL_SECONDS);
    // All healthy servers answer, and only few of the hanging ones were polled recently.
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
  const tool = await writeTool(
    site,
    // The tool ends only after its child has left the session.
    `setsid sh -c 'echo $$ >>pids; exec sleep 600' >/dev/null 2>&1 &
while ! [ -s pids ]; do sleep 0.01; done
cat output`,
  );
  await site.configure(serversOf(["eda"], tool));
  await using daemon = await site.serve();
  const well = "1 of 1 servers answer; 1 configured, 1 asked";
  await until("the server answers", async () => (await healthMessage(daemon)).startsWith(well) || undefined);
  const pid = (await readFile(join(site.folder, "pids"), "utf8")).trim();
  // The first process of some containers reaps no zombies, so a zombie counts as ended.
  await until("the process has ended", async () => {
    const stat = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => "");
    return stat === "" || / [ZX] /.test(stat) || undefined;
  });
  expect(await daemon.stop()).toBe(0);
});

test("without free descriptors the error suggests the limit to raise", async () => {
  await using site = await createSite();
  await site.configure(serversOf(ids(8), await writeTool(site, "exec sleep 60")));
  // Enough descriptors to start, but too few for the pipes of eight tools.
  const command = ["sh", "-c", 'ulimit -n 28 && exec "$@"', "sh", BINARY, "serve", "--config", site.config];
  const env = { PATH: process.env.PATH ?? "" };
  const child = Bun.spawn(command, { stdout: "ignore", stderr: "pipe", env });
  const { text } = gather(child.stderr);
  await until("a server cannot be queried", () => text().includes("cannot be queried") || undefined);
  child.kill("SIGTERM");
  await child.exited;
  expect(text()).toContain("No tool can be started: licmond has used up its file descriptors (EMFILE).");
  expect(text()).toContain("raise LimitNOFILE= of its unit");
});

function megabytes(pid: number, field: "VmRSS" | "VmHWM"): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(status)?.[1]) / 1000;
}

/** Size of an output far above the limit. Memory beyond the limit is the cost of reading the pipe. */
const GIGABYTE = 1_000_000_000;
const GIVEN_BACK_MB = 50;

describe.skipIf(!SLOW)("tools that print a gigabyte", () => {
  test.each([
    [1, 50],
    [8, 250],
  ])("%d at once use at most %d MB, return it, and are killed for their size", async (count, most) => {
    await using site = await createSite();
    const tool = await writeTool(site, `[ -e spam ] && yes 'ann ws1 :0' | head -c ${GIGABYTE}`);
    await site.configure(`[collector]\ninterval = "1h"\n\n${serversOf(ids(count), tool)}`);
    await using daemon = await site.serve();
    const key = await site.key("admin");
    // The request and every poll fail; the servers' records show each error.
    const rescan = () => daemon.post("/api/licenses/rescan", key);
    await rescan();
    await Bun.sleep(5000);
    const idle = megabytes(daemon.pid, "VmRSS");

    await Bun.write(join(site.folder, "spam"), "");
    await rescan();
    type Servers = { servers: { error: { message: string } | null }[] };
    const { servers } = await daemon.json<Servers>("/api/licenses/servers", key);
    expect(servers).toHaveLength(count);
    for (const { error } of servers)
      expect(error?.message).toStartWith("lmutil printed more than 16 MiB and was killed;");
    expect(megabytes(daemon.pid, "VmHWM") - idle).toBeLessThanOrEqual(most);
    const kept = () => megabytes(daemon.pid, "VmRSS") - idle;
    await until("the memory is returned", () => kept() <= GIVEN_BACK_MB || undefined);
    const raw = await (await daemon.get("/api/licenses/servers/s0/raw", key)).text();
    expect(raw).toContain("ann ws1 :0");
  });
});
