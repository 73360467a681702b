import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Message, Note } from "../../../src/alerts/notify/note.ts";
import { lines, overMessage, paragraphs, subject, worst } from "../../../src/alerts/notify/text.ts";
import { payload, render } from "../../../src/alerts/notify/webhook.ts";
import { sampleNotes } from "../../../src/cli/notify.ts";
import type { AlertRule } from "../../../src/domain/alerts.ts";
import { AT, about, message, note, record } from "./notes.ts";

const HOSTILE = "<!channel> <https://evil.example|click> *x* @all\r\nSubject: owned\n\u001b[2J&\u202e";
const hostile = message([
  about(1, { feature: HOSTILE, message: HOSTILE }),
  about(2, { feature: "b", message: "b" }, "resolved"),
]);

const since = (alert: number, rule = "seats") =>
  `  since 2026-03-02 11:40 UTC (20 min); alert ${alert}, rule ${rule}`;
const began = "2026-03-02T11:40:00.000Z";
const plain = (text: Message) => lines(text, "UTC");

test("text: what is wrong, where, since when and who has it; the worst alert first, resolved ones last", () => {
  const nowhere = { server: null, serverName: null, daemon: null, feature: null };
  const holders = [
    { user: "ann", host: "ws1", seats: 4, since: "2026-03-02T08:00:00.000Z" },
    { user: "ben", host: null, seats: 1, since: null },
  ];
  const over = { startedAt: began, resolvedAt: "2026-03-02T14:50:00.000Z", durationSeconds: 11_400 };
  const told = message(
    [
      about(1, { severity: "critical", feature: "a", message: "is over", ...over }, "resolved"),
      about(2, { startedAt: began, feature: "b", message: "is bad", holders }),
      about(
        3,
        { startedAt: began, rule: "disk", severity: "critical", ...nowhere, message: "full" },
        "raised",
      ),
      about(
        4,
        { startedAt: began, severity: "info", serverName: "eda", feature: "d", message: "on" },
        "reminder",
      ),
    ],
    { dropped: 3 },
  );
  expect(plain(told)).toEqual([
    "WORSE: CRITICAL full",
    since(3, "disk"),
    "",
    "WARNING EDA tools (eda), b: is bad",
    since(2),
    "  held by ann on ws1: 4 seats since 08:00; ben: 1 seat",
    "",
    "STILL INFO eda, d: on",
    since(4),
    "",
    "RESOLVED EDA tools (eda), a: is over",
    "  began 2026-03-02 11:40 UTC; alert 1, rule seats",
    "",
    "3 older messages were dropped: too many were queued",
  ]);
  expect([subject(told), worst(told)]).toEqual([
    "[licmond] CRITICAL: 3 firing, 1 resolved at EDA tools, eda",
    "critical",
  ]);
  expect(subject(message([note(1)]))).toBe(
    "[licmond] WARNING EDA tools (eda), compiler: 90 % of the seats of compiler are in use (9 of 10)",
  );
  expect(lines(message(Array.from({ length: 50 }, (_, index) => note(index)))).at(-1)).toBe("and 20 more");
  const again = about(1, { rule: "totals_changed", message: "a has 9 seats now; it had 5" }, "raised");
  expect(subject(message([again]))).toStartWith("[licmond] WARNING EDA tools (eda), ");
  expect(lines(told, "Europe/Berlin")[1]).toContain("2026-03-02 12:40 CET");
});

test.each<[AlertRule, number | null, string]>([
  ["seats", 100, "seats were short for 2 d; at worst 100 % of them were in use"],
  ["server_down", null, "the server was down for 2 d"],
  ["expiry", 7, "its expiry was near or past for 2 d; at worst 7 days left"],
  ["expiry", 1, "its expiry was near or past for 2 d; at worst 1 day left"],
  ["expiry", -2, "its expiry was near or past for 2 d; at worst 2 days past it"],
  ["denials", 4, "requests were denied for 2 d; at worst 4 of them"],
  ["held_too_long", 30, "a seat was held too long for 2 d; at worst 30 h"],
  ["totals_changed", 9, "its number of seats had changed for 2 d"],
])("%s is over, at worst %p", (rule, peakValue, says) => {
  expect(overMessage({ rule, peakValue, durationSeconds: 172_830 })).toBe(says);
});

test("each alert has its link, a program's payload too", () => {
  const link = "https://lic.example/eda/feature?server=eda&name=a%26b";
  const one = message([about(1, { link }), about(2, {}, "resolved")]);
  expect(lines(one, "UTC").filter((line) => line.includes("http"))).toEqual([`  ${link}`]);
  expect(payload(one).alerts.map((alert) => alert.link)).toEqual([link, undefined]);
  expect(render("slack", one).body).toContain(link.replaceAll("&", "&amp;"));
  expect(render("teams", one).body).toContain(`"selectAction":{"type":"Action.OpenUrl","url":"${link}"}`);
});

test("a test sends one message of each kind, in their order, without names if the target is anonymized", () => {
  const server = { id: "eda", name: "EDA tools" };
  const notes = (anonymize: boolean) => sampleNotes(server, anonymize, AT, null);
  const trial = message(notes(false), { test: true });
  expect([subject(trial), worst(trial)]).toEqual(["[licmond] test", "critical"]);
  const heads = paragraphs(trial, "UTC").map(({ head }) => head.split(":")[0]);
  expect(heads).toEqual([
    "This is a test of licmond's notifications",
    "WARNING EDA tools (eda), example",
    "WORSE",
    "STILL CRITICAL EDA tools (eda), example",
    "RESOLVED EDA tools (eda), example",
  ]);
  expect(plain(trial).join("\n")).toContain("held by ada on ws01");
  expect(plain(message(notes(true), { test: true })).join("\n")).not.toMatch(/ada|ben|ws0/);
});

test("reports the last change of an alert that changed while its message was queued", () => {
  const moves = (...kinds: Note["kind"][]) =>
    message(
      kinds.map((kind, index) => ({
        ...about(index, { severity: "critical" }, kind),
        alert: record({ id: 5 }),
      })),
    );
  const heads = (...kinds: Note["kind"][]) =>
    paragraphs(moves(...kinds)).map(({ head }) => head.split(" ")[0]);
  expect(heads("fired", "resolved")).toEqual(["RESOLVED"]);
  expect(heads("fired", "raised")).toEqual(["WARNING"]);
  expect(heads("raised")).toEqual(["WORSE:"]);
  expect(heads("fired", "resolved", "fired")).toEqual(["WARNING"]);
  expect([subject(moves("fired", "resolved")), worst(moves("fired", "resolved"))]).toEqual([
    expect.stringContaining("RESOLVED EDA tools (eda), compiler"),
    "info",
  ]);
  expect(JSON.parse(render("json", moves("fired", "resolved")).body).alerts).toHaveLength(2);
});

test("no name can start a line or a header", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (name, text) => {
      const holders = [{ user: name, host: text, seats: 1, since: null }];
      const told = message([about(1, { feature: name, serverName: text, message: text, holders })]);
      for (const line of [subject(told), ...lines(told)])
        expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      expect([...subject(told)].length).toBeLessThanOrEqual(140);
      expect(lines(told)).toHaveLength(3);
    }),
    { numRuns: 200 },
  );
});

describe("bodies", () => {
  test("a Slack message has all details of a single alert, because it has no other text", () => {
    const why = "No license server answers at 27000@a.example,27000@b.example. Check that it runs";
    const one = message([about(1, { message: why })], { dropped: 2 });
    const { text } = JSON.parse(render("slack", one).body) as { text: string };
    // The address can be copied, because no invisible characters are added.
    expect(text.split("\n")).toEqual([
      `[licmond] WARNING EDA tools (eda), compiler: ${why}`,
      expect.stringMatching(/^ {2}since /),
      "",
      "2 older messages were dropped: too many were queued",
    ]);
  });

  test("json holds everything, as it is", () => {
    const { body, headers } = render("json", hostile);
    expect(headers).toEqual({ "content-type": "application/json" });
    expect(JSON.parse(body)).toMatchObject({
      type: "alerts",
      timestamp: "2026-03-02T12:00:00.000Z",
      dropped: 0,
      alerts: [
        { notification: 1, kind: "fired", id: 1, rule: "seats", feature: HOSTILE },
        { notification: 2, kind: "resolved" },
      ],
    });
  });

  test("slack gets no mention, no link", () => {
    const body = JSON.parse(render("slack", hostile).body) as { text: string; mrkdwn: boolean };
    expect(body).toMatchObject({ mrkdwn: false, link_names: false });
    expect(body.text).not.toMatch(/[<>]|@all|\u200b/);
    expect(body.text).toContain("&lt;!channel&gt;");
    expect(body.text.split("\n")).toHaveLength(7);
  });

  test("teams gets text runs, which are not read as Markdown", () => {
    const body = JSON.parse(render("teams", hostile).body) as {
      attachments: { content: { body: { type: string; inlines: { type: string; text: string }[] }[] } }[];
    };
    const blocks = body.attachments[0]?.content.body ?? [];
    expect(blocks.map(({ type }) => type)).toEqual(Array(5).fill("RichTextBlock"));
    expect(blocks[1]?.inlines[0]?.text).toContain("<!channel>");
    expect(JSON.stringify(body)).not.toContain('TextBlock","text');
  });

  test("ntfy gets plain text within its limit, and no name in a header", () => {
    const many = message(
      Array.from({ length: 40 }, (_, index) =>
        about(index, { severity: "critical", message: "é".repeat(300) }),
      ),
    );
    const { body, headers } = render("ntfy", many);
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(4096);
    expect(headers).toEqual({
      "content-type": "text/plain; charset=utf-8",
      title: "licmond: 40 alerts",
      priority: "5",
    });
    expect(render("ntfy", message([], { test: true })).headers.title).toBe("licmond: test");
  });
});
