import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command, CommanderError } from "commander";
import { define } from "../../src/cli/demo.ts";
import { demoSite, ownProgram } from "../../src/cli/demo-site.ts";
import type { Config } from "../../src/config/config.ts";
import { systemClock } from "../../src/domain/time/clock.ts";
import { managerOf } from "../../src/managers/registry.ts";
import { simulate } from "../../src/simulator/tool.ts";
import { createKeys } from "../../src/store/keys.ts";
import { openStore } from "../../src/store/open/open.ts";

const silent = { debug() {}, info() {}, warn() {}, error() {} };

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "licmond-demo-test-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

interface Ran {
  readonly calls: string[];
  readonly config: Config | null;
  readonly out: string;
  readonly key: string;
}

/** Runs the command with a daemon that only notes what is done to it, and `during` while it runs. */
async function demo(
  args: readonly string[],
  during: (config: Config, out: string) => void = () => {},
): Promise<Ran> {
  const calls: string[] = [];
  const seen: { config: Config | null; out: string } = { config: null, out: "" };
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const out = (text: string) => {
    seen.out += text;
    if (!text.includes("Ctrl-C") || seen.config === null) return;
    calls.push("told");
    during(seen.config, seen.out);
    end();
  };
  const program = new Command("licmond")
    .exitOverride()
    .configureOutput({ writeErr: () => {}, writeOut: () => {} });
  define(
    program.command("demo"),
    { out, err: () => {}, terminal: { out: false, err: false } },
    {
      async makeHistory(_, days) {
        calls.push(`history ${days}`);
      },
      async createDaemon(config) {
        seen.config = config;
        return {
          async start() {
            calls.push("start");
          },
          async stop() {
            calls.push("stop");
          },
        };
      },
      listenForEnd: () => ({ wanted: ended, quit: () => calls.push("quit") }),
    },
  );
  await program.parseAsync(["demo", ...args], { from: "user" });
  const key = /lmk_[a-z0-9]{12}_[A-Za-z0-9_-]{43}/.exec(seen.out)?.[0] ?? "";
  return { calls, ...seen, key };
}

function checkKey(directory: string, key: string): string {
  const store = openStore({ directory, log: silent, mode: "cli" });
  try {
    const check = createKeys({ store, clock: systemClock }).verify(key);
    return check.outcome === "valid" ? check.key.role : check.outcome;
  } finally {
    store.close();
  }
}

describe("licmond demo", () => {
  test("starts the daemon, prints its address, an admin key and four requests to try, and stops it", async () => {
    const { calls, out, key, config } = await demo(["--directory", folder, "--port", "0", "--seed", "7"]);
    expect(calls).toEqual(["history 30", "start", "told", "stop", "quit"]);
    expect(checkKey(folder, key)).toBe("admin");
    expect(config?.http.port).toBeGreaterThan(0);
    const url = `http://127.0.0.1:${config?.http.port}`;
    expect(out).toContain(`Address    ${url}\n`);
    expect(out.match(/^ {2}curl .*$/gm)).toHaveLength(4);
    for (const line of out.match(/^ {2}curl .*$/gm) ?? []) {
      expect(line).toStartWith(`  curl -H 'X-API-Key: ${key}' '${url}/api/`);
    }
  });

  test("a directory of its own is gone afterwards, a given one stays with a new key", async () => {
    let temporary = "";
    await demo(["--port", "0"], ({ storage }) => {
      temporary = storage.directory;
      expect(existsSync(temporary)).toBe(true);
    });
    expect(temporary).not.toBe("");
    expect(existsSync(temporary)).toBe(false);

    const first = await demo(["--port", "0", "--directory", folder]);
    const second = await demo(["--port", "0", "--directory", folder]);
    expect(checkKey(folder, first.key)).toBe("revoked");
    expect(checkKey(folder, second.key)).toBe("admin");
  });

  test("a port that was asked for and is taken ends it before history is made", async () => {
    using blocker = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
    const calls: string[] = [];
    const program = new Command("licmond").exitOverride();
    const note = (what: string) => () => {
      calls.push(what);
      throw new Error("too late");
    };
    define(
      program.command("demo"),
      { out: note("out"), err: note("err"), terminal: { out: false, err: false } },
      { makeHistory: note("history"), createDaemon: note("daemon"), listenForEnd: note("listen") },
    );
    const args = ["demo", "--port", String(blocker.port), "--directory", folder];
    await expect(program.parseAsync(args, { from: "user" })).rejects.toThrow(
      `another program listens on 127.0.0.1:${blocker.port}; name another --port`,
    );
    expect(calls).toEqual([]);
  });

  test("takes another port and says so when 8080 is taken", async () => {
    let blocker: { stop(): void } | null = null;
    try {
      blocker = Bun.listen({ hostname: "127.0.0.1", port: 8080, socket: { data() {} } });
    } catch {
      // Somebody else has it: just as good.
    }
    try {
      const free = await demo(["--directory", folder]);
      expect(free.config?.http.port).not.toBe(8080);
      expect(free.out).toContain(`Port 8080 is taken, so this demo listens on ${free.config?.http.port}`);
    } finally {
      blocker?.stop();
    }
  });

  test("a daemon that does not start leaves nothing behind, and its words are the answer", async () => {
    const calls: string[] = [];
    const program = new Command("licmond").exitOverride();
    const listenForEnd = () => ({ wanted: new Promise(() => {}), quit: () => calls.push("quit") });
    let directory = "";
    define(
      program.command("demo"),
      { out: (text) => calls.push(text), err: () => {}, terminal: { out: false, err: false } },
      {
        listenForEnd,
        makeHistory: async () => {},
        createDaemon: async ({ storage }) => ({
          start() {
            directory = storage.directory;
            throw new Error("the port is taken");
          },
          stop: async () => calls.push("stop"),
        }),
      },
    );
    await expect(program.parseAsync(["demo", "--port", "0"], { from: "user" })).rejects.toThrow(
      "the port is taken",
    );
    expect(calls).toEqual(["quit"]);
    expect(directory).not.toBe("");
    expect(existsSync(directory)).toBe(false);
  });

  test("somebody who wants the end while history is made gets it at once", async () => {
    const calls: string[] = [];
    const { promise: wanted, resolve } = Promise.withResolvers<void>();
    const program = new Command("licmond").exitOverride();
    define(
      program.command("demo"),
      { out: (text) => calls.push(text), err: () => {}, terminal: { out: false, err: false } },
      {
        listenForEnd: () => ({ wanted, quit: () => calls.push("quit") }),
        async makeHistory(_, __, goOn) {
          calls.push(`goes on: ${goOn()}`);
          resolve();
          await wanted;
          calls.push(`goes on: ${goOn()}`);
        },
        async createDaemon() {
          calls.push("daemon");
          return { start: async () => {}, stop: async () => {} };
        },
      },
    );
    await program.parseAsync(["demo", "--port", "0", "--directory", folder], { from: "user" });
    expect(calls).toEqual(["goes on: true", "goes on: false", "quit"]);
  });

  test.each([
    ["--port", "65536"],
    ["--port", "http"],
    ["--seed", "-1"],
    ["--interval", "1s"],
    ["--interval", "soon"],
    ["--history", "366"],
    ["--history", "-1"],
    ["--at", "Caturday 10:00"],
  ])("%s %s is refused", async (option, value) => {
    await expect(demo([option, value])).rejects.toThrow(CommanderError);
  });
});

test("every server's tool is this program's simulate, and answers", async () => {
  const { config } = demoSite(
    {
      host: "127.0.0.1",
      port: 8080,
      directory: folder,
      seed: 7,
      interval: "10s",
      history: 0,
    },
    0,
  );
  expect(config.servers.length).toBeGreaterThanOrEqual(6);
  expect(config.collector.intervalMs).toBe(10_000);
  for (const { id, manager, tool, address } of config.servers) {
    const { argv } = managerOf(manager).command(tool ?? [], address);
    const own = ownProgram();
    expect(argv.slice(0, own.length + 2)).toEqual([...own, "simulate", manager]);
    const ran = simulate(managerOf(manager), argv.slice(own.length + 2), Date.now());
    // One of them is silent for some of the time.
    expect({ id, stderr: ran.stderr, code: ran.exitCode }).toEqual({
      id,
      stderr: "",
      code: ran.stdout.includes("Error getting status") ? 241 : 0,
    });
    expect(ran.stdout.length).toBeGreaterThan(100);
  }
});
