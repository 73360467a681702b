import { iso } from "../../domain/time/clock.ts";
import type { Message } from "./note.ts";
import { lines, subject, worst } from "./text.ts";

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
 * Slack takes `<!channel>`, `<@user>` and links from angle brackets, and formats by `*`, `_`, `~` and backticks unless
 * `mrkdwn` is off: https://docs.slack.dev/messaging/formatting-message-text. Programs that take the same bodies
 * (Mattermost) read a bare `@all`, too, and know no `mrkdwn`: an invisible character takes each its meaning.
 */
function slack(message: Message) {
  const [first = "", ...others] = lines(message);
  // The subject of a single alert is its line, cut: of that there is no other text here.
  const head = message.notes.length === 1 ? [`[licmond] ${first}`] : [subject(message), first];
  const text = [...head, ...others].map(slackText).join("\n");
  return { text, mrkdwn: false, link_names: false };
}

function slackText(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replace(/[@*~`]/g, "$&\u200b");
}

/** An adaptive card made of text runs, which are shown as they are: text blocks would read Markdown. */
function teams(message: Message) {
  const run = (text: string, more: object = {}) => ({
    type: "RichTextBlock",
    inlines: [{ type: "TextRun", text, ...more }],
  });
  return {
    type: "message",
    attachments: [
      {
        contentType: "application/vnd.microsoft.card.adaptive",
        content: {
          type: "AdaptiveCard",
          version: "1.4",
          body: [run(subject(message), { weight: "bolder" }), ...lines(message).map((line) => run(line))],
        },
      },
    ],
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
  const count = message.notes.length;
  const title = message.test ? "licmond: test" : `licmond: ${count} ${count === 1 ? "alert" : "alerts"}`;
  const priority = NTFY_PRIORITY[worst(message)];
  return { body: kept.join("\n"), headers: { "content-type": "text/plain; charset=utf-8", title, priority } };
}
