import type { Notification } from "../../config/config.ts";
import { codeOf } from "../../domain/error-code.ts";
import { countOf } from "../../domain/plain-text.ts";
import { type Clock, iso } from "../../domain/time/clock.ts";
import { DeliveryError, type Message, readSecret, type Send } from "./note.ts";
import { lines, newest, paragraphs, subject, worst } from "./text.ts";

export type WebhookOptions = Pick<
  Extract<Notification, { readonly type: "webhook" }>,
  "url" | "urlFile" | "secretFile" | "template"
>;

/** Maximum Retry-After that is respected. */
const MAX_RETRY_AFTER_MS = 15 * 60_000;

/**
 * Posts messages to a URL. With a secret, `X-Licmond-Signature` is `sha256=` and the hex HMAC-SHA256 of
 * `<X-Licmond-Timestamp>.<body>`. The timestamp is in seconds, and receivers should reject old timestamps.
 * Only 2xx means success; redirects are not followed, and certificates are always verified, regardless of
 * the environment.
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
 * Returns the URL, or the current content of its file. Messages never contain the URL, because it may be a
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

interface Body {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

const TEMPLATES = {
  json: (message) => json(payload(message)),
  slack: (message) => json(slack(message)),
  teams: (message) => json(teams(message)),
  ntfy,
} satisfies Record<string, (message: Message) => Body>;

export function render(template: keyof typeof TEMPLATES, message: Message): Body {
  return TEMPLATES[template](message);
}

/** Returns the complete data for programs; commands get this data on stdin. Names are unchanged. */
export function payload({ notes, test, at, dropped }: Message) {
  return {
    type: test ? "test" : "alerts",
    timestamp: iso(at),
    dropped,
    alerts: notes.map(({ id, kind, at: since, alert }) => {
      return { notification: id, kind, timestamp: iso(since), ...alert };
    }),
  };
}

function json(value: unknown): Body {
  return { body: JSON.stringify(value), headers: { "content-type": "application/json" } };
}

/**
 * Slack interprets `<!channel>`, `<@user>` and links in angle brackets, so `&`, `<` and `>` are written as
 * entities. Without `mrkdwn` and `link_names`, Slack shows the rest as plain text
 * (https://docs.slack.dev/messaging/formatting-message-text). Everything else is unchanged, so that
 * addresses can be copied. Programs with the same format (Mattermost) also interpret a bare `@all`, whose @
 * is replaced by U+FF20.
 */
function slack(message: Message) {
  const [first = "", ...others] = lines(message);
  // The subject of a single alert is its shortened line, so the body does not repeat the subject.
  const head = newest(message).length === 1 ? [`[licmond] ${first}`] : [subject(message), "", first];
  const text = [...head, ...others].map(slackText).join("\n");
  return { text, mrkdwn: false, link_names: false };
}

function slackText(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replace(/(?<![\p{L}\p{N}])@(?=(?:all|channel|everyone|here)\b)/giu, "\uff20");
}

/** An adaptive card with text runs, which are shown literally; text blocks would interpret Markdown. */
function teams(message: Message) {
  const run = (text: string, more: object = {}, block: object = {}) => ({
    type: "RichTextBlock",
    ...block,
    inlines: [{ type: "TextRun", text, ...more }],
  });
  const openUrl = (url: string) => ({ type: "Action.OpenUrl", url });
  const color = { info: "default", warning: "warning", critical: "attention" } as const;
  const body = paragraphs(message).flatMap(({ note, head, details, link }) => {
    const own = note === null ? "default" : note.kind === "resolved" ? "good" : color[note.alert.severity];
    return [
      run(head, { color: own, weight: "bolder" }, { spacing: "medium" }),
      ...details.map((each) => run(each, { isSubtle: true }, { spacing: "none" })),
      ...(link === null
        ? []
        : [run("Open it in licmond", { selectAction: openUrl(link) }, { spacing: "none" })]),
    ];
  });
  const content = {
    type: "AdaptiveCard",
    version: "1.4",
    msteams: { width: "Full" },
    body: [...(newest(message).length === 1 ? [] : [run(subject(message), { size: "medium" })]), ...body],
  };
  return {
    type: "message",
    attachments: [{ contentType: "application/vnd.microsoft.card.adaptive", content }],
  };
}

/**
 * Maximum length of a message in bytes, because ntfy turns longer ones into attachments:
 * https://docs.ntfy.sh/config/#message-limits
 */
const NTFY_BYTES = 4000;
const NTFY_PRIORITY = { info: "2", warning: "4", critical: "5" } as const;

/** Plain text to a topic's URL: https://docs.ntfy.sh/publish. Headers contain no names from tools. */
function ntfy(message: Message): Body {
  const kept: string[] = [];
  let bytes = 0;
  for (const line of lines(message)) {
    bytes += Buffer.byteLength(line) + 1;
    if (bytes > NTFY_BYTES && kept.length > 0) break;
    kept.push(line);
  }
  const title = message.test ? "licmond: test" : `licmond: ${countOf(newest(message).length, "alert")}`;
  const priority = NTFY_PRIORITY[message.test ? "info" : worst(message)];
  return { body: kept.join("\n"), headers: { "content-type": "text/plain; charset=utf-8", title, priority } };
}
