import { codeOf } from "../../domain/error-code.ts";
import type { Clock } from "../../domain/time/clock.ts";
import { DeliveryError, readSecret, type Sender } from "./note.ts";

import { render, type Template } from "./templates.ts";

export interface WebhookOptions {
  readonly url: string;
  readonly secretFile: string | null;
  readonly template: Template;
}

/** Longest time that a receiver may ask to be left alone. */
const MAX_RETRY_AFTER_MS = 15 * 60_000;

/**
 * Posts messages to a URL. With a secret, `X-Licmond-Signature` is `sha256=` and the HMAC-SHA256, in hex, of
 * `<X-Licmond-Timestamp>.<body>`; the timestamp is in seconds, and a receiver refuses old ones. Only 2xx counts as
 * taken; redirects are not followed, and certificates are verified whatever the environment says.
 */
export function createWebhook({ url, secretFile, template }: WebhookOptions, clock: Clock): Sender {
  return {
    async send(message, signal) {
      const { body, headers } = render(template, message);
      const timestamp = String(Math.floor(clock.now() / 1000));
      const secret = secretFile === null ? null : await readSecret(secretFile);
      const response = await post(url, body, signal, {
        ...headers,
        "user-agent": "licmond",
        "x-licmond-timestamp": timestamp,
        ...(secret !== null && { "x-licmond-signature": signature(secret, timestamp, body) }),
      });
      const { status } = response;
      // Nobody reads what it says; the connection need not wait for it.
      await response.body?.cancel().catch(() => {});
      if (status >= 200 && status < 300) return null;
      if (status >= 300 && status < 400) {
        throw new DeliveryError(`It answered ${status}: redirects are not followed`);
      }
      throw new DeliveryError(`It answered ${status}`, {
        retryAfterMs: retryAfter(response.headers.get("retry-after")),
      });
    },
  };
}

export function signature(secret: string, timestamp: string, body: string): string {
  const digest = new Bun.CryptoHasher("sha256", secret).update(`${timestamp}.${body}`).digest("hex");
  return `sha256=${digest}`;
}

async function post(
  url: string,
  body: string,
  signal: AbortSignal,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  try {
    return await fetch(url, {
      method: "POST",
      body,
      headers,
      signal,
      redirect: "manual" as const,
      tls: { rejectUnauthorized: true },
    });
  } catch (error) {
    if (signal.aborted) throw new DeliveryError("It did not answer in time");
    // The words of the error may quote the URL, and that may hold a token.
    throw new DeliveryError(`It cannot be reached (${codeOf(error)})`);
  }
}

function retryAfter(header: string | null): number | null {
  if (header === null || !/^\d{1,9}$/.test(header)) return null;
  return Math.min(Number(header) * 1000, MAX_RETRY_AFTER_MS);
}
