import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { render } from "../../../src/alerts/notify/templates.ts";
import { lines, subject, worst } from "../../../src/alerts/notify/text.ts";
import { about, message, note } from "./notes.ts";

const HOSTILE = "<!channel> <https://evil.example|click> *x* @all\r\nSubject: owned\n\u001b[2J&\u202e";
const hostile = message([
  about(1, { feature: HOSTILE, message: HOSTILE }),
  about(2, { feature: "b", message: "b" }, "resolved"),
]);

test("in words: one line each, the worst first, what is over last", () => {
  const nowhere = { server: null, daemon: null, feature: null };
  const told = message(
    [
      about(1, { severity: "critical", feature: "a", message: "was bad" }, "resolved"),
      about(2, { feature: "b", message: "is bad" }),
      about(3, { rule: "disk", severity: "critical", ...nowhere, message: "full" }, "raised"),
      about(4, { severity: "info", daemon: "", feature: "d", message: "still" }, "reminder"),
    ],
    { dropped: 3 },
  );
  expect(lines(told)).toEqual([
    "WORSE critical disk: full",
    "FIRING warning seats eda/snpslmd/b: is bad",
    "STILL FIRING info seats eda/d: still",
    "RESOLVED critical seats eda/snpslmd/a: was bad",
    "3 older messages were thrown away: too many waited",
  ]);
  expect([subject(told), worst(told)]).toEqual(["[licmond] 3 firing, 1 resolved", "critical"]);
  expect(subject(message([note(1)]))).toBe(
    "[licmond] FIRING warning seats eda/snpslmd/compiler: 90 % of the seats of compiler are in use (9 of 10)",
  );
  expect(lines(message(Array.from({ length: 50 }, (_, index) => note(index)))).at(-1)).toBe("and 20 more");
  const trial = message([], { test: true });
  expect([subject(trial), lines(trial).length]).toEqual(["[licmond] test", 1]);
});

test("no name can begin a line or a header of its own", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (feature, text) => {
      const told = message([about(1, { feature, message: text })]);
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
    const one = message([about(1, { message: why })], { dropped: 2 });
    const { text } = JSON.parse(render("slack", one).body) as { text: string };
    const plain = text.replaceAll("\u200b", "");
    expect(plain.split("\n")).toEqual([
      `[licmond] FIRING warning seats eda/snpslmd/compiler: ${why}`,
      "2 older messages were thrown away: too many waited",
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
        { notification: 1, kind: "fired", id: 7, rule: "seats", feature: HOSTILE },
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
