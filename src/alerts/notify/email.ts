import type { Notification } from "../../config/config.ts";
import { escapeControls, maskSecrets } from "../../domain/plain-text.ts";
import { DeliveryError, type Message, readSecret, type Sender } from "./note.ts";

import { lines, subject } from "./text.ts";

/** `smtp` is `smtp://host:port`, `smtps://host:port`, or a host. */
export type EmailOptions = Pick<
  Extract<Notification, { readonly type: "email" }>,
  "smtp" | "from" | "to" | "username" | "secretFile"
>;

const TIMEOUTS = {
  connectionTimeout: 20_000,
  greetingTimeout: 20_000,
  socketTimeout: 20_000,
  dnsTimeout: 20_000,
};

/** What the tests change. */
export interface EmailTrust {
  /** Certificates of authorities to trust besides the usual ones, PEM. */
  readonly ca?: string;
}

/**
 * Sends messages by mail, in plain text. `smtps://` is TLS from the start (port 465); else STARTTLS is used where the
 * server has it, and insisted on where a password is sent (port 587 then, 25 without one). Certificates are verified.
 */
export function createEmail(options: EmailOptions, trust: EmailTrust = {}): Sender {
  const { from, to, username, secretFile } = options;
  const { host, port, secure } = parseSmtp(options.smtp, username !== null);
  return {
    async send(message, signal) {
      const pass = secretFile === null ? null : await readSecret(secretFile);
      // Loaded with the first mail: a daemon that sends none shall not hold a mail client in memory.
      const { createTransport } = await import("nodemailer");
      const transport = createTransport({
        host,
        port,
        secure,
        ...(username !== null && { auth: { user: username, pass: pass ?? "" }, requireTLS: !secure }),
        tls: { rejectUnauthorized: true, minVersion: "TLSv1.2", ...trust },
        ...TIMEOUTS,
        disableFileAccess: true,
        disableUrlAccess: true,
      });
      const aborted = Promise.withResolvers<never>();
      const abort = () => {
        transport.close();
        aborted.reject(new DeliveryError("The mail server did not answer in time"));
      };
      signal.addEventListener("abort", abort, { once: true });
      if (signal.aborted) abort();
      try {
        const sending = transport.sendMail({
          from,
          to: [...to],
          subject: subject(message),
          text: bodyOf(message),
          // RFC 3834: no automatic answer to it, please.
          headers: { "Auto-Submitted": "auto-generated" },
        });
        // Whichever is late is nobody's any more.
        sending.catch(() => {});
        const { rejected } = await Promise.race([sending, aborted.promise]);
        // The others have it: to send it again would tell them again.
        return rejected.length > 0 ? `${rejected.length} of ${to.length} recipients were refused` : null;
      } catch (error) {
        throw error instanceof DeliveryError ? error : explained(error, pass);
      } finally {
        signal.removeEventListener("abort", abort);
        aborted.promise.catch(() => {});
        transport.close();
      }
    },
  };
}

function bodyOf(message: Message): string {
  return `${lines(message).join("\n")}\n\n-- \nlicmond\n`;
}

/** Takes the config's form apart: it has been checked. */
export function parseSmtp(
  text: string,
  hasPassword: boolean,
): { host: string; port: number; secure: boolean } {
  const [, scheme = "", host = "", port] =
    /^(?:(smtps?):\/\/)?(\[[^\]]+\]|[^:]+)(?::(\d+))?$/.exec(text) ?? [];
  const secure = scheme === "smtps";
  const usual = secure ? 465 : hasPassword ? 587 : 25;
  return { host: host.replace(/^\[|\]$/g, ""), port: port === undefined ? usual : Number(port), secure };
}

/** The mail server's words without what it should not have repeated. */
function explained(error: unknown, secret: string | null): DeliveryError {
  const text = (name: string): string | null => {
    const value = error instanceof Error ? (error as Error & Record<string, unknown>)[name] : undefined;
    return typeof value === "string" || typeof value === "number" ? String(value) : null;
  };
  const code = text("code") ?? "unknown";
  const words = maskSecrets(escapeControls(text("response") ?? text("message") ?? ""));
  const safe = secret === null ? words : words.replaceAll(secret, "***");
  return new DeliveryError(`Mail was not taken (${code}): ${safe.slice(0, 300)}`);
}
