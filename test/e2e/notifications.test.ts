import { expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { selfSigned } from "../alerts/notify/certificate.ts";
import { mailServer } from "../reports/mail-server.ts";
import { until, untilPrinted } from "./harness.ts";
import { createReceiver, type JsonMessage } from "./receiver.ts";
import { createWatchedSite } from "./watched-site.ts";

const HOSTILE = ["<!channel>|click", "=cmd()", "@all*bold*`code`", "back\u2028line\u0085\u001b[31mred"];
const MANY = 36;

const NAMES = [...HOSTILE, ...Array.from({ length: MANY }, (_, index) => `feature_${index}`)];
const burst = { features: Object.fromEntries(NAMES.map((name) => [name, { total: 1, used: 1 }])) };
const ALERTS = NAMES.length;

test("a burst of alerts with hostile names is one message per target; failures are retried or reported", async () => {
  await using other = createReceiver();
  await using receiver = createReceiver((path, before) => {
    if (path === "/flaky/token-HUSH" && before === 0) return new Response("HUSH", { status: 500 });
    if (path === "/redirect/token-HUSH")
      return new Response(null, { status: 307, headers: { location: `${other.url}/stolen` } });
    return new Response("ok");
  });
  const startedAt = Date.now();
  await using untrusted = createReceiver(() => new Response(), selfSigned("127.0.0.1"));
  await using mail = await mailServer();
  await using site = await createWatchedSite();
  const secretFile = join(site.folder, "secret");
  await Bun.write(secretFile, "HUSH-secret\n");
  const pager = join(site.folder, "pager");
  const paged = join(site.folder, "paged");
  // Names reach the command on stdin, not in its arguments, and no shell sees them.
  await Bun.write(pager, `#!/bin/sh\nprintf '%s\\n' "$@" > '${paged}.args'\ncat > '${paged}'\n`);
  await chmod(pager, 0o755);
  const hook = (url: string, more = "") => `[[notifications]]\ntype = "webhook"\nurl = "${url}"\n${more}\n`;
  await site.write(`
[alerts]
for = "0s"
${hook(`${receiver.url}/json/token-HUSH`, `secret_file = "${secretFile}"`)}
${hook(`${receiver.url}/slack/token-HUSH`, 'template = "slack"')}
${hook(`${receiver.url}/teams/token-HUSH`, 'template = "teams"')}
${hook(`${receiver.url}/ntfy/token-HUSH`, 'template = "ntfy"')}
${hook(`${receiver.url}/critical/token-HUSH`, 'severity = "critical"')}
${hook(`${receiver.url}/denials/token-HUSH`, 'rules = ["denials", "expiry"]')}
${hook(`${receiver.url}/flaky/token-HUSH`)}
${hook(`${receiver.url}/redirect/token-HUSH`)}
${hook(`${untrusted.url}/token-HUSH`)}
[[notifications]]
type = "command"
argv = ["${pager}", "--token", "HUSH; touch ${paged}.shell", "$(touch ${paged}.shell)"]
[[notifications]]
type = "email"
smtp = "smtp://127.0.0.1:${mail.port}"
from = "licmond@company.example"
to = ["ann@company.example"]
`);
  await using at = await site.watch({ env: { NODE_TLS_REJECT_UNAUTHORIZED: "0" } });
  await at.poll(burst);
  expect(await at.firing()).toHaveLength(ALERTS);
  await until("the flaky one has it", () => receiver.messages("/flaky/token-HUSH").length >= 2 || undefined);
  await until("the mail came", () => mail.mails.length > 0 || undefined);
  await until("the command ran", async () => (await Bun.file(paged).exists()) || undefined);
  await untilPrinted(at.daemon, /\(notifications\[7\]\).*redirects/);
  await untilPrinted(at.daemon, /\(notifications\[8\]\).*cannot be reached/);

  const [json, ...more] = receiver.got.filter(({ path }) => path === "/json/token-HUSH");
  expect(more).toEqual([]);
  const body = json?.body ?? "";
  const message = JSON.parse(body) as JsonMessage;
  expect([message.type, message.dropped, message.alerts.length]).toEqual(["alerts", 0, ALERTS]);
  expect(new Set(message.alerts.map(({ feature }) => feature))).toEqual(new Set(NAMES));
  const timestamp = json?.headers.get("x-licmond-timestamp") ?? "";
  expect(Number(timestamp)).toBeWithin(Math.floor(startedAt / 1000), Date.now() / 1000 + 1);
  expect(json?.headers.get("x-licmond-signature")).toBe(
    `sha256=${createHmac("sha256", "HUSH-secret").update(`${timestamp}.${body}`).digest("hex")}`,
  );
  const critical = receiver.messages("/critical/token-HUSH");
  expect(critical.map(({ alerts }) => alerts.length)).toEqual([ALERTS]);
  expect(receiver.messages("/denials/token-HUSH")).toEqual([]);
  const [first, second] = receiver.messages("/flaky/token-HUSH");
  expect(second?.alerts).toEqual(first?.alerts ?? []);

  // Names are text: they make no mention, no link and no new line.
  const textOf = (path: string) => receiver.got.find((one) => one.path === path)?.body ?? "";
  const slack = JSON.parse(textOf("/slack/token-HUSH")) as { text: string; mrkdwn: boolean };
  expect(slack.mrkdwn).toBe(false);
  expect(slack.text).toContain("&lt;!channel&gt;");
  expect(slack.text).not.toMatch(/<!|@all|[\u001b\u0085\u2028]/);
  expect(textOf("/teams/token-HUSH")).toContain('"RichTextBlock"');
  const ntfy = receiver.got.find(({ path }) => path === "/ntfy/token-HUSH");
  expect(ntfy?.headers.get("title")).toBe(`licmond: ${ALERTS} alerts`);
  expect(ntfy?.headers.get("priority")).toBe("5");
  expect(mail.mails).toHaveLength(1);
  const letter = mail.mails[0]?.raw ?? "";
  expect(letter).toMatch(new RegExp(`^Subject: \\[licmond\\] CRITICAL: ${ALERTS} firing at eda\r$`, "m"));
  expect(letter).not.toMatch(/[\u001b\u0085\u2028]/);

  expect(await Bun.file(paged).json()).toMatchObject({ type: "alerts", alerts: { length: ALERTS } });
  expect(await Bun.file(`${paged}.args`).text()).toBe(
    `--token\nHUSH; touch ${paged}.shell\n$(touch ${paged}.shell)\n`,
  );
  expect(await Bun.file(`${paged}.shell`).exists()).toBe(false);

  expect([other.got, untrusted.got]).toEqual([[], []]);
  expect(at.daemon.output()).not.toContain("HUSH");
});
