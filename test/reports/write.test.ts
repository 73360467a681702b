import { afterEach, expect, test } from "bun:test";
import { countedDenials } from "../../src/domain/denials.ts";
import type { Product } from "../../src/domain/stats/products.ts";
import { REPORT_QUERIES, readFigures } from "../../src/reports/figures.ts";
import { parsePeriod } from "../../src/reports/period.ts";
import { writeReport } from "../../src/reports/write.ts";
import { createDenialSources, createDenials } from "../../src/store/denials.ts";
import * as a from "../domain/make.ts";
import { createRig } from "../history/rig.ts";
import { cleanUp } from "../store/place.ts";

afterEach(cleanUp);

const MINUTE = 60_000;
const HOSTILE = [
  "<script>alert(1)</script>",
  '"><img src=//evil.example/x onerror=alert(1)>',
  "=cmd()",
  "a\r\nBcc: eve@evil.example",
  "\u001b[31mred\u202eback\u2028line",
  "&amp;</td></table>",
  "x".repeat(5_000),
];
const COST: Product = { name: "<b>All</b>", features: ["*/*/*"], costPerSeatYear: 8760, currency: "EUR" };

/**
 * Creates an hour of polls. Each hostile name is a feature and a user of this feature; one feature is
 * unused. The server counts its denials, and is degraded for half an hour.
 */
async function figures(products: readonly Product[] = [], anonymize = false, month = "2026-03") {
  const rig = createRig([a.server({ name: HOSTILE[0] ?? "", timezone: "UTC" })]);
  const expiry = {
    expiresOn: "2026-03-20",
    expiresAt: Date.parse("2026-03-20T23:59:59.999Z"),
    permanent: false,
  };
  const features = HOSTILE.map((name, at) =>
    a.feature({
      name,
      total: 2,
      used: 1,
      checkouts: [a.checkout({ user: name, host: name, handle: `${at}`, startedAt: null })],
      pools: [a.pool({ total: 2, expiry })],
    }),
  );
  features.push(a.feature({ name: "idle", total: 3, used: 0, checkouts: [] }));
  for (let at = a.NOON; at <= a.NOON + 60 * MINUTE; at += MINUTE) {
    const half = at < a.NOON + 30 * MINUTE ? [] : [a.daemon({ name: "half", status: "down" })];
    const reading = a.reading({ features, daemons: [a.daemon(), ...half] });
    await rig.poll(a.outcome({ startedAt: at - 200, finishedAt: at, reading }));
  }
  createDenialSources(rig.store).begin("eda", a.NOON);
  const denials = [2, 3].map((count, at) =>
    countedDenials("eda", { daemon: "snpslmd", feature: null, count }, a.NOON + at),
  );
  createDenials(rig.store).write(denials.map((denial) => ({ denial, told: true })));
  const period = parsePeriod(month, "UTC");
  if (period === null) throw new Error("no period");
  rig.clock.time = Math.max(rig.clock.time, period.start + 60 * MINUTE);
  const read = rig.reader();
  const servers = rig.live().snapshot().servers;
  return readFigures((asked) => REPORT_QUERIES.report(read, asked), {
    ...{ period, now: rig.clock.time, zone: "UTC", servers, products, labels: {}, anonymize },
    publicUrl: "https://lic.example/eda",
  });
}

test("hostile names are escaped, and nothing is fetched", async () => {
  const written = writeReport(await figures([COST]));
  const { text, subject } = written;
  expect(text).toContain("\n\nLive view: https://lic.example/eda/\n\n");
  // Links lead only to the page, and contain no unescaped name.
  const link = /<a href="https:\/\/lic\.example\/eda\/(?:feature\?[\w=&;%+.*-]*)?">/g;
  expect(written.html.match(link)?.length).toBeGreaterThan(3);
  const html = written.html.replaceAll(link, "<a>").replace(">https://lic.example/eda/<", "><");
  expect(subject).toBe("[licmond] License report: March 2026");
  // Only our own tags appear, without addresses or handlers.
  const tags = new Set([...html.matchAll(/<\/?([a-z0-9!]+)/g)].map(([, tag]) => tag));
  expect([...tags].sort()).toEqual(
    "!doctype a body div h1 h2 head html meta p section small style table tbody td th thead title tr".split(
      " ",
    ),
  );
  expect(html.replaceAll("=&quot;", "")).not.toMatch(/<[^>]*\s(src|href|on\w+)=/);
  expect(html).not.toMatch(/url\(|@import|http:|https:/);
  expect(html).toContain("default-src 'none'");
  expect(html).toContain("&lt;script&gt;alert(1)&lt;/script&gt;");
  for (const written of [html, text]) {
    expect(written).not.toMatch(/[\u001b\u202e\u2028\r]/);
    expect(written).toContain("\\r\\nBcc: eve");
    expect(written).not.toContain("x".repeat(81));
  }
});

test("each table has its period and each row its coverage; unknown is not a number", async () => {
  const { text } = writeReport(await figures([COST]));
  expect(text).toContain("This period is not over yet: data until now.");
  const during = "2026-03-01 00:00 to 2026-03-02 13:00, UTC.";
  expect(text.split(during)).toHaveLength(7);
  // 60 minutes of the 37 hours so far.
  expect(text).toMatch(/^idle \(.*\)\n +3 +2\.7 %$/m);
  expect(text).toMatch(/^<b>All<\/b>\n +17 +7 \(41\.18 %\) +7\.0 +10 +10 EUR +2\.7 %$/m);
  expect(text).toContain("Idle seats cost 10 EUR in the covered time.");
  expect(text).toMatch(/^feature unknown \(<script>.*, snpslmd\)\n +5 +– +2\.7 %$/m);
  expect(text).toMatch(/^<script>alert\(1\)<\/script>\n +100 % +0\.5 +0 +– +2\.7 %$/m);
  expect(text).toMatch(/^=cmd\(\) \(.*snpslmd\)\n +2 +2026-03-20 +18 +2026-03-02 13:00$/m);
  expect(text).toMatch(/^=cmd\(\) \(=cmd\(\)\), =cmd\(\) .*\n +1 +2026-03-02 +2026-03-02 +1\.0 +2\.7 %$/m);
  for (const line of text.split("\n")) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(72);
});

test("without products their table is left out, and an anonymized report names no users", async () => {
  const { text } = writeReport(await figures([], true));
  expect(text).not.toContain("PRODUCTS");
  expect(text).toContain("LONGEST CHECKOUTS");
  expect(text).toContain("This report contains no user names.");
});

test("a user who was last seen before the period is left out", async () => {
  expect(writeReport(await figures([], false, "2026-04")).text).toContain("No checkouts.");
});

test("a site without history reports no counts", async () => {
  const rig = createRig([a.server()]);
  const period = parsePeriod("2026-02", "UTC");
  if (period === null) throw new Error("no period");
  const asked = { period, now: a.NOON, zone: "UTC", servers: rig.live().snapshot().servers };
  const read = rig.reader();
  const made = await readFigures((asked) => REPORT_QUERIES.report(read, asked), {
    ...{ ...asked, products: [COST], labels: {}, anonymize: false },
    publicUrl: null,
  });
  const { text } = writeReport(made);
  expect(text).toMatch(/^<b>All<\/b>\n +– +– +– +– +– +0 %$/m);
  // Peaks, waits and unused features each show this text.
  expect(text.split("No counts were read.")).toHaveLength(4);
  for (const words of [
    "Unknown, because never read: EDA tools.",
    "Unknown, because no debug log was read: EDA tools.",
    "No checkouts.",
  ])
    expect(text).toContain(words);
  const { subject, html } = writeReport({ ...made, labels: { location: "<muc>" } });
  expect(subject).toBe("[licmond] License report: February 2026, location <muc>");
  expect(html).toContain("<h1>License report: February 2026, location &lt;muc&gt;</h1>");
});
