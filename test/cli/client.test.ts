import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "../../src/cli/client/client.ts";
import { type ClientOptions, findTarget } from "../../src/cli/client/target.ts";
import { watchPicture } from "../../src/cli/client/watch-picture.ts";
import { EXIT_UNREACHABLE } from "../../src/cli/io.ts";
import { listen, listenOnSockets } from "../../src/http/listen.ts";
import { liveBench } from "../http/live-bench.ts";
import { bench, feature, picture } from "../http/make.ts";
import { until } from "../until.ts";
import { run } from "./rig.ts";

let folder: string;
const ends: (() => unknown)[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "licmond-client-"));
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  rmSync(folder, { recursive: true });
});

const NONE: ClientOptions = { url: undefined, "key-file": undefined };
const env = (more: Record<string, string> = {}) => {
  return { HOME: folder, RUNTIME_DIRECTORY: join(folder, "run"), ...more };
};
const client = async (options: Partial<ClientOptions>, more?: Record<string, string>) =>
  createClient(await findTarget({ ...NONE, ...options }, env(more)));

function openSockets(at = bench()) {
  mkdirSync(join(folder, "run"), { recursive: true });
  const sockets = listenOnSockets(at.app, join(folder, "run"), at.deps.log("http"));
  ends.push(() => sockets.stop(0));
  return { at, sockets };
}

function openPort(at = bench(), port = 0) {
  const listening = listen(at.app, { host: "127.0.0.1", port });
  ends.push(() => listening.stop(0));
  return { at, listening, url: `http://127.0.0.1:${listening.port}` };
}

describe("the address of the daemon", () => {
  beforeEach(() => {
    mkdirSync(join(folder, ".config/licmond"), { recursive: true });
    writeFileSync(join(folder, "key"), "lmk_file\n");
  });
  const OTHER = { where: "https://b.example", key: null };
  const TOML = 'url = "https://toml.example"\nkey_file = "KEY"\n';

  test.each([
    ["--url", { url: "https://a.example/tools/" }, {}, "", { where: "https://a.example/tools", key: null }],
    ["$LICMOND_URL without the file's key", {}, { LICMOND_URL: "https://b.example" }, TOML, OTHER],
    [
      "client.toml",
      {},
      { LICMOND_API_KEY: "lmk_env" },
      TOML,
      { where: "https://toml.example", key: "lmk_env" },
    ],
  ])("%s", async (_, options, more, toml, expected) => {
    const file = join(folder, ".config/licmond/client.toml");
    if (toml !== "") writeFileSync(file, toml.replace("KEY", join(folder, "key")));
    expect(await findTarget({ ...NONE, ...options }, env(more))).toMatchObject(expected);
  });

  test("by default the first accessible socket of this host", async () => {
    openSockets();
    expect(await findTarget(NONE, env())).toMatchObject({ unix: join(folder, "run/admin.sock"), key: null });
    rmSync(join(folder, "run/admin.sock"));
    expect(await findTarget(NONE, env())).toMatchObject({ unix: join(folder, "run/viewer.sock") });
  });

  test.each([
    ["no directory", {}, "", "licmond is not running on this host: "],
    ["no address", { url: "lic1:8080" }, "", 'invalid URL "lic1:8080"'],
    ["no key file", { "key-file": "/nowhere/key" }, "", "the key file /nowhere/key cannot be read (ENOENT)"],
    [
      "an unknown key",
      {},
      'ulr = "https://a.example"\n',
      'invalid "ulr"; expected url and key_file, both strings',
    ],
    ["invalid TOML", {}, "url = \n", "client.toml, or invalid TOML"],
  ])("%s: the error names it", async (_, options, toml, message) => {
    writeFileSync(join(folder, ".config/licmond/client.toml"), toml);
    await expect(client(options)).rejects.toThrow(message);
  });
});

describe("error answers", () => {
  test("repeats the daemon's message, with a hint", async () => {
    const { at, url } = openPort();
    const failing = async (path: string, key: string) =>
      (await client({ url }, { LICMOND_API_KEY: key })).get(path).catch((error: Error) => error.message);
    expect(await failing("/api/picture", "")).toContain("Set --key-file or $LICMOND_API_KEY");
    expect(await failing("/api/picture?server=ead", at.keys.viewer)).toContain('The closest name is "eda"');
    expect(await failing("/api/keys", at.keys.viewer)).toContain("this key's role is viewer");
  });

  test("no listener; a stale socket; another program", async () => {
    const nowhere = (await client({ url: "http://127.0.0.1:1" })).get("/");
    await expect(nowhere).rejects.toThrow("cannot connect to http://127.0.0.1:1: connection refused");
    const refused = await run(["who", "solver", "--url", "http://127.0.0.1:1"]);
    expect(refused).toMatchObject({ exitCode: EXIT_UNREACHABLE, out: "" });
    const { sockets } = openSockets();
    const stale = await client({});
    await sockets.stop(0);
    const gone = "licmond is not running on this host: connection to ";
    await expect(stale.get("/api/picture")).rejects.toThrow(gone);
    const proxy = Bun.serve({ port: 0, fetch: () => new Response("<h1>Bad Gateway</h1>", { status: 502 }) });
    ends.push(() => proxy.stop(true));
    const other = (await client({ url: `http://127.0.0.1:${proxy.port}` })).get("/api/picture");
    await expect(other).rejects.toThrow("answered 502 and does not look like licmond");
  });
});

describe("the watched picture", () => {
  const emptied = picture("eda", { features: [feature("solver", { used: 0, checkouts: [] })] });
  function watch(of: Awaited<ReturnType<typeof client>>, servers: readonly string[] = []) {
    const seen: string[] = [];
    const end = new AbortController();
    ends.push(() => end.abort());
    const done = (async () => {
      for await (const { site, lost } of watchPicture(of, servers, end.signal)) {
        const parts = [...site.values()].map((one) => `${one.id} ${one.features.size}/${one.rows.size}`);
        seen.push(`${lost === null ? "live" : "lost"}: ${parts}`);
      }
    })();
    const untilLast = (line: string) =>
      until(`${line}, not ${seen.at(-1)}`, () => seen.at(-1) === line || undefined);
    return { seen, end, done, untilLast };
  }

  test("follows each poll through a socket, and ends when aborted", async () => {
    const at = liveBench();
    openSockets(at.site);
    const { end, done, untilLast } = watch(await client({}));
    await untilLast("live: eda 2/1,cae 2/1");
    at.show(emptied);
    await untilLast("live: eda 1/0,cae 2/1");
    at.remove("cae");
    await untilLast("live: eda 1/0");
    end.abort();
    await done;
  });

  test("continues with new data after a restart", async () => {
    const at = liveBench();
    const first = openPort(at.site);
    const viewer = await client({ url: first.url }, { LICMOND_API_KEY: at.site.keys.viewer });
    const { untilLast } = watch(viewer, ["eda"]);
    await untilLast("live: eda 2/1");
    await first.listening.stop(0);
    await untilLast("lost: eda 2/1");
    at.show(emptied);
    openPort(at.site, first.listening.port);
    await untilLast("live: eda 1/0");
  });

  test("ends with an error that retrying cannot fix", async () => {
    const { url, at } = openPort();
    const watched = watch(await client({ url }, { LICMOND_API_KEY: at.keys.viewer }), ["ead"]);
    await expect(watched.done).rejects.toThrow('Unknown server "ead"');
  });
});
