import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { post, type WriteTarget } from "../../../src/export/remote-write/request.ts";
import { HAS_OPENSSL, selfSigned } from "../../certificates.ts";

const NOW = Date.UTC(2026, 0, 1);
const folder = mkdtempSync(join(tmpdir(), "licmond-write-"));
const tokenFile = join(folder, "token");
await Bun.write(tokenFile, "token-HUSH\n");
const servers: Bun.Server<undefined>[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop(true);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function receiver(
  answer: (request: Request) => Response | Promise<Response>,
  tls?: { readonly cert: string; readonly key: string },
) {
  const got: { readonly headers: Headers; readonly body: Uint8Array; readonly method: string }[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    ...(tls && { tls: { cert: Bun.file(tls.cert), key: Bun.file(tls.key) } }),
    async fetch(request) {
      const { headers, method } = request;
      got.push({ headers, method, body: await request.bytes() });
      return answer(request);
    },
  });
  servers.push(server);
  return { url: `${tls ? "https" : "http"}://127.0.0.1:${server.port}/write`, got };
}

const write = async (
  target: Partial<WriteTarget> & { url: string },
  signal = new AbortController().signal,
) => {
  const whole = { username: null, tokenFile: null, ...target };
  const posted = await post(whole, new Uint8Array([1, 2, 3]), signal, () => NOW);
  expect(JSON.stringify(posted)).not.toContain("HUSH");
  return posted;
};

describe("a write", () => {
  test("has the headers of remote write 1.0 and the body unchanged", async () => {
    const { url, got } = receiver(() => new Response(null, { status: 204 }));
    expect(await write({ url, tokenFile })).toEqual({ outcome: "taken" });
    const [one] = got;
    expect([...(one?.body ?? [])]).toEqual([1, 2, 3]);
    expect(one?.method).toBe("POST");
    expect(one?.headers.toJSON()).toMatchObject({
      "content-type": "application/x-protobuf",
      "content-encoding": "snappy",
      "x-prometheus-remote-write-version": "0.1.0",
      authorization: "Bearer token-HUSH",
    });
  });

  test("sends a user's token as a password", async () => {
    const { url, got } = receiver(() => new Response());
    await write({ url, tokenFile, username: "12345" });
    expect(got[0]?.headers.get("authorization")).toBe(`Basic ${btoa("12345:token-HUSH")}`);
  });

  test.each([
    ["refused", [400, 401, 404, 413]],
    ["failed", [429, 500, 503, 302]],
  ])("is %s for the statuses %j", async (outcome, statuses) => {
    for (const status of statuses) {
      const headers = status === 302 ? { location: "http://127.0.0.1:1/elsewhere" } : {};
      const words = "out of order\n\u001b[31mtoken-HUSH";
      const { url, got } = receiver(() => new Response(words, { status, headers }));
      const posted = await write({ url, tokenFile });
      const why = "why" in posted ? posted.why : "";
      expect<string>(posted.outcome).toBe(outcome);
      expect(why).toStartWith(`It answered ${status}`);
      if (status !== 302) expect(why).toContain("out of order");
      expect(why).not.toMatch(/\p{Cc}/u);
      expect(got).toHaveLength(1);
    }
  });

  test.each([
    ["120", 120_000],
    ["0", 0],
    ["999999", 900_000],
    [new Date(NOW + 30_000).toUTCString(), 30_000],
    [new Date(NOW - 30_000).toUTCString(), 0],
    ["soon", null],
    [null, null],
  ])("Retry-After: %p asks for %p ms", async (header, retryAfterMs) => {
    const { url } = receiver(
      () => new Response(null, { status: 503, headers: header === null ? {} : { "retry-after": header } }),
    );
    expect(await write({ url })).toMatchObject({ outcome: "failed", retryAfterMs });
  });

  test("fails without an answer in time, and does not quote the URL", async () => {
    const { url } = receiver(() => new Promise<Response>(() => {}));
    const late = await write({ url }, AbortSignal.timeout(50));
    expect(late).toMatchObject({ outcome: "failed", why: "It did not answer in time" });
    const why = expect.stringMatching(/^It cannot be reached \(\w+\)$/);
    expect(await write({ url: "http://127.0.0.1:1/HUSH" })).toMatchObject({ outcome: "failed", why });
  });

  test.each([
    ["none-HUSH", null, "cannot be read (ENOENT)"],
    ["empty", "\n", "is empty"],
    ["two", "one HUSH\n\ntwo", "must contain"],
  ])("is not sent without its token: %s", async (name, text, why) => {
    const { url, got } = receiver(() => new Response());
    const file = join(folder, name);
    if (text !== null) await Bun.write(file, text);
    expect(await write({ url, tokenFile: file })).toMatchObject({
      outcome: "failed",
      why: expect.stringContaining(`The token_file ${why}`),
    });
    expect(got).toHaveLength(0);
  });

  test.skipIf(!HAS_OPENSSL)("is not sent to a self-signed certificate", async () => {
    const pair = await selfSigned(folder, "receiver", Date.now() - 1000, Date.now() + 86_400_000);
    const { url, got } = receiver(() => new Response(), pair);
    const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
    try {
      expect(await write({ url, tokenFile })).toMatchObject({ outcome: "failed" });
    } finally {
      if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
    }
    expect(got).toHaveLength(0);
  });
});
