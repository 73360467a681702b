import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createWebhook } from "../../../src/alerts/notify/webhook.ts";
import { selfSigned } from "./certificate.ts";
import { AT, failure, never, ONE } from "./notes.ts";

const folder = mkdtempSync(join(tmpdir(), "licmond-webhook-"));
const secretFile = join(folder, "secret");
const servers: Bun.Server<undefined>[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop(true);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Starts a receiver on loopback that records requests and bodies. */
function receiver(answer: () => Response | Promise<Response>, tls?: { cert: string; key: string }) {
  const got: { readonly request: Request; readonly body: string }[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    ...(tls && { tls }),
    async fetch(request) {
      got.push({ request, body: await request.text() });
      return answer();
    },
  });
  servers.push(server);
  return { url: `${tls ? "https" : "http"}://127.0.0.1:${server.port}/hook/token-HUSH`, got };
}

const send = (url: string, secret: string | null = null, signal = never) =>
  createWebhook({ url, urlFile: null, secretFile: secret, template: "json" }, { now: () => AT + 500 })(
    ONE,
    signal,
  );

test("posts the body with a signature over timestamp and body, with the secret as it is now", async () => {
  const { url, got } = receiver(() => new Response(null, { status: 204 }));
  for (const secret of ["HUSH-1", "HUSH-2"]) {
    await Bun.write(secretFile, `${secret}\n`);
    await send(url, secretFile);
    const { request, body } = got.at(-1) ?? expect.unreachable();
    const timestamp = String(Math.floor(AT / 1000));
    const digest = createHmac("sha256", secret).update(`${timestamp}.${body}`).digest("hex");
    expect(request.method).toBe("POST");
    expect(request.headers.get("x-licmond-timestamp")).toBe(timestamp);
    expect(request.headers.get("x-licmond-signature")).toBe(`sha256=${digest}`);
    expect(JSON.parse(body)).toMatchObject({ alerts: [{ rule: "seats" }] });
  }
  await send(url);
  expect(got.at(-1)?.request.headers.has("x-licmond-signature")).toBe(false);
});

test("the URL may stand in a file, which is read at each message, and in no word of a failure", async () => {
  const { url, got } = receiver(() => new Response());
  const urlFile = join(folder, "url");
  const byFile = createWebhook({ url: null, urlFile, secretFile: null, template: "json" }, { now: () => AT });
  expect((await failure(byFile(ONE, never))).message).toBe("The url_file cannot be read (ENOENT)");
  await Bun.write(urlFile, "file:///HUSH\n");
  const refused = await failure(byFile(ONE, never));
  expect(refused.message).toBe("The url_file holds no http:// or https:// URL");
  await Bun.write(urlFile, `${url}\n`);
  await byFile(ONE, never);
  expect(got.map(({ request }) => new URL(request.url).pathname)).toEqual(["/hook/token-HUSH"]);
});

test("a secret that cannot be read, or is empty, sends nothing", async () => {
  const { url, got } = receiver(() => new Response());
  const missing = await failure(send(url, join(folder, "none-HUSH")));
  expect(missing.message).toBe("The secret_file cannot be read (ENOENT)");
  await Bun.write(secretFile, "\n");
  expect((await failure(send(url, secretFile))).message).toBe("The secret_file is empty");
  expect(got).toEqual([]);
});

describe("rejected messages", () => {
  test.each([301, 302, 307, 308])("a redirect (%i) is not followed", async (status) => {
    const other = receiver(() => new Response());
    const { url } = receiver(() => new Response(null, { status, headers: { location: other.url } }));
    expect((await failure(send(url))).message).toBe(`It answered ${status}: redirects are not followed`);
    expect(other.got).toEqual([]);
  });

  test.each<[number, Record<string, string>, number | null]>([
    [429, { "retry-after": "7" }, 7_000],
    [503, { "retry-after": "999999999" }, 900_000],
    [500, {}, null],
  ])("an error (%i), with the pause that it asks for", async (status, headers, retryAfterMs) => {
    const { url } = receiver(() => new Response("HUSH", { status, headers }));
    expect(await failure(send(url))).toMatchObject({ message: `It answered ${status}`, retryAfterMs });
  });

  test("a closed port, and a receiver that never answers", async () => {
    const closed = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
    const url = `http://127.0.0.1:${closed.port}/HUSH`;
    closed.stop(true);
    expect((await failure(send(url))).message).toMatch(/^It cannot be reached \(\w+\)$/);
    const silent = receiver(() => new Promise<Response>(() => {}));
    const late = await failure(send(silent.url, null, AbortSignal.timeout(50)));
    expect(late.message).toBe("It did not answer in time");
  });

  test("a certificate of no authority, whatever the environment says", async () => {
    const { url, got } = receiver(() => new Response(), selfSigned("127.0.0.1"));
    const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
    try {
      const { message } = await failure(send(url));
      expect(message).toMatch(/^It cannot be reached \(.*(SELF_SIGNED|CERT|VERIFY).*\)$/);
    } finally {
      if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
    }
    expect(got).toEqual([]);
  });
});
