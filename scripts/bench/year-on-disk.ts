import { copyFileSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DAY } from "../../src/simulator/calendar.ts";
import { serversOf } from "./history-file.ts";
import type { YearSize } from "./history-year.ts";
import { median } from "./measure.ts";
import { BINARY, freePort, untilAnswers } from "./place.ts";
import { lmstatText } from "./shapes.ts";
import type { Bench, Row } from "./table.ts";
import { yearDatabase } from "./year-database.ts";

const ENVIRONMENT = { PATH: "/usr/local/bin:/usr/bin:/bin", TZ: "UTC", LANG: "C.UTF-8" };
const FULL = { servers: 20, features: 50, days: 365 };
const ROUNDS = 5;
const PING_MS = 5;

/** What a year of history costs a start and a backup: both with the built binary. */
export const yearOnDisk: Bench = {
  name: "year-on-disk",
  what: "restart and backup with a one-year database (minutes; YEAR_SIZE=servers,features,days, YEAR_DIRECTORY keeps it)",
  run: () => measure(sizeOf(process.env.YEAR_SIZE)),
};

function sizeOf(text: string | undefined): YearSize {
  const [servers = FULL.servers, features = FULL.features, days = FULL.days] = (text ?? "")
    .split(",")
    .filter((part) => part !== "")
    .map(Number);
  return { servers, features, days, end: Math.floor(Date.now() / DAY) * DAY };
}

/** A daemon over the database, its servers asked through a tool that prints what a server of that size prints. */
interface Daemon {
  readonly url: string;
  readonly key: string;
  readonly startMs: number;
  end(signal: "SIGTERM" | "SIGKILL"): Promise<void>;
}

async function measure(size: YearSize): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), "licmond-year-"));
  const kept = process.env.YEAR_DIRECTORY;
  try {
    const year = await yearDatabase(kept ?? join(folder, "made"), size);
    // What is measured writes into a copy.
    const storage = join(folder, "storage");
    Bun.spawnSync(["cp", "-r", year, storage]);
    const megabytes = statSync(join(storage, "licmond.db")).size / 1e6;
    const empty = join(folder, "empty");
    await writeConfigs(folder, size, { year: storage, empty });

    const rows: Row[] = [];
    for (const [how, signal] of [
      ["", "SIGTERM"],
      [" after kill -9", "SIGKILL"],
    ] as const) {
      const ours = await starts(join(folder, "year.toml"), signal);
      const baseline = await starts(join(folder, "empty.toml"), signal);
      rows.push({
        what: `start to /api/ping with ${size.days} days (${megabytes.toFixed(0)} MB)${how}, beside an empty store`,
        ...{ ours, baseline, unit: "ms", bound: { of: "ours", atMost: 2_000 } },
      });
    }
    rows.push({
      what: "  with nothing of it in memory, as after a boot",
      ours: await starts(join(folder, "year.toml"), "SIGTERM", () => forget(join(storage, "licmond.db"))),
      ...{ baseline: null, unit: "ms", bound: { of: "ours", atMost: 2_000 } },
    });
    rows.push(...(await backups(folder, storage, megabytes)));
    return rows;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function writeConfigs(
  folder: string,
  size: YearSize,
  storages: Readonly<Record<string, string>>,
): Promise<void> {
  const tool = join(folder, "lmutil");
  await Bun.write(
    join(folder, "output"),
    lmstatText({ features: size.features, checkouts: size.features * 8 }),
  );
  await Bun.write(tool, `#!/bin/sh\nexec cat '${folder}/output'\n`);
  Bun.spawnSync(["chmod", "755", tool]);
  for (const [name, storage] of Object.entries(storages)) {
    const servers = serversOf(size).map(
      ({ id }) =>
        `[[servers]]\nid = "${id}"\nmanager = "flexnet"\naddress = "27000@localhost"\ntool = "${tool}"\n`,
    );
    await Bun.write(
      join(folder, `${name}.toml`),
      `[http]\nhost = "127.0.0.1"\nport = 0\n[storage]\ndirectory = "${storage}"\n[collector]\ninterval = "1h"\n` +
        `[limits]\nrequests_per_minute = 1000000\nburst = 100000\nanonymous_per_minute = 1000000\n${servers.join("\n")}`,
    );
  }
}

async function start(config: string): Promise<Daemon> {
  const port = freePort();
  const began = performance.now();
  const child = Bun.spawn([BINARY, "serve", "--config", config], {
    env: { ...ENVIRONMENT, LICMOND_HTTP_PORT: String(port) },
    ...{ cwd: "/", stdin: "ignore", stdout: "ignore", stderr: Bun.file(`${config}.log`) },
  });
  const url = `http://127.0.0.1:${port}`;
  await untilAnswers(`${url}/api/ping`, () => child.exitCode !== null);
  const startMs = performance.now() - began;
  const made = Bun.spawnSync(
    [
      BINARY,
      "keys",
      "create",
      "--name",
      `bench-${port}-${Date.now()}`,
      "--role",
      "admin",
      "--config",
      config,
    ],
    { env: ENVIRONMENT },
  );
  return {
    ...{ url, startMs, key: made.stdout.toString().trim() },
    async end(signal) {
      child.kill(signal);
      await child.exited;
    },
  };
}

async function starts(
  config: string,
  signal: "SIGTERM" | "SIGKILL",
  before: () => void = () => {},
): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    before();
    const daemon = await start(config);
    // Something for the log to hold.
    await rescan(daemon);
    await daemon.end(signal);
    if (round > 0) times.push(daemon.startMs);
  }
  return median(times);
}

/** Has the kernel drop a file from its memory: posix_fadvise(2), by way of dd. */
function forget(path: string): void {
  for (const argv of [
    ["sync", path],
    ["dd", `if=${path}`, "iflag=nocache", "count=0", "status=none"],
  ]) {
    if (!Bun.spawnSync(argv).success) throw new Error(`${argv.join(" ")} failed`);
  }
}

async function rescan({ url, key }: Daemon): Promise<void> {
  const response = await fetch(`${url}/api/licenses/rescan`, {
    method: "POST",
    headers: { "X-API-Key": key },
  });
  const body = await response.text();
  if (!response.ok || body.includes('"failed"'))
    throw new Error(`rescan: ${response.status} ${body.slice(0, 300)}`);
}

/** Longest waits in ms while something goes on: of /api/ping, and of polls of all servers with their commits. */
async function waitsDuring(
  daemon: Daemon,
  work: () => Promise<unknown>,
): Promise<{ ping: number; poll: number }> {
  let over = false;
  const longest = async (ask: () => Promise<unknown>, pauseMs: number) => {
    let worst = 0;
    while (!over) {
      const began = performance.now();
      await ask();
      worst = Math.max(worst, performance.now() - began);
      await Bun.sleep(pauseMs);
    }
    return worst;
  };
  const both = Promise.all([
    longest(async () => (await fetch(`${daemon.url}/api/ping`)).text(), PING_MS),
    longest(() => rescan(daemon), PING_MS),
  ]);
  await work();
  over = true;
  const [ping, poll] = await both;
  return { ping, poll };
}

async function backups(folder: string, storage: string, megabytes: number): Promise<Row[]> {
  const config = join(folder, "year.toml");
  const target = join(folder, "backup.db");
  const daemon = await start(config);
  const run = async () => {
    const child = Bun.spawn([BINARY, "backup", "--force", target, "--config", config], {
      env: ENVIRONMENT,
      ...{ stdin: "ignore", stdout: "ignore", stderr: "inherit" },
    });
    if ((await child.exited) !== 0) throw new Error("backup failed");
  };
  try {
    await rescan(daemon);
    let began = performance.now();
    await run();
    const seconds = (performance.now() - began) / 1000;
    began = performance.now();
    copyFileSync(join(storage, "licmond.db"), target);
    Bun.spawnSync(["sync", target]);
    const plain = (performance.now() - began) / 1000;
    const idle = await waitsDuring(daemon, () => Bun.sleep(seconds * 1000));
    const busy = await waitsDuring(daemon, run);
    return [
      {
        what: "backup beside a daemon, copied, synced and checked, beside cp and sync",
        ...{ ours: megabytes / seconds, baseline: megabytes / plain, unit: "MB/s", bound: null },
      },
      {
        what: "  longest wait of /api/ping meanwhile, beside the same time without",
        ...{ ours: busy.ping, baseline: idle.ping, unit: "ms", bound: { of: "ours", atMost: 250 } },
      },
      {
        what: "  longest rescan of all servers meanwhile, beside the same time without",
        ...{ ours: busy.poll, baseline: idle.poll, unit: "ms", bound: null },
      },
    ];
  } finally {
    await daemon.end("SIGTERM");
  }
}
