import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { listenOnSockets } from "../../src/http/listen.ts";
import { kindOf } from "../../src/http/without-key.ts";
import { type Bench, bench, NOW, PLENTY } from "./make.ts";
import { down, memoryStreams, readFrames } from "./streams/rig.ts";

let at: Bench;
let directory: string;
const opened: { stop(graceMs: number): Promise<void> }[] = [];
beforeEach(() => {
  const streams = memoryStreams((id) => kindOf(id) === "socket");
  at = bench({ streams, quotas: { take: () => ({ period: "day", limit: 0, until: NOW + 1000 }) } });
  directory = mkdtempSync(join(tmpdir(), "licmond-sockets-"));
});
afterEach(async () => {
  for (const sockets of opened.splice(0)) await sockets.stop(0);
  rmSync(directory, { recursive: true });
});

const open = (of: Bench = at) => {
  const sockets = listenOnSockets(of.app, directory, of.deps.log("http"));
  opened.push(sockets);
  return sockets;
};
const ask = (socket: string, path: string, init: BunFetchRequestInit = {}) =>
  fetch(`http://localhost${path}`, { unix: join(directory, socket), ...init });
const JSON_BODY = { method: "POST", body: "{}", headers: { "content-type": "application/json" } };

describe("a client that can open a socket needs no key", () => {
  test("modes are those of root and of the group, and the directory has nothing else", async () => {
    const sockets = open();
    expect(readdirSync(directory).sort()).toEqual(["admin.sock", "viewer.sock"]);
    const modes = ["admin.sock", "viewer.sock"].map((name) => statSync(join(directory, name)).mode & 0o777);
    expect(modes).toEqual([0o600, 0o660]);
    await sockets.stop(0);
    expect(readdirSync(directory)).toEqual([]);
  });

  test.each([
    ["admin.sock", "/api/keys", {}, 200],
    ["viewer.sock", "/api/picture", {}, 200],
    ["viewer.sock", "/api/keys", {}, 403],
    ["viewer.sock", "/api/licenses/rescan", JSON_BODY, 403],
    ["admin.sock", "/api/licenses/rescan", JSON_BODY, 200],
    ["viewer.sock", "/nowhere", {}, 404],
    ["admin.sock", "/api/picture", { headers: { "x-api-key": "lmk_wrong" } }, 401],
  ] as const)("%s %s %o: %p", async (socket, path, init, status) => {
    open();
    const response = await ask(socket, path, init as BunFetchRequestInit);
    expect(response.status).toBe(status);
    if (status === 403) expect(await response.text()).toContain("this socket's role is viewer");
  });

  test("a key overrides the socket's role, and its quota applies", async () => {
    open();
    const response = await ask("viewer.sock", "/api/keys", { headers: { "x-api-key": at.keys.admin } });
    expect(response.status).toBe(429);
  });

  test("the audit trail shows the socket", async () => {
    open();
    await ask("admin.sock", "/api/licenses/rescan", JSON_BODY);
    expect(at.linesOf("audit").map(({ fields }) => fields)).toMatchObject([
      { by: null, via: "socket", role: "admin", address: "local" },
    ]);
  });

  test("a socket has a bucket, like a key", async () => {
    const limits = { ...PLENTY, burst: 2, requestsPerMinute: 1 };
    open(bench({}, { limits }));
    const statuses = [];
    for (let n = 0; n < 3; n++) statuses.push((await ask("viewer.sock", "/api/picture")).status);
    expect(statuses).toEqual([200, 200, 429]);
    expect((await ask("admin.sock", "/api/picture")).status).toBe(200);
  });

  test("streams work too", async () => {
    open();
    const { next } = readFrames(await ask("viewer.sock", "/stream/combined?events=server_status"));
    expect(await next()).toEqual({ retry: 3000 });
    (at.deps.streams as ReturnType<typeof memoryStreams>).emit(down("eda"));
    expect((await next())?.data).toMatchObject({ server: "eda", to: "down" });
  });

  test("WebSockets too", async () => {
    open();
    const { promise, resolve } = Promise.withResolvers<string>();
    const head =
      "Host: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n";
    const key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let got = "";
    const client = await Bun.connect({
      unix: join(directory, "viewer.sock"),
      socket: {
        open: (socket) => void socket.write(`GET /ws/metrics HTTP/1.1\r\n${head}${key}\r\n`),
        data(_, bytes) {
          got += bytes.toString();
          if (got.includes('"type":"metrics"')) resolve(got);
        },
      },
    });
    expect(await promise).toStartWith("HTTP/1.1 101");
    client.end();
  });
});

describe("obstacles", () => {
  test("a stale socket and a file are replaced", async () => {
    const left = Bun.listen({ unix: join(directory, "admin.sock"), socket: { data() {} } });
    writeFileSync(join(directory, "viewer.sock"), "no socket");
    const stale = join(directory, "stale");
    // After a crash, the socket's file remains without a listener.
    renameSync(join(directory, "admin.sock"), stale);
    left.stop(true);
    renameSync(stale, join(directory, "admin.sock"));
    open();
    expect((await ask("admin.sock", "/api/keys")).status).toBe(200);
    expect((await ask("viewer.sock", "/api/picture")).status).toBe(200);
  });

  test("without its directory the daemon still serves its port", async () => {
    const nowhere = join(directory, "nowhere");
    opened.push(listenOnSockets(at.app, nowhere, at.deps.log("http")));
    expect(at.linesOf("http").map(({ level, fields }) => [level, fields.path])).toEqual([
      ["warn", join(nowhere, "admin.sock")],
      ["warn", join(nowhere, "viewer.sock")],
    ]);
  });
});
