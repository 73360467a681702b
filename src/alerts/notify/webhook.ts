import type { Notification } from "../../config/config.ts";
import { codeOf } from "../../domain/error-code.ts";
import type { Clock } from "../../domain/time/clock.ts";
import { DeliveryError, readSecret, type Send } from "./note.ts";
import { render } from "./templates.ts";

export type WebhookOptions = Pick<
  Extract<Notification, { readonly type: "webhook" }>,
  "url" | "urlFile" | "secretFile" | "template"
>;

/** Longest Retry-After that is respected. */
const MAX_RETRY_AFTER_MS = 15 * 60_000;

/**
 * Posts messages to a URL. With a secret, `X-Licmond-Signature` is `sha256=` and the hex HMAC-SHA256 of
 * `<X-Licmond-Timestamp>.<body>`; the timestamp is in seconds, and receivers should reject old ones. Only 2xx
 * means success; redirects are not followed, and certificates are always verified, regardless of the
 * environment.
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
      // The error may quote the URL, which may contain a token.
      throw new DeliveryError(`It cannot be reached (${codeOf(error)})`);
    });
    const { status } = response;
    // Discard the response body so that the connection is released.
    await response.body?.cancel().catch(() => {});
    if (status >= 200 && status < 300) return null;
    if (status >= 300 && status < 400)
      throw new DeliveryError(`It answered ${status}: redirects are not followed`);
    throw new DeliveryError(`It answered ${status}`, retryAfter(response.headers.get("retry-after")));
  };
}

/**
 * Returns the URL, or the current content of its file. Messages do not contain it, because it may be a
 * secret.
 */
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
