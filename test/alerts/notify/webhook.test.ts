import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DeliveryError } from "../../../src/alerts/notify/note.ts";
import { createWebhook, type WebhookOptions } from "../../../src/alerts/notify/webhook.ts";
import { selfSigned } from "./certificate.ts";
import { AT, message, never, note } from "./notes.ts";

const folder = mkdtempSync(join(tmpdir(), "licmond-webhook-"));
const secretFile = join(folder, "secret");
const servers: Bun.Server<undefined>[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop(true);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Got {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  readonly body: string;
}

/** A receiver on loopback. */
function receiver(answer: (got: Got) => Response | Promise<Response>, tls?: { cert: string; key: string }) {
  const got: Got[] = [];
  const server = Bun.serve({
    ...{ hostname: "127.0.0.1", port: 0 },
    ...(tls && { tls }),
    async fetch(request) {
      const one = {
        method: request.method,
        path: new URL(request.url).pathname,
        headers: request.headers,
        body: await request.text(),
      };
      got.push(one);
      return answer(one);
    },
  });
  servers.push(server);
  return { url: `${tls ? "https" : "http"}://127.0.0.1:${server.port}/hook/token-HUSH`, got };
}

const webhook = (url: string, change: Partial<WebhookOptions> = {}) =>
  createWebhook({ url, secretFile: null, template: "json", ...change }, { now: () => AT + 500 });

/** How a delivery fails; fails itself when it does not. */
async function failure(sending: Promise<unknown>): Promise<DeliveryError> {
  try {
    await sending;
  } catch (error) {
    if (error instanceof DeliveryError) {
      expect(error.message).not.toContain("HUSH");
      return error;
    }
    throw error;
  }
  throw new Error("It was delivered");
}

test("posts the body with a signature over timestamp and body, with the secret as it is now", async () => {
  const { url, got } = receiver(() => new Response(null, { status: 204 }));
  const sender = webhook(url, { secretFile });
  for (const secret of ["HUSH-1", "HUSH-2"]) {
    await Bun.write(secretFile, `${secret}\n`);
    await sender.send(message([note(1)]), never);
    const { method, headers, body } = got.at(-1) ?? expect.unreachable();
    const timestamp = String(Math.floor(AT / 1000));
    expect([method, headers.get("x-licmond-timestamp")]).toEqual(["POST", timestamp]);
    expect(headers.get("x-licmond-signature")).toBe(
      `sha256=${createHmac("sha256", secret).update(`${timestamp}.${body}`).digest("hex")}`,
    );
    expect(JSON.parse(body)).toMatchObject({ alerts: [{ rule: "usage" }] });
  }
  await webhook(url).send(message([note(1)]), never);
  expect(got.at(-1)?.headers.has("x-licmond-signature")).toBe(false);
});

test("a secret that cannot be read, or is empty, sends nothing", async () => {
  const { url, got } = receiver(() => new Response());
  const missing = await failure(
    webhook(url, { secretFile: join(folder, "none-HUSH") }).send(message([note(1)]), never),
  );
  expect(missing.message).toBe("The secret_file cannot be read (ENOENT)");
  await Bun.write(secretFile, "\n");
  expect((await failure(webhook(url, { secretFile }).send(message([note(1)]), never))).message).toBe(
    "The secret_file is empty",
  );
  expect(got).toEqual([]);
});

describe("what is not taken", () => {
  test.each([301, 302, 307, 308])("a redirect (%i) is not followed", async (status) => {
    const other = receiver(() => new Response());
    const { url } = receiver(() => new Response(null, { status, headers: { location: other.url } }));
    expect((await failure(webhook(url).send(message([note(1)]), never))).message).toBe(
      `It answered ${status}: redirects are not followed`,
    );
    expect(other.got).toEqual([]);
  });

  test("an error, with the pause that it asks for", async () => {
    const { url } = receiver(() => new Response("HUSH", { status: 429, headers: { "retry-after": "7" } }));
    expect(await failure(webhook(url).send(message([note(1)]), never))).toMatchObject({
      message: "It answered 429",
      retryAfterMs: 7000,
    });
    const long = receiver(() => new Response(null, { status: 503, headers: { "retry-after": "999999999" } }));
    expect((await failure(webhook(long.url).send(message([note(1)]), never))).retryAfterMs).toBe(900_000);
    const broken = receiver(() => new Response(null, { status: 500 }));
    expect(await failure(webhook(broken.url).send(message([note(1)]), never))).toMatchObject({
      message: "It answered 500",
      retryAfterMs: null,
    });
  });

  test("nobody there, and somebody who never answers", async () => {
    const closed = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
    const { port } = closed;
    closed.stop(true);
    expect(
      (await failure(webhook(`http://127.0.0.1:${port}/HUSH`).send(message([note(1)]), never))).message,
    ).toMatch(/^It cannot be reached \(\w+\)$/);
    const { url } = receiver(() => new Promise<Response>(() => {}));
    expect((await failure(webhook(url).send(message([note(1)]), AbortSignal.timeout(50)))).message).toBe(
      "It did not answer in time",
    );
  });

  test("a certificate that nobody vouches for, whatever the environment says", async () => {
    const { url, got } = receiver(() => new Response(), selfSigned("127.0.0.1"));
    const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
    try {
      const error = await failure(webhook(url).send(message([note(1)]), never));
      expect(error.message).toMatch(/^It cannot be reached \(.*(SELF_SIGNED|CERT|VERIFY).*\)$/);
    } finally {
      if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
    }
    expect(got).toEqual([]);
  });
});
