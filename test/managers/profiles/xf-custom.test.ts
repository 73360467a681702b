import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { readAs } from "../read-as.ts";
import { profileOf, summary } from "./read.ts";

const OWN = profileOf('[[managers]]\nname = "own"\nargv = ["own"]\nformat = "xf-custom"\n');
const read = (text: string, options = {}) => readAs(OWN, text, options);

const XML = `<?xml version="1.0" encoding="UTF-8"?>
<CUSTOM_STAT VENDOR="custom_site">
  <USAGE FEATURE="Mill &amp; Lathe" VERSION="12.3" USED_LICENSES="2" TOTAL_LICENSES="100" BORROWED_LICENSES="1"
         RESERVED_LICENSES="10" DENIED_LICENSES="4" SHARE="TEST" EXPIRES="2030-11-20">
    <USER USERNAME="ada" HOSTNAME="ws1" IP="192.0.2.1" USED_LICENSES="1" CHECKOUT_TIME="2029-05-07 08:41"/>
    <USER USERNAME="b&#246;b" HOSTNAME="ws2" USED_LICENSES="1" BORROW_EXPIRE_TIME="2029-05-08 08:43" CHECKOUT_TIME="2029-05-07 08:41"/>
    <USER USERNAME="cid" HOSTNAME="ws3" DENIED_LICENSES="4"/>
  </USAGE>
  <USAGE FEATURE="Viewer" USED_LICENSES="0" TOTAL_LICENSES="UNLIMITED" EXPIRES="PERMANENT"/>
</CUSTOM_STAT>
`;

test("features, people, reserved and borrowed licenses are read", () => {
  const reading = read(XML, { now: Date.parse("2029-05-07T08:43:00Z") });
  expect(reading).toMatchObject({
    unparsed: [],
    cut: false,
    daemons: [{ name: "custom_site", status: "up" }],
  });
  expect(summary(reading)).toEqual([
    "Mill & Lathe 100/12 2030-11-20 ada@ws1×1 böb@ws2×1",
    "Viewer ∞/0 permanent",
  ]);
  const [feature] = reading.features;
  expect(feature).toMatchObject({ daemon: "custom_site", reserved: 10, totals: { denials: 4 } });
  expect(feature?.checkouts).toMatchObject([
    { startedAt: Date.parse("2029-05-07T08:41:00Z"), borrowed: false, lingerSeconds: null },
    { borrowed: true, lingerSeconds: 86_400 },
  ]);
});

test("unknown elements are unparsed", () => {
  const reading = read('<CUSTOM_STAT VENDOR="custom_x"><USAGE/><OTHER A="1"/></CUSTOM_STAT>');
  expect(reading.unparsed).toEqual([
    { line: 1, text: "<USAGE {}>" },
    { line: 1, text: '<OTHER {"A":"1"}>' },
  ]);
});

test("an answer that is cut at any byte is never complete", () => {
  const end = XML.indexOf("</CUSTOM_STAT>") + "</CUSTOM_STAT>".length;
  for (let at = 0; at < end; at++) {
    const reading = read(XML.slice(0, at));
    expect(reading.cut || !reading.recognised).toBe(true);
  }
  expect(read(XML.slice(0, end))).toEqual(read(XML));
});

describe("invalid answers", () => {
  test.each([
    ["<html><body>login</body></html>", "The answer has no root element CUSTOM_STAT."],
    ["{}", "The answer is not valid XML (line 1)."],
    ["<a>".repeat(1_000_000), "The answer has no root element CUSTOM_STAT."],
  ])("%# has a problem", (text, problem) => expect(read(text)).toMatchObject({ recognised: false, problem }));

  test("deep nesting ends the answer", () => {
    const deep = `<CUSTOM_STAT VENDOR="x">${"<USAGE FEATURE='a'>".repeat(100_000)}`;
    expect(read(deep).features.length).toBeLessThan(65);
  });
});

describe("a hostile text", () => {
  const bomb = `<?xml version="1.0"?>
<!DOCTYPE lolz [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]>
<CUSTOM_STAT VENDOR="x"><USAGE FEATURE="&c;" TOTAL_LICENSES="1"/></CUSTOM_STAT>`;
  const outside = `<!DOCTYPE x [<!ENTITY file SYSTEM "file:///etc/passwd">]>
<CUSTOM_STAT VENDOR="x"><USAGE FEATURE="&file;" TOTAL_LICENSES="1"/></CUSTOM_STAT>`;

  test.each([bomb, outside])("%#: its own entities are not filled in", (text) => {
    const reading = read(text);
    expect(JSON.stringify(reading)).not.toMatch(/aaaa|root:/);
    expect(reading.cut || !reading.recognised).toBe(true);
  });

  test("never makes the parser throw", () => {
    const pieces = [
      "<CUSTOM_STAT>",
      "<USAGE FEATURE='a'>",
      "</USAGE>",
      "<USER USED_LICENSES='1'/>",
      "<![CDATA[",
      "&",
      "<!--",
    ];
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.constantFrom(...pieces), fc.string({ unit: "binary" }))), (parts) => {
        expect(read(parts.join("")).manager).toBe("own");
      }),
    );
  });
});
