import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Listening, listen } from "../../src/http/listen.ts";
import { until } from "../until.ts";
import { raw as send } from "./doors.ts";
import { type Bench, bench } from "./make.ts";

let at: Bench;
let listening: Listening;
let base: string;

beforeAll(() => {
  at = bench();
  listening = listen(at.app, { host: "127.0.0.1", port: 0 });
  base = `http://127.0.0.1:${listening.port}`;
});
afterAll(() => listening.stop(1000));

const raw = (text: string, whole?: RegExp) => send(listening.port, text, whole);
const admin = () => ({ "x-api-key": at.keys.admin });

describe("over a real port", () => {
  test("HEAD has the headers of GET and no body", async () => {
    for (const encoding of ["identity", "gzip"]) {
      const headers = { ...admin(), "accept-encoding": encoding };
      const got = await fetch(`${base}/api/licenses`, { headers, decompress: false });
      const head = await fetch(`${base}/api/licenses`, { headers, decompress: false, method: "HEAD" });
      expect([head.status, await head.text()]).toEqual([200, ""]);
      expect(head.headers.get("etag")).toBe(got.headers.get("etag"));
      expect(head.headers.get("content-encoding")).toBe(encoding === "gzip" ? "gzip" : null);
      expect(head.headers.get("content-length")).toBe(String((await got.arrayBuffer()).byteLength));
    }
  });

  const CHUNK = `${(400).toString(16)}\r\n${" ".repeat(400)}\r\n`;
  test.each([
    ["grows too long in chunks", `Transfer-Encoding: chunked\r\n\r\n${CHUNK.repeat(4)}`],
    ["claims 100 GB", "Content-Length: 100000000000\r\n\r\n"],
  ])("a body that %s is refused with the error body", async (_, rest) => {
    const key = `X-API-Key: ${at.keys.admin}\r\nContent-Type: application/json\r\n`;
    const answer = await raw(`POST /api/licenses/rescan HTTP/1.1\r\nHost: lic\r\n${key}${rest}`);
    expect(answer).toStartWith("HTTP/1.1 413");
    expect(answer).toContain('"code":"BODY_TOO_LARGE"');
  });

  test.each([
    ["GET /api/ping/../keys HTTP/1.1", 401],
    ["GET //api/keys HTTP/1.1", 401],
    ["GET /api/%6beys HTTP/1.1", 404],
    ["GET http://elsewhere/api/keys HTTP/1.1", 401],
    ["GET /api/keys#/api/ping HTTP/1.1", 401],
    ["GET /api/ping%2f..%2fkeys HTTP/1.1", 404],
    ["GET /API/keys HTTP/1.1", 404],
    ["PUT /api/keys HTTP/1.1", 405],
    ["GET /api/keys/ HTTP/1.1", 401],
  ])("%s does not bypass the gate", async (line, status) => {
    const answer = await raw(`${line}\r\nHost: lic\r\n\r\n`);
    expect(answer.slice(0, 12)).not.toBe("HTTP/1.1 200");
    expect([status, 404, 400]).toContain(Number(answer.slice(9, 12)));
    if (!answer.includes("400")) expect(answer).toMatch(/x-request-id: /i);
  });

  test.each([
    ["HTTP/1.0", ""],
    ["HTTP/1.1", "Host:\r\n"],
    ["HTTP/1.1", "Host: a b<>\r\n"],
    ["HTTP/1.1", "Host: x/api/keys?\r\n"],
    ["HTTP/1.1", "Host: u:p@x\r\n"],
  ])("%s with %j reaches the same paths, behind the same gate", async (version, host) => {
    const ask = (path: string, more = "") => raw(`GET ${path} ${version}\r\n${host}${more}\r\n`);
    const key = `X-API-Key: ${at.keys.admin}\r\n`;
    expect(await ask("/api/ping")).toStartWith("HTTP/1.1 200");
    expect(await ask("/api/licenses/servers/eda", key)).toStartWith("HTTP/1.1 200");
    expect(await ask("/api/licenses/features?limit=0", key)).toContain("INVALID_QUERY");
    for (const path of ["/api/keys", "/api/licenses/servers/eda", "/api/keys/x"]) {
      expect(await ask(path)).toStartWith("HTTP/1.1 401");
    }
    for (const path of ["/a://b/api/ping", "/a://b/api/keys", "/x/api/ping", "//x/api/ping"]) {
      expect(await ask(path, key)).toStartWith("HTTP/1.1 404");
    }
  });

  /**
   * Bun refuses these requests before our code runs. The description in the OpenAPI document mentions this.
   */
  test.each([
    ["no request line", "hello\r\n\r\n", 400],
    ["HTTP/1.1 without Host", "GET /api/ping HTTP/1.1\r\n\r\n", 400],
    ["a header without a colon", "GET /api/ping HTTP/1.1\r\nHost: x\r\nfoo\r\n\r\n", 400],
    ["a folded header", "GET /api/ping HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n", 400],
    ["NUL in a header", "GET /api/ping HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n", 400],
    [
      "two ways to tell the length",
      "POST /api/reload HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      400,
    ],
    ["a length that is none", "POST /api/reload HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400],
    ["headers over 16 KiB", `GET /api/ping HTTP/1.1\r\nHost: x\r\nA: ${"a".repeat(17_000)}\r\n\r\n`, 431],
    ["a URL over 16 KiB", `GET /api/ping?${"a".repeat(17_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
    ["201 headers", `GET /api/ping HTTP/1.1\r\nHost: x\r\n${"A: b\r\n".repeat(201)}\r\n`, 431],
    ["HTTP/3", "GET /api/ping HTTP/3.0\r\nHost: x\r\n\r\n", 505],
    ["no version", "GET /api/ping\r\n\r\n", 505],
    ["an unknown method", "BREW /api/ping HTTP/1.1\r\nHost: x\r\n\r\n", null],
  ])("%s is refused with a status only", async (_, text, status) => {
    const answer = await raw(text);
    if (status === null) expect(answer).toBe("");
    else expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [^{]*\r\n\r\n$`));
  });

  test("pipelined requests with immediate answers are answered in order", async () => {
    const ask = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
    const answer = await raw(ask("/api/ping") + ask("/api/licenses") + ask("/api/nowhere"), /404.*\}$/s);
    const statuses = [...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
    expect(statuses).toEqual(["200", "401", "404"]);
  });

  /** Bun closes the connection here. The description in the OpenAPI document mentions this. */
  test("a pipelined request behind a pending answer closes the connection", async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const { collector } = bench().deps;
    const site = bench({ collector: { ...collector, rescan: () => held.then(() => []) } });
    const door = listen(site.app, { host: "127.0.0.1", port: 0 });
    const slow = `POST /api/licenses/rescan HTTP/1.1\r\nHost: x\r\nX-API-Key: ${site.keys.admin}\r\nContent-Length: 0\r\n\r\n`;
    expect(await send(door.port, `${slow}GET /api/ping HTTP/1.1\r\nHost: x\r\n\r\n`)).toBe("");
    release();
    await door.stop(1000);
  });

  test.each([
    ["a length", "Content-Length: 500\r\n\r\n{"],
    ["chunks", 'Transfer-Encoding: chunked\r\n\r\n5\r\n{"nam'],
  ])("a client that disconnects in the middle of a body with %s is not our error", async (_, rest) => {
    at.logged.length = 0;
    const usedBefore = at.deps.keys.list().find(({ role }) => role === "admin")?.lastUsedAt;
    at.now++;
    const socket = await Bun.connect({ hostname: "127.0.0.1", port: listening.port, socket: { data() {} } });
    socket.write(
      `POST /api/keys HTTP/1.1\r\nHost: x\r\nX-API-Key: ${at.keys.admin}\r\nContent-Type: application/json\r\n${rest}`,
    );
    const began = () => at.deps.keys.list().find(({ role }) => role === "admin")?.lastUsedAt !== usedBefore;
    await until("the key is looked at", () => began() || undefined);
    socket.terminate();
    await until(
      "the end is logged",
      () => at.logged.some(({ message }) => message === "Request") || undefined,
    );
    expect(at.logged.map(({ level, message, fields }) => [level, message, fields.status])).toEqual([
      ["debug", "The client disconnected before its answer", undefined],
      ["debug", "Request", 499],
    ]);
  });
});

describe("the port", () => {
  test("in use is an error with a fix", () => {
    expect(() => listen(bench().app, { host: "127.0.0.1", port: listening.port })).toThrow(
      /Another program listens on .*http\.port/,
    );
  });

  test("of another host is an error with a fix", () => {
    expect(() => listen(bench().app, { host: "192.0.2.77", port: 0 })).toThrow(/http\.host|192\.0\.2\.77/);
  });

  test("stop lets a running request finish and closes the port", async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const { collector } = bench().deps;
    const rescan = () => {
      begin();
      return held.then(() => []);
    };
    const site = bench({ collector: { ...collector, rescan } });
    const door = listen(site.app, { host: "127.0.0.1", port: 0 });
    const headers = { "x-api-key": site.keys.admin };
    const rescanned = `http://127.0.0.1:${door.port}/api/licenses/rescan`;
    const running = fetch(rescanned, { method: "POST", headers });
    await begun;
    const stopped = door.stop(5_000);
    release();
    expect((await running).status).toBe(200);
    await stopped;
    expect(fetch(`http://127.0.0.1:${door.port}/api/ping`)).rejects.toThrow();
  });
});
