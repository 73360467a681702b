import { Database } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { createServers } from "../../../src/store/servers.ts";
import { monitored } from "../../http/make.ts";
import { cleanUp, open } from "../../store/place.ts";
import { createPlace, type Place, run } from "../rig.ts";

afterEach(cleanUp);

const check = (place: Place, ...args: string[]) => run(["check", "--config", place.config, ...args]);
const makeKey = ({ config }: Place) =>
  run(["keys", "create", "--name", "a", "--role", "viewer", "--config", config]);

test("a valid setup", async () => {
  await using place = await createPlace();
  await mkdir(place.storage);
  await place.write('[[servers]]\nid = "a"\nmanager = "rlm"\naddress = "5053@127.0.0.1"\ntool = "/bin/sh"');
  const { exitCode, out } = await check(place, "--no-poll");
  expect(out).toContain(`ok       config: ${place.config}\n`);
  expect(out).toContain(`ok       storage: ${place.storage} is writable\n`);
  expect(out).toContain("ok       a: tool: /bin/sh\n");
  expect(out).toEndWith("No problems found.\n");
  expect(exitCode).toBe(0);
});

test("warns of an experimental debug log", async () => {
  await using place = await createPlace();
  const log = join(place.folder, "paintco.dlog");
  await Bun.write(log, "");
  const server = '[[servers]]\nid = "a"\nmanager = "rlm"\naddress = "5053@127.0.0.1"\ntool = "/bin/sh"';
  await place.write(`${server}\nlog_file = "${log}"`);
  const words = "warning  a: log_file: RLM debug log: experimental; ";
  expect((await check(place, "--no-poll")).out).toContain(words);
});

test("reports all problems at once, each with its fix", async () => {
  await using place = await createPlace();
  using taken = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const at = (name: string) => join(place.folder, name);
  const [first, second] = [
    `id = "a"\naddress = "27000@no-such-host.invalid"\ntool = "${at("lmutil")}"\nsecret_file = "${at("key")}"\nca_file = "${at("ca.pem")}"`,
    `id = "b"\naddress = "${at("license.dat")}"\ntool = "/bin/sh"\nlog_file = "${at("debug.log")}"`,
  ];
  const hook = `type = "webhook"\nurl = "https://hooks.example"\nsecret_file = "${at("hook")}"`;
  await place.write(
    `[[servers]]\nmanager = "flexnet"\n${first}\n[[servers]]\nmanager = "flexnet"\n${second}\n[[notifications]]\n${hook}`,
  );
  const env = {
    LICMOND_HTTP_PORT: String(taken.port),
    LICMOND_HTTP_TLS_CERT: at("none.crt"),
    LICMOND_HTTP_TLS_KEY: at("none.key"),
    LICMOND_STORAGE_DIRECTORY: "/proc/licmond/x",
  };
  const { exitCode, out } = await run(["check", "--config", place.config], { env });
  expect(exitCode).toBe(1);
  for (const words of [
    "storage: /proc/licmond/x does not exist and cannot be created by this user\n",
    `http: another program listens on 127.0.0.1:${taken.port}\n         fix: find it with `,
    `a: tool: ${at("lmutil")} does not exist.\n         fix: `,
    "a: host: 27000@no-such-host.invalid cannot be resolved",
    `b: address: the license file ${at("license.dat")} cannot be read`,
    `b: log_file: ${at("debug.log")} does not exist\n`,
    "notifications[0].secret_file: the file does not exist\n",
    "a: secret_file: the file does not exist\n",
    `a: ca_file: ${at("ca.pem")} does not exist\n`,
    "http: http.tls_cert: ",
    "b: poll: LICENSE_QUERY_FAILED: ",
  ])
    expect(out).toContain(`PROBLEM  ${words}`);
  expect(out).toContain("warning  a: secret_file: has no effect: FlexNet does not use a secret\n");
  expect(out).toEndWith("11 problems.\n");
  expect(out.match(/^PROBLEM .*\n(?! {9}fix: \w)/gm)).toBeNull();
});

test("--alerts without servers, without a database, and with invalid days", async () => {
  await using place = await createPlace();
  const alerts = (...args: string[]) => check(place, "--alerts", ...args);
  const none = expect.stringContaining("the config has no servers");
  expect(await alerts()).toMatchObject({ exitCode: 1, out: "", err: none });
  await place.write('[[servers]]\nid = "eda"\nmanager = "flexnet"\naddress = "27000@lic1"\n');
  expect(await alerts()).toMatchObject({ exitCode: 1, err: expect.stringContaining("Database not found") });
  expect((await alerts("--days", "x")).exitCode).toBe(2);
});

describe("databases that the daemon would reject", () => {
  /** Creates a new file instead of overwriting the old one, into which an open connection may still write. */
  const replace = async (file: string, text: string) => {
    for (const name of [file, `${file}-wal`, `${file}-shm`]) await rm(name, { force: true });
    await Bun.write(file, text);
  };
  const pragma = (file: string, setting: string) => {
    const sqlite = new Database(file);
    sqlite.run(`PRAGMA ${setting}`);
    sqlite.run("PRAGMA wal_checkpoint(TRUNCATE)");
    sqlite.close();
  };
  test.each<[string, (file: string) => unknown, string]>([
    ["not a database", (file) => replace(file, "x".repeat(9000)), "is not a database"],
    ["half a header", (file) => replace(file, "SQLite format 3\0half"), "is not a database"],
    ["a newer licmond's", (file) => pragma(file, "user_version = 999"), "by a newer licmond (schema 999"],
    ["another program's", (file) => pragma(file, "application_id = 7"), "a database of another program"],
  ])("%s", async (_name, make, words) => {
    await using place = await createPlace();
    await makeKey(place);
    const databases = async () =>
      (await readdir(place.storage)).filter((name) => !/-(wal|shm)$/.test(name)).sort();
    const files = await databases();
    await make(join(place.storage, "licmond.db"));
    const { exitCode, out } = await check(place);
    expect(out).toContain(`PROBLEM  storage: ${join(place.storage, "licmond.db")} `);
    expect(out).toContain(words);
    expect(exitCode).toBe(1);
    expect(await databases()).toEqual(files);
  });

  test("a valid and an empty database pass", async () => {
    await using place = await createPlace();
    await makeKey(place);
    expect((await check(place)).exitCode).toBe(0);
    await Bun.write(join(place.storage, "licmond.db"), "");
    expect((await check(place)).exitCode).toBe(0);
  });
});

test("a config with mistakes", async () => {
  await using place = await createPlace();
  await place.write('[log]\nlevel = "x"\n[limits]\nburst = 0');
  const { exitCode, out } = await check(place);
  expect(exitCode).toBe(1);
  expect(out).toContain(`${place.config}:7: log.level`);
  expect(out).toContain(`${place.config}:9: limits.burst`);
  expect(out).toEndWith("2 problems.\n");
});

test("colors only on a terminal, unless NO_COLOR is set", async () => {
  await using place = await createPlace();
  const args = ["check", "--config", place.config];
  expect((await run(args, { terminal: true })).out).toContain("\u001b[32mok     \u001b[0m");
  expect((await run(args, { terminal: true, env: { NO_COLOR: "1" } })).out).not.toContain("\u001b");
  expect((await run(args)).out).not.toContain("\u001b");
});

test.each([
  [204, "ok       export.remote_write: HOST accepts metrics\n", 0],
  [503, "warning  export.remote_write: cannot write to HOST now. It answered 503\n", 0],
  [
    401,
    "PROBLEM  export.remote_write: HOST rejects writes. It answered 401\n         fix: correct token_",
    1,
  ],
  [404, "--web.enable-remote-write-receiver\n", 1],
])("a remote-write receiver that answers %d", async (status, told, exits) => {
  await using place = await createPlace();
  const bodies: Uint8Array[] = [];
  using receiver = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      expect(request.headers.get("authorization")).toBe("Bearer token-HUSH");
      bodies.push(await request.bytes());
      return new Response(null, { status });
    },
  });
  const token = join(place.folder, "token");
  await Bun.write(token, "token-HUSH\n");
  const url = `http://127.0.0.1:${receiver.port}/write`;
  await place.write(`[export.remote_write]\nurl = "${url}"\ntoken_file = "${token}"`);
  const { exitCode, out } = await check(place);
  expect(out).toContain(told.replace("HOST", `127.0.0.1:${receiver.port}`));
  expect(out).not.toContain("HUSH");
  expect(exitCode).toBe(exits);
  // The body of the request is an empty Snappy block: one zero byte.
  expect(bodies.map((body) => [...body])).toEqual([[0]]);
});

test("a remote-write receiver that does not answer", async () => {
  await using place = await createPlace();
  await place.write('[export.remote_write]\nurl = "http://127.0.0.1:1/write"');
  const { exitCode, out } = await check(place);
  expect(out).toContain(
    "warning  export.remote_write: cannot write to 127.0.0.1:1 now. It cannot be reached",
  );
  expect(exitCode).toBe(0);
});

const SERVER = '[[servers]]\nid = "eda"\nmanager = "rlm"\naddress = "5053@127.0.0.1"\ntool = "/bin/sh"\n';
const WINDOW = 'start = "2026-01-01T22:00:00Z"\nduration = "2h"\nevery = "day"\n';

async function warnings(toml: string, features: readonly string[] = []): Promise<readonly string[]> {
  await using place = await createPlace();
  await mkdir(place.storage);
  await place.write(SERVER + toml);
  if (features.length > 0) {
    const store = open(place.storage);
    createServers({ store, clock: { now: () => 0 } }).configured([monitored("eda")]);
    const insert = "INSERT INTO history_features (server_id, daemon, name) VALUES ('eda', 'acmed', ?)";
    for (const name of features) store.sqlite.run(insert, [name]);
    store.close();
  }
  const { exitCode, out } = await check(place, "--no-poll");
  expect(exitCode).toBe(0);
  return out.split("\n").filter((line) => /^warning {2}(alerts|maintenance)/.test(line));
}

const override = (...lines: string[]) => `[[alerts.overrides]]\n${lines.join("\n")}\nenabled = false\n`;
const window = (servers: string) => `[[maintenance]]\nservers = ${servers}\n${WINDOW}`;
test.each<[string, string, readonly string[], readonly string[]]>([
  ["known servers", window('["e*"]'), [], []],
  [
    "an unknown server",
    window('["eda", "ead*"]') + override('server = "x?"'),
    [],
    [
      'warning  alerts.overrides[0]: has no effect: unknown server "x?"',
      'warning  maintenance[0]: unknown server "ead*"',
    ],
  ],
  [
    "an unseen feature",
    override('feature = "solver"') + override('server = "eda"', 'feature = "sloven*"'),
    ["solver"],
    ['warning  alerts.overrides[1]: matches nothing seen so far: server "eda", feature "sloven*"'],
  ],
  ["any feature before the first poll", override('feature = "any"'), [], []],
])("names in the config that match nothing: %s", async (_, toml, features, wanted) => {
  expect(await warnings(toml, features)).toEqual(wanted);
});
