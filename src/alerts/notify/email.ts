import type { Notification } from "../../config/config.ts";
import { escapeControls, maskSecrets } from "../../domain/plain-text.ts";
import { DeliveryError, readSecret, type Send } from "./note.ts";
import { lines, subject } from "./text.ts";

/** `smtp` is `smtp://host:port`, `smtps://host:port`, or a host. */
export type EmailOptions = Pick<
  Extract<Notification, { readonly type: "email" }>,
  "smtp" | "from" | "to" | "username" | "secretFile"
>;

const TIMEOUT_MS = 20_000;

export function createEmail(options: EmailOptions, trust: { readonly ca?: string } = {}): Send {
  const send = createMailer(options, trust);
  return (message, signal) =>
    send({ subject: subject(message), text: `${lines(message).join("\n")}\n\n-- \nlicmond\n` }, signal);
}

/**
 * Sends mails. `smtps://` uses TLS from the start (port 465). Otherwise STARTTLS is used if the server
 * offers it. With a username, STARTTLS is required and the default port is 587 instead of 25. Certificates
 * are verified; tests pass a `ca` (PEM) to trust in addition.
 */
export function createMailer(options: EmailOptions, trust: { readonly ca?: string } = {}) {
  const { from, to, username, secretFile } = options;
  const { host, port, secure } = parseSmtp(options.smtp, username !== null);
  type Mail = Record<"subject" | "text", string> & { readonly html?: string };
  return async (mail: Mail, signal: AbortSignal): Promise<string | null> => {
    const pass = await readSecret(secretFile);
    // Loaded with the first mail, so that a daemon that sends none does not keep a mail client in memory.
    const { createTransport } = await import("nodemailer");
    const transport = createTransport({
      host,
      port,
      secure,
      ...(username !== null && { auth: { user: username, pass: pass ?? "" }, requireTLS: !secure }),
      tls: { rejectUnauthorized: true, minVersion: "TLSv1.2", ...trust },
      connectionTimeout: TIMEOUT_MS,
      greetingTimeout: TIMEOUT_MS,
      socketTimeout: TIMEOUT_MS,
      dnsTimeout: TIMEOUT_MS,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    const late = Promise.withResolvers<never>();
    // The two promises race; ignore the rejection of the loser.
    late.promise.catch(() => {});
    const abort = () => {
      transport.close();
      late.reject(new DeliveryError("The mail server did not answer in time"));
    };
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    try {
      const sending = transport.sendMail({
        from,
        to: [...to],
        ...mail,
        // RFC 3834: suppresses automatic replies.
        headers: { "Auto-Submitted": "auto-generated" },
      });
      sending.catch(() => {});
      const { rejected } = await Promise.race([sending, late.promise]);
      // Do not retry: the other recipients have received the mail and would get it twice.
      return rejected.length > 0 ? `${rejected.length} of ${to.length} recipients were refused` : null;
    } catch (error) {
      throw error instanceof DeliveryError ? error : explained(error, pass);
    } finally {
      signal.removeEventListener("abort", abort);
      transport.close();
    }
  };
}

export function parseSmtp(
  text: string,
  hasPassword: boolean,
): { readonly host: string; readonly port: number; readonly secure: boolean } {
  const [, scheme, host = "", port] = /^(?:(smtps?):\/\/)?(\[[^\]]+\]|[^:]+)(?::(\d+))?$/.exec(text) ?? [];
  const secure = scheme === "smtps";
  const usual = secure ? 465 : hasPassword ? 587 : 25;
  return { host: host.replace(/^\[|\]$/g, ""), port: Number(port ?? usual), secure };
}

/** Returns the mail server's answer without secrets that it repeated. */
function explained(error: unknown, secret: string | null): DeliveryError {
  const { code = "unknown", response, message } = error as Partial<Record<string, unknown>>;
  const words = maskSecrets(escapeControls(String(response ?? message ?? "")));
  const safe = secret === null ? words : words.replaceAll(secret, "***");
  return new DeliveryError(`The mail was rejected (${code}): ${safe.slice(0, 300)}`);
}
