import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { render, slackText } from "../../../src/alerts/notify/templates.ts";
import { lines, subject, worst } from "../../../src/alerts/notify/text.ts";
import { message, note, record } from "./notes.ts";

const HOSTILE = "<!channel> <https://evil.example|click> *x* @all\r\nSubject: owned\n\u001b[2J&\u202e";
const hostile = message([
  note(1, { alert: record({ feature: HOSTILE, message: HOSTILE }) }),
  note(2, { kind: "resolved", alert: record({ feature: "b", message: "b" }) }),
]);

test("in words: one line each, the worst first, what is over last", () => {
  const told = message(
    [
      note(1, {
        kind: "resolved",
        alert: record({ severity: "critical", feature: "a", message: "was bad" }),
      }),
      note(2, { alert: record({ feature: "b", message: "is bad" }) }),
      note(3, {
        kind: "raised",
        alert: record({
          rule: "disk",
          severity: "critical",
          server: null,
          daemon: null,
          feature: null,
          message: "full",
        }),
      }),
      note(4, {
        kind: "reminder",
        alert: record({ severity: "info", daemon: "", feature: "d", message: "still" }),
      }),
    ],
    { dropped: 3 },
  );
  expect(lines(told)).toEqual([
    "WORSE critical disk: full",
    "FIRING warning usage eda/snpslmd/b: is bad",
    "STILL FIRING info usage eda/d: still",
    "RESOLVED critical usage eda/snpslmd/a: was bad",
    "3 older messages were thrown away: too many waited",
  ]);
  expect([subject(told), worst(told)]).toEqual(["[licmond] 3 firing, 1 resolved", "critical"]);
  expect(subject(message([note(1)]))).toBe(
    "[licmond] FIRING warning usage eda/snpslmd/compiler: 90 % of the seats of compiler are in use (9 of 10)",
  );
  expect(lines(message(Array.from({ length: 50 }, (_, index) => note(index)))).at(-1)).toBe("and 20 more");
  expect([subject(message([], { test: true })), lines(message([], { test: true })).length]).toEqual([
    "[licmond] test",
    1,
  ]);
});

test("no name can begin a line or a header of its own", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (feature, text) => {
      const told = message([note(1, { alert: record({ feature, message: text }) })]);
      for (const line of [subject(told), ...lines(told)])
        expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      expect([...subject(told)].length).toBeLessThanOrEqual(140);
      expect(lines(told)).toHaveLength(1);
    }),
    { numRuns: 200 },
  );
});

describe("bodies", () => {
  test("slack tells all of a single alert: there is no other text to read it in", () => {
    const why = "No license server answers at 27000@a.example,27000@b.example. Check that it runs";
    const one = message([note(1, { alert: record({ message: why }) })], { dropped: 2 });
    const { text } = JSON.parse(render("slack", one).body) as { text: string };
    const plain = text.replaceAll("\u200b", "");
    expect(plain.split("\n")).toEqual([
      `[licmond] FIRING warning usage eda/snpslmd/compiler: ${why}`,
      "2 older messages were thrown away: too many waited",
    ]);
  });

  test("json holds everything, as it is", () => {
    const { body, headers } = render("json", hostile);
    expect(headers).toEqual({ "content-type": "application/json" });
    expect(JSON.parse(body)).toMatchObject({
      ...{ type: "alerts", timestamp: "2026-03-02T12:00:00.000Z", dropped: 0 },
      alerts: [
        { notification: 1, kind: "fired", id: 7, rule: "usage", feature: HOSTILE },
        { notification: 2, kind: "resolved" },
      ],
    });
  });

  test("slack gets no mention, no link, no markup", () => {
    const body = JSON.parse(render("slack", hostile).body) as { text: string; mrkdwn: boolean };
    expect(body).toMatchObject({ mrkdwn: false, link_names: false });
    expect(body.text).not.toMatch(/[<>]|@all|\*x\*/);
    expect(body.text).toContain("&lt;!channel&gt;");
    expect(body.text.split("\n")).toHaveLength(3);
    expect(slackText("a&b<c>*d*")).toBe("a&amp;b&lt;c&gt;*\u200bd*\u200b");
  });

  test("teams gets text runs, which are not read as Markdown", () => {
    const body = JSON.parse(render("teams", hostile).body) as {
      attachments: { content: { body: { type: string; inlines: { type: string; text: string }[] }[] } }[];
    };
    const blocks = body.attachments[0]?.content.body ?? [];
    expect(blocks.map(({ type }) => type)).toEqual(Array(3).fill("RichTextBlock"));
    expect(blocks[1]?.inlines[0]?.text).toContain("<!channel>");
    expect(JSON.stringify(body)).not.toContain('TextBlock","text');
  });

  test("ntfy gets plain text within its limit, and no name in a header", () => {
    const many = message(
      Array.from({ length: 40 }, (_, index) =>
        note(index, { alert: record({ severity: "critical", message: "é".repeat(300) }) }),
      ),
    );
    const { body, headers } = render("ntfy", many);
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(4096);
    expect(headers).toEqual({
      ...{ "content-type": "text/plain; charset=utf-8", title: "licmond: 40 alerts", priority: "5" },
    });
    expect(render("ntfy", message([], { test: true })).headers.title).toBe("licmond: test");
  });
});
