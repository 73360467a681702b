import { countOf } from "../../domain/plain-text.ts";
import { iso } from "../../domain/time/clock.ts";
import type { Message } from "./note.ts";
import { lines, newest, paragraphs, subject, worst } from "./text.ts";

interface Body {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** What is posted to a webhook, by the name of its template. */
const TEMPLATES = {
  json: (message) => json(payload(message)),
  slack: (message) => json(slack(message)),
  teams: (message) => json(teams(message)),
  ntfy,
} satisfies Record<string, (message: Message) => Body>;

export function render(template: keyof typeof TEMPLATES, message: Message): Body {
  return TEMPLATES[template](message);
}

/** Everything, for programs: also what a command gets on stdin. Names stand in it as the tools say them. */
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
 * Slack takes `<!channel>`, `<@user>` and links from angle brackets, which its three entities take their meaning; without
 * `mrkdwn` and `link_names` the rest is text: https://docs.slack.dev/messaging/formatting-message-text. Nothing else is
 * changed, so that an address can be copied out of it. Programs that take the same bodies (Mattermost) read a bare `@all`,
 * which is no address: its sign is written as U+FF20.
 */
function slack(message: Message) {
  const [first = "", ...others] = lines(message);
  // The subject of a single alert is its line, cut: of that there is no other text here.
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

/** An adaptive card made of text runs, which are shown as they are: text blocks would read Markdown. */
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

/** ntfy makes an attachment of more: https://docs.ntfy.sh/config/#message-limits */
const NTFY_BYTES = 4000;
const NTFY_PRIORITY = { info: "2", warning: "4", critical: "5" } as const;

/** Plain text to a topic's URL: https://docs.ntfy.sh/publish. No header has a name of a tool in it. */
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
