import type { Notification } from "../../config/config.ts";
import { codeOf } from "../../domain/error-code.ts";
import type { Clock } from "../../domain/time/clock.ts";
import { DeliveryError, readSecret, type Send } from "./note.ts";
import { render } from "./templates.ts";

export type WebhookOptions = Pick<
  Extract<Notification, { readonly type: "webhook" }>,
  "url" | "urlFile" | "secretFile" | "template"
>;

/** Longest time that a receiver may ask to be left alone. */
const MAX_RETRY_AFTER_MS = 15 * 60_000;

/**
 * Posts messages to a URL. With a secret, `X-Licmond-Signature` is `sha256=` and the HMAC-SHA256, in hex, of
 * `<X-Licmond-Timestamp>.<body>`; the timestamp is in seconds, and a receiver refuses old ones. Only 2xx counts as
 * taken; redirects are not followed, and certificates are verified whatever the environment says.
 */
export function createWebhook(options: WebhookOptions, clock: Clock): Send {
  const { secretFile, template } = options;
  return async (message, signal) => {
    const { body, headers } = render(template, message);
    const timestamp = String(Math.floor(clock.now() / 1000));
    const secret = await readSecret(secretFile);
    const response = await fetch(await urlOf(options), {
      method: "POST",
      body,
      headers: {
        ...headers,
        "user-agent": "licmond",
        "x-licmond-timestamp": timestamp,
        ...(secret !== null && { "x-licmond-signature": signature(secret, timestamp, body) }),
      },
      signal,
      redirect: "manual",
      tls: { rejectUnauthorized: true },
    }).catch((error) => {
      if (signal.aborted) throw new DeliveryError("It did not answer in time");
      // The words of the error may quote the URL, and that may hold a token.
      throw new DeliveryError(`It cannot be reached (${codeOf(error)})`);
    });
    const { status } = response;
    // The body of the answer is not read; the connection need not wait for it.
    await response.body?.cancel().catch(() => {});
    if (status >= 200 && status < 300) return null;
    if (status >= 300 && status < 400)
      throw new DeliveryError(`It answered ${status}: redirects are not followed`);
    throw new DeliveryError(`It answered ${status}`, retryAfter(response.headers.get("retry-after")));
  };
}

/** The URL, or what its file holds now: a message says nothing of it, because it may be a secret. */
async function urlOf({ url, urlFile }: WebhookOptions): Promise<string> {
  const text = url ?? (await readSecret(urlFile, "url_file"))?.trim() ?? "";
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
  throw new DeliveryError("The url_file holds no http:// or https:// URL");
}

function signature(secret: string, timestamp: string, body: string): string {
  const digest = new Bun.CryptoHasher("sha256", secret).update(`${timestamp}.${body}`).digest("hex");
  return `sha256=${digest}`;
}

function retryAfter(header: string | null): number | null {
  if (header === null || !/^\d{1,9}$/.test(header)) return null;
  return Math.min(Number(header) * 1000, MAX_RETRY_AFTER_MS);
}
