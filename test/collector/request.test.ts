import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { askOverHttp, type RequestOptions } from "../../src/collector/request.ts";
import type { HttpQuestion, RequestStep } from "../../src/managers/manager.ts";
import { HAS_OPENSSL, type Pair, selfSigned } from "../certificates.ts";
import { type Answer, createFakeService, hanging } from "../fake-service.ts";

const SECRET = 'pä"ss&w?rd';

const ask = (
  question: Partial<HttpQuestion> & { url: string },
  more: Partial<RequestOptions> & Pick<RequestStep, "login"> = {},
) => {
  const { login, ...options } = more;
  const step = { name: "one", request: { method: "GET", ...question }, ...(login && { login }) } as const;
  return askOverHttp(step, { secret: null, ca: null, limitMs: 20_000, ...options });
};
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
const json: Answer = () => Response.json({ well: true });

describe("a request", () => {
  test("encodes its query, and is shown without secrets", async () => {
    await using service = createFakeService({ "/status": json });
    const run = await ask(
      {
        url: `${service.url}/status`,
        query: { name: "a b&c=ü", token: "{secret}" },
        headers: { "X-Token": "{secret}", Authorization: "Basic {secret_base64}" },
      },
      { secret: SECRET },
    );
    expect(run).toMatchObject({ failure: null, exitCode: 200, truncated: false, broken: false });
    expect(run.argv).toEqual(["GET", `${service.url}/status?name=a+b%26c%3D%C3%BC&token=***`]);
    expect(text(run.stdout)).toBe('{"well":true}');
    const [{ method, path, headers } = { method: "", path: "", headers: new Headers() }] = service.asked;
    expect(method).toBe("GET");
    expect([...new URLSearchParams(path.split("?")[1])]).toEqual([
      ["name", "a b&c=ü"],
      ["token", SECRET],
    ]);
    expect(Buffer.from(headers.get("x-token") ?? "", "latin1").toString()).toBe(SECRET);
    expect(headers.get("authorization")).toBe(`Basic ${Buffer.from(SECRET).toString("base64")}`);
    expect(headers.get("accept-encoding")).toBe("identity");
  });

  test.each([
    ["application/json", '{"password":"{secret}"}', JSON.stringify({ password: SECRET })],
    ["application/x-www-form-urlencoded", "password={secret}", `password=${encodeURIComponent(SECRET)}`],
    ["text/plain", "{secret}", SECRET],
  ])("escapes a secret in a body of %s", async (type, body, sent) => {
    await using service = createFakeService({ "/": json });
    await ask(
      { url: service.url, method: "POST", headers: { "content-type": type }, body },
      { secret: SECRET },
    );
    expect(service.asked).toMatchObject([{ method: "POST", body: sent }]);
  });

  test("uses the token of its login", async () => {
    await using service = createFakeService({
      "/login": ({ body }) =>
        body === SECRET ? Response.json({ token: "t-1" }) : new Response("no", { status: 401 }),
      "/status": json,
    });
    const login = {
      method: "POST",
      url: `${service.url}/login`,
      body: "{secret}",
      token: (answer: string) => (JSON.parse(answer) as { token?: string }).token ?? null,
    } as const;
    const question = { url: `${service.url}/status`, headers: { authorization: "Bearer {token}" } };
    const run = await ask(question, { login, secret: SECRET });
    expect(run).toMatchObject({ failure: null, token: "t-1" });
    expect(service.asked.map(({ path, headers }) => [path, headers.get("authorization")])).toEqual([
      ["/login", null],
      ["/status", "Bearer t-1"],
    ]);
    const refused = await ask(question, { login, secret: "another" });
    expect(refused).toMatchObject({ exitCode: 401, argv: ["POST", `${service.url}/login`] });
    expect(refused.failure?.message).toContain("401 Unauthorized");
    const tokenless = await ask(question, { login: { ...login, token: () => null }, secret: SECRET });
    expect(tokenless.failure).toMatchObject({ code: "LICENSE_QUERY_FAILED" });
    const token = (answer: string) => JSON.parse(`<${answer}`);
    const odd = await ask(question, { login: { ...login, token }, secret: SECRET });
    expect(odd.failure).toEqual(tokenless.failure);
    // The answer may contain secrets.
    expect(text(tokenless.stdout)).toBe("");
    expect(service.asked.filter(({ path }) => path === "/status")).toHaveLength(1);
  });

  test.each(["file:///etc/passwd", "unix:/run/x", "ftp://lic1/", "nothing"])("rejects %s", async (url) => {
    const message = `${url} is not an http: or https: URL.`;
    expect((await ask({ url })).failure).toEqual({ code: "LICENSE_QUERY_FAILED", message });
  });

  test("ignores the environment's proxy", async () => {
    await using service = createFakeService({ "/": json });
    const before = process.env.http_proxy;
    process.env.http_proxy = "http://127.0.0.1:1";
    try {
      expect((await ask({ url: service.url })).failure).toBeNull();
    } finally {
      if (before === undefined) delete process.env.http_proxy;
      else process.env.http_proxy = before;
    }
  });
});

describe("a redirect", () => {
  const to =
    (location: string, status = 302) =>
    () =>
      new Response(null, { status, headers: { location } });

  test("to the same origin is followed three times", async () => {
    const redirects = { "/0": to("/1"), "/1": to("/2"), "/2": to("/3", 307), "/3": to("4") };
    await using service = createFakeService({ ...redirects, "/4": json });
    expect(await ask({ url: `${service.url}/1` })).toMatchObject({ failure: null, exitCode: 200 });
    expect((await ask({ url: `${service.url}/0` })).failure?.message).toEndWith("after 3 redirects.");
  });

  test("is not followed to another origin, for a POST, or with a secret or token", async () => {
    await using other = createFakeService({ "/": json });
    await using service = createFakeService({
      "/other": to(`${other.url}/`),
      "/own": to("/"),
      "/nowhere": to("http://"),
      "/": json,
      "/login": () => new Response("t-1"),
    });
    const why = async (...asked: Parameters<typeof ask>) => {
      const { failure, exitCode } = await ask(...asked);
      expect(failure?.code).toBe("LICENSE_QUERY_FAILED");
      expect(exitCode).toBe(302);
      return failure?.message;
    };
    const own = `${service.url}/own`;
    const secretly = `${service.address} redirects (302) and requests with a secret do not follow redirects.`;
    expect(await why({ url: `${service.url}/other` })).toContain(
      "redirects to another origin are not followed",
    );
    expect(await why({ url: `${service.url}/nowhere` })).toContain("not to a valid URL");
    expect(await why({ url: own, method: "POST" })).toContain("POST requests do not follow redirects");
    expect(await why({ url: own, query: { token: "{secret}" } }, { secret: SECRET })).toBe(secretly);
    expect(await why({ url: own, headers: { "x-token": "{secret}" } }, { secret: SECRET })).toBe(secretly);
    const login = { method: "POST", url: `${service.url}/login`, token: (answer: string) => answer } as const;
    expect(await why({ url: own, headers: { "x-token": "{token}" } }, { login })).toBe(secretly);
    expect(other.asked).toEqual([]);
    expect(service.asked.map(({ path }) => path)).not.toContain("/");
  });
});

describe("an answer", () => {
  const LONG = Buffer.alloc(17 * 2 ** 20, "x");

  test.each<[string, (bytes: Buffer) => Uint8Array]>([
    ["gzip", gzipSync],
    ["deflate", deflateSync],
    ["br", brotliCompressSync],
  ])("in %s is decompressed, up to 16 MiB", async (encoding, pack) => {
    const packed = (bytes: Buffer) => () =>
      new Response(pack(bytes), { headers: { "content-encoding": encoding } });
    await using service = createFakeService({ "/": packed(Buffer.from("well")), "/bomb": packed(LONG) });
    expect(text((await ask({ url: service.url })).stdout)).toBe("well");
    const bomb = await ask({ url: `${service.url}/bomb` });
    expect(bomb).toMatchObject({ truncated: true, failure: null });
    expect(bomb.stdout).toHaveLength(0);
  });

  test("in an invalid encoding is a failure", async () => {
    const odd = (encoding: string) => () =>
      new Response("well", { headers: { "content-encoding": encoding } });
    await using service = createFakeService({
      "/odd": odd("zip?<b>"),
      "/constructor": odd("constructor"),
      "/broken": odd("gzip"),
    });
    const why = async (path: string) => (await ask({ url: service.url + path })).failure?.message;
    expect(await why("/odd")).toEndWith("cannot be decompressed (an unknown encoding).");
    expect(await why("/constructor")).toEndWith("cannot be decompressed (constructor).");
    expect(await why("/broken")).toEndWith("cannot be decompressed (gzip).");
  });

  test("of more than 16 MiB is cut to its first MiB", async () => {
    await using service = createFakeService({ "/": () => new Response(LONG) });
    const run = await ask({ url: service.url });
    expect(run).toMatchObject({ truncated: true, failure: null });
    expect(run.stdout).toHaveLength(2 ** 20);
  });

  test.each([
    [403, "403 Forbidden. Check the server's `secret_file`."],
    [500, "500 Internal Server Error."],
    [599, "599."],
  ])("with the status %i is a failure", async (status, words) => {
    await using service = createFakeService({ "/": () => new Response("go away", { status }) });
    const run = await ask({ url: service.url });
    expect(run.failure?.message).toBe(`${service.address} answered ${words}`);
    expect(text(run.stdout)).toBe("go away");
  });

  test("that hangs times out, in its body or before it", async () => {
    const never = Promise.withResolvers<Response>();
    await using service = createFakeService({ "/body": () => hanging("part"), "/head": () => never.promise });
    const inBody = await ask({ url: `${service.url}/body` }, { limitMs: 300 });
    expect(inBody).toMatchObject({ timedOut: true, aborted: false, broken: true });
    expect(text(inBody.stdout)).toBe("part");
    expect(await ask({ url: `${service.url}/head` }, { limitMs: 300 })).toMatchObject({
      timedOut: true,
      aborted: false,
    });
    const off = new AbortController();
    const calledOff = ask({ url: `${service.url}/body` }, { signal: off.signal });
    setTimeout(() => off.abort(), 100);
    expect(await calledOff).toMatchObject({ timedOut: false, aborted: true });
    never.resolve(new Response());
  });
});

describe("a server", () => {
  const OK = "HTTP/1.1 200 OK\r\n";
  test.each([
    ["closes at once", ""],
    ["speaks no HTTP", "SSH-2.0-Open\r\n\r\n"],
    ["ends before its answer", `${OK}Content-Length: 100\r\n\r\nhello`],
    ["ends within its last chunk", `${OK}Transfer-Encoding: chunked\r\n\r\n9\r\nhello`],
  ])("that %s is reported", async (_, said) => {
    const server = createServer((socket: Socket) => {
      socket.on("error", () => {});
      socket.once("data", () => socket.end(said));
    });
    const { promise: listens, resolve } = Promise.withResolvers<void>();
    server.listen(0, "127.0.0.1", resolve);
    await listens;
    const { port } = server.address() as { port: number };
    const run = await ask(
      { url: `http://127.0.0.1:${port}/`, query: { token: "{secret}" } },
      { secret: SECRET },
    );
    server.close();
    expect(run.failure !== null || run.broken).toBe(true);
    expect(JSON.stringify(run.failure)).not.toContain(encodeURIComponent(SECRET));
  });

  test("that does not listen is unreachable", async () => {
    const refused = await ask({ url: "http://127.0.0.1:1/" });
    expect(refused.failure?.code).toBe("LICENSE_SERVER_UNREACHABLE");
    expect(refused.failure?.message).toContain("127.0.0.1:1 (ECONNREFUSED)");
    expect((await ask({ url: "http://no-such-host.invalid/" })).failure?.code).toBe(
      "LICENSE_SERVER_UNREACHABLE",
    );
  });
});

describe.skipIf(!HAS_OPENSSL)("over TLS", () => {
  let folder = "";
  let own: Pair;
  let other: Pair;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "licmond-request-"));
    const now = Date.now();
    own = await selfSigned(folder, "own", now - 86_400_000, now + 86_400_000);
    other = await selfSigned(folder, "other", now - 86_400_000, now + 86_400_000);
  });
  afterAll(() => rm(folder, { recursive: true }));
  const service = () =>
    createFakeService({ "/": json }, { cert: Bun.file(own.cert), key: Bun.file(own.key) });

  test("only certificates of ca_file are trusted", async () => {
    await using https = service();
    const ca = await Bun.file(own.cert).text();
    const wrong = await Bun.file(other.cert).text();
    // This order matters: a trusted connection must not be reused for another server.
    expect(await ask({ url: https.url }, { ca })).toMatchObject({ failure: null, exitCode: 200 });
    for (const each of [null, wrong]) {
      const { failure } = await ask({ url: https.url }, { ca: each });
      expect(failure?.code).toBe("LICENSE_QUERY_FAILED");
      expect(failure?.message).toContain(
        "is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT). Set the server's `ca_file`",
      );
    }
    expect(https.asked).toHaveLength(1);
    expect((await ask({ url: https.url }, { ca: "no PEM" })).failure?.message).toContain(
      "contains no PEM certificate",
    );
  });

  test("a server without TLS is recognized", async () => {
    await using plain = createFakeService({ "/": json });
    const { failure } = await ask({ url: `https://${plain.address}/` });
    expect(failure?.message).toContain("violates the TLS protocol");
  });
});
