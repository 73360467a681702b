import { afterEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { Command, CommanderError } from "commander";
import { type DemoDeps, demoCommand } from "../../src/cli/demo/demo.ts";
import { define } from "../../src/cli/program.ts";
import type { Config } from "../../src/config/config.ts";
import { systemClock } from "../../src/domain/time/clock.ts";
import { createKeys } from "../../src/store/keys.ts";
import { cleanUp, open, temporaryDirectory } from "../store/place.ts";
import { run, world } from "./rig.ts";

afterEach(cleanUp);

/** Runs the command with a daemon that records calls, until the demo prints how to stop it. */
async function demo(args: readonly string[], given: Partial<DemoDeps> = {}) {
  const calls: string[] = [];
  const seen = { calls, config: null as Config | null, out: "", key: "", hadDirectory: false };
  const { promise: wanted, resolve: end } = Promise.withResolvers<void>();
  const note = async (what: string) => void calls.push(what);
  const out = (text: string) => {
    seen.out += text;
    if (!text.includes("Ctrl-C")) return;
    calls.push("told");
    seen.hadDirectory = existsSync(seen.config?.storage.directory ?? "");
    end();
  };
  const deps: DemoDeps = {
    signInLink: async (url) => `${url}/signin#code=once`,
    startFleet: async () => null,
    makeHistory: (_, days) => note(`history ${days}`),
    async createDaemon(config) {
      seen.config = config;
      return { start: () => note("start"), stop: () => note("stop") };
    },
    listenForEnd: () => ({ wanted, quit: () => calls.push("quit") }),
  };
  const command = demoCommand({ ...deps, ...given });
  const commander = new Command("demo").exitOverride().configureOutput({ writeErr() {} });
  await define(commander, "licmond demo", command, { ...world().io, out });
  const failed = await commander.parseAsync(args, { from: "user" }).then(
    () => null,
    (error: Error) => error,
  );
  seen.key = /lmk_[a-z0-9]{12}_[A-Za-z0-9_-]{43}/.exec(seen.out)?.[0] ?? "";
  return { ...seen, failed };
}

function checkKey(directory: string, key: string): string {
  const store = open(directory);
  const check = createKeys({ store, clock: systemClock }).verify(key);
  store.close();
  return check.outcome === "valid" ? check.key.role : check.outcome;
}

describe("licmond demo", () => {
  test("starts the daemon, prints its address, an admin key and four requests to try, and stops it", async () => {
    const folder = temporaryDirectory();
    const { calls, out, key, config } = await demo(["--directory", folder, "--port", "0", "--seed", "7"]);
    expect(calls).toEqual(["history 30", "start", "told", "stop", "quit"]);
    expect(checkKey(folder, key)).toBe("admin");
    expect(config?.http.port).toBeGreaterThan(0);
    const url = `http://127.0.0.1:${config?.http.port}`;
    expect(out).toContain(`Address    ${url}\nSign in    ${url}/signin#code=once\n`);
    const requests = out.match(/^ {2}curl .*$/gm) ?? [];
    expect(requests).toHaveLength(4);
    for (const line of requests) expect(line).toStartWith(`  curl -H 'X-API-Key: ${key}' '${url}/api/`);
  });

  test("with --fleet starts and stops a hub with sites instead", async () => {
    const stopped: string[] = [];
    const { calls, out, failed } = await demo(["--fleet", "--port", "0", "--history", "3"], {
      startFleet: async ({ port, history, goOn }) => ({
        url: `http://127.0.0.1:${port}`,
        key: "lmk_hub",
        sites: [{ site: "muc", url: "http://127.0.0.1:1", servers: ["eda", `${history} ${goOn()}`] }],
        stop: async () => void stopped.push("stop"),
      }),
    });
    expect([failed, calls, stopped]).toEqual([null, ["told", "quit"], ["stop"]]);
    expect(out).toContain("a hub over 1 sites");
    expect(out).toContain("eda, 3 true");
    expect(out).toContain("Admin key  lmk_hub\n");
  });

  test("removes its own directory; keeps a given one, with a new key", async () => {
    const { config, hadDirectory } = await demo(["--port", "0"]);
    expect([hadDirectory, existsSync(config?.storage.directory ?? "")]).toEqual([true, false]);

    const folder = temporaryDirectory();
    const first = await demo(["--port", "0", "--directory", folder]);
    const second = await demo(["--port", "0", "--directory", folder]);
    expect([checkKey(folder, first.key), checkKey(folder, second.key)]).toEqual(["revoked", "admin"]);
  });

  test("a requested port in use ends it before it makes history", async () => {
    using blocker = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
    const { failed, calls, out } = await demo(["--port", String(blocker.port)]);
    const words = `127.0.0.1:${blocker.port} is in use; choose another --port`;
    expect(failed?.message).toContain(words);
    expect([calls, out]).toEqual([[], ""]);
  });

  test("uses another port if 8080 is in use", async () => {
    let blocker: { stop(): void } | null = null;
    try {
      blocker = Bun.listen({ hostname: "127.0.0.1", port: 8080, socket: { data() {} } });
    } catch {
      // Another program already listens on the port.
    }
    const { config, out } = await demo([]).finally(() => blocker?.stop());
    expect(config?.http.port).not.toBe(8080);
    expect(out).toContain(`Port 8080 is in use; listening on ${config?.http.port}`);
  });

  test("a daemon that does not start leaves nothing behind, and its error is reported", async () => {
    let directory = "";
    const start = () => Promise.reject(new Error("the port is taken"));
    const { failed, calls } = await demo(["--port", "0"], {
      async createDaemon({ storage }) {
        directory = storage.directory;
        return { start, stop: async () => {} };
      },
    });
    expect(failed?.message).toBe("the port is taken");
    expect([calls, existsSync(directory)]).toEqual([["history 30", "quit"], false]);
    expect(directory).not.toBe("");
  });

  test("rejects --config", async () => {
    const err = "licmond: the demo uses its own config; run yours with: licmond serve --config FILE\n";
    expect(await run(["demo", "--config", "licmond.toml"])).toMatchObject({ exitCode: 2, err });
  });

  test("Ctrl-C interrupts the creation of history", async () => {
    const { promise: wanted, resolve } = Promise.withResolvers<void>();
    const went: boolean[] = [];
    const { calls } = await demo(["--port", "0"], {
      listenForEnd: () => ({ wanted, quit: () => {} }),
      async makeHistory(_, __, goOn) {
        went.push(goOn());
        resolve();
        await wanted;
        went.push(goOn());
      },
    });
    expect([went, calls]).toEqual([[true, false], []]);
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
  ])("rejects %s %s", async (option, value) => {
    expect((await demo([option, value])).failed).toBeInstanceOf(CommanderError);
  });
});
