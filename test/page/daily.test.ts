import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { AlertRecord } from "../../src/domain/alerts.ts";
import type { ServerPicture } from "../../src/domain/picture.ts";
import type { ExpirationRecord } from "../../src/domain/records.ts";
import { summarise } from "../../src/domain/summary.ts";
import { troublesOf } from "../../src/page/daily/attention.ts";
import { kindOf, sentenceOf } from "../../src/page/daily/condition.ts";
import { expiriesOf, figuresOf, groupsOf, heldOf, tightOf } from "../../src/page/daily/figures.ts";
import { dayOf, stepsOf } from "../../src/page/daily/series.ts";
import { type Unhandled, unhandledOf } from "../../src/page/live/alerts.ts";
import * as a from "../domain/make.ts";
import { checkout, feature, monitored, NOW, picture } from "../http/make.ts";
import { siteOf } from "./kept-site.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

const down = { status: "down", state: "stale", members: [a.member({ status: "down" })] } as const;
const STATES = {
  fine: {},
  down,
  mute: { status: "down", daemons: [a.daemon({ name: "acmed", status: "down" })] },
  unread: { status: "unknown", state: "failed", collectedAt: null },
  stale: { state: "stale" },
  triad: {
    status: "degraded",
    members: [a.member({ master: true }), a.member({ host: "b" }), a.member({ host: "c", status: "down" })],
  },
  half: {
    status: "degraded",
    daemons: [a.daemon({ name: "acmed" }), a.daemon({ name: "otherd", status: "down" })],
  },
  partial: { state: "partial" },
  never: { status: "unknown", state: "failed", collectedAt: null, lastPollAt: null },
} as const satisfies Record<string, Partial<ServerPicture>>;
const server = (id: string, state: keyof typeof STATES) => picture(id, STATES[state]);
const off = picture("off", { server: monitored("off", { enabled: false }) });

describe("the sentence about a site", () => {
  const quiet: Unhandled = { count: 0, worst: null };
  const fine = ["a", "b"].map((id) => server(id, "fine"));
  const down = ["a", "b", "c"].map((id) => server(id, "down"));
  test.each<[text: string, mark: string, ServerPicture[], unhandled?: Unhandled | null]>([
    ["eda is fine, and nothing needs attention.", "ok", [server("eda", "fine")]],
    ["eda is fine, 1 alert needs attention.", "crit", [server("eda", "fine")], { count: 1, worst: "crit" }],
    ["All 2 servers are fine.", "ok", fine, null],
    ["All 2 servers are fine, 2 alerts need attention.", "full", fine, { count: 2, worst: "full" }],
    ["eda does not answer.", "crit", [server("eda", "down")]],
    ["eda answers, but none of its daemons works.", "crit", [server("eda", "mute")]],
    [
      "None of 2 servers is fine. a was not polled yet, b was not polled yet.",
      "unknown",
      ["a", "b"].map((id) => server(id, "never")),
    ],
    [
      "1 of 4 servers is fine. s is stale, cae runs on 2 of 3 members, p was read in part.",
      "stale",
      [server("a", "fine"), server("cae", "triad"), server("p", "partial"), server("s", "stale")],
    ],
    ["1 of 2 servers is fine. b runs without otherd.", "warn", [server("a", "fine"), server("b", "half")]],
    [
      "1 of 5 servers is fine. 3 down, 1 not read.",
      "crit",
      [...down, server("d", "unread"), server("e", "fine"), off],
    ],
    ["The only server is switched off in the config.", "unknown", [off]],
    ["eda is fine, and nothing needs attention.", "ok", [off, server("eda", "fine")]],
  ])("%s", (text, mark, pictures, unhandled = quiet) => {
    const sentence = sentenceOf([...siteOf(...pictures).values()], unhandled);
    expect([sentence.mark, sentence.parts.map((part) => part.text).join("")]).toEqual([mark, text]);
  });

  test("has the names and counts as links", () => {
    const { parts } = sentenceOf([...siteOf(server("a", "fine"), server("b", "down")).values()], quiet);
    expect(parts.flatMap(({ text, to }) => (to ? [[text, to.path, to.query ?? null]] : []))).toEqual([
      ["1 of 2 servers", "servers", null],
      ["b", "server", { id: "b" }],
    ]);
  });
});

const alert = (id: number, more: Partial<AlertRecord>): AlertRecord => ({
  ...{ id, rule: "seats", severity: "warning", state: "firing" },
  ...{ server: "eda", daemon: "acmed", feature: "solver" },
  ...{ message: `alert ${id}`, value: 100, threshold: 90, peakValue: 100, durationSeconds: 60 },
  ...{ acknowledged: false, acknowledgedAt: null, acknowledgedBy: null, comment: null, silencedUntil: null },
  startedAt: new Date(NOW - id * MINUTE_MS).toISOString(),
  firedAt: new Date(NOW - id * MINUTE_MS).toISOString(),
  resolvedAt: null,
  ...more,
});
const ofServer = { daemon: null, feature: null, value: null } as const;

describe("problems that need attention", () => {
  const site = siteOf(
    ...[server("eda", "fine"), server("cae", "triad"), server("plm", "down"), server("new", "never"), off],
  );
  const expiring = (id: number, name: string) => alert(id, { rule: "expiry", feature: name, value: 12 });
  test("lists each problem once: worst first, then newest, expiries last and by day", () => {
    const firing = [
      expiring(1, "solver"),
      expiring(2, "mesher"),
      alert(3, {}),
      alert(4, { rule: "server_degraded", server: "cae", ...ofServer }),
      alert(5, { rule: "expiry", severity: "critical", value: -9, feature: "gone" }),
      alert(6, { acknowledged: true }),
      alert(7, { silencedUntil: new Date(NOW + 1).toISOString() }),
      alert(8, { silencedUntil: new Date(NOW).toISOString(), rule: "denials" }),
    ];
    expect(unhandledOf(firing, NOW)).toEqual({ count: 6, worst: "crit" });
    expect(
      troublesOf(site, firing, NOW).map((of) => [`${of.mark} ${of.tone}`, of.subject, of.text, of.alert?.id]),
    ).toEqual([
      ["crit crit", "plm", "does not answer", undefined],
      ["crit crit", "gone", "expired", 5],
      ["warn full", "solver", "is full", 3],
      ["warn warn", "cae", "runs on 2 of 3 members", 4],
      ["warn crit", "solver", "denies requests", 8],
      ["warn warn", "2 features", "expire", undefined],
      ["unknown unknown", "new", "was not polled yet", undefined],
    ]);
  });

  test("leaves out a server whose alert is acknowledged", () => {
    const firing = [alert(1, { rule: "server_down", server: "plm", ...ofServer, acknowledged: true })];
    expect(troublesOf(siteOf(server("plm", "down")), firing, NOW)).toEqual([]);
  });
});

describe("figures of a site", () => {
  const gone = { expiresOn: "2026-02-20", expiresAt: NOW - 9 * DAY_MS, permanent: false };
  const unknown = { total: null, available: null, utilization: null, checkouts: [] };
  const dayAgo = checkout("ada", { startedAt: NOW - DAY_MS });
  const features = [
    feature("full", {
      ...{ used: 4, available: 0, utilization: 100, queued: 2 },
      checkouts: [checkout("ada"), checkout("bob")],
    }),
    feature("tight", { total: 20, used: 19, available: 1, utilization: 95, checkouts: [dayAgo] }),
    feature("old", { used: 4, available: 0, utilization: 100, state: "stale", checkouts: [] }),
    feature("open", { ...unknown, used: 7, unlimited: true }),
    feature("failed", { ...unknown, used: null, state: "failed" }),
    feature("gone", { used: 0, available: 4, utilization: 0, checkouts: [], expiry: gone }),
  ];
  const pictures = [picture("eda", { features }), server("cae", "fine"), server("new", "unread")];
  const site = siteOf(...pictures);

  test("equal the API's summary", () => {
    const { seats, users, queued, staleFeatures } = summarise({ version: 1, servers: pictures });
    expect(figuresOf(site)).toEqual({
      ...{ used: seats.used, total: seats.total, people: users, waiting: queued },
      stale: staleFeatures,
    });
    const unread = siteOf(picture("x", { features: [], collectedAt: null }));
    expect(figuresOf(unread)).toMatchObject({ used: null, people: null, waiting: null });
    const hidden = siteOf(picture("x", { features: [feature("f", { checkouts: [] })] }));
    expect(figuresOf(hidden).people).toBeNull();
  });

  test("include tight features, days of expiry, and the longest checkouts", () => {
    expect(tightOf(site).map(({ feature }) => feature.name)).toEqual(["full", "tight", "old"]);
    const pool = (feature: string, expiresOn: string, daysLeft: number, total: number | null) =>
      ({
        server: "x",
        daemon: "d",
        feature,
        pool: `${total}`,
        total,
        expiresOn,
        daysLeft,
      }) as ExpirationRecord;
    const inMarch = ([feature, total]: [string, number | null]) => pool(feature, "2026-03-31", 30, total);
    const march: [string, number | null][] = [
      ["f", 20],
      ["f", 5],
      ["open", null],
    ];
    const pools = [pool("gone", "2026-02-20", -9, 3), ...march.map(inMarch)];
    expect(expiriesOf(pools).map(({ on, days, features, seats }) => [on, days, features, seats])).toEqual([
      ["2026-02-20", -9, 1, 3],
      ["2026-03-31", 30, 2, 25],
    ]);
    expect(heldOf(site)[0]?.since).toBe(NOW - DAY_MS);
  });

  test("group many servers by the most common label, those with problems first", () => {
    const labelled = (id: string, labels: Record<string, string>, more: Partial<ServerPicture> = {}) =>
      picture(id, { server: monitored(id, { labels }), ...more });
    const many = siteOf(
      ...[labelled("a", { site: "muc", rack: "1" }), labelled("b", { site: "muc" })],
      ...[labelled("c", { site: "ber" }, down), labelled("d", {})],
    );
    expect(groupsOf(many).map(({ key, count, troubled }) => [key, count, troubled])).toEqual([
      ["site:ber", 1, 1],
      ["site:muc", 2, 0],
      ["", 1, 0],
    ]);
    const plain = groupsOf(siteOf(labelled("a", {}), labelled("b", {})));
    expect(plain.map(({ key, by }) => [key, by])).toEqual([["flexnet", "manager"]]);
    expect([...many.values()].map(kindOf)).toEqual(["fine", "fine", "down", "fine"]);
  });
});

describe("the last 24 hours", () => {
  const SEATS = { feature: "f", unit: "seats", seatGroup: null } as const;
  const at = (minute: number) => new Date(NOW + minute * 5 * MINUTE_MS).toISOString();
  const series = (...used: (number | null)[]) =>
    used.map((value, minute) => ({
      ...{ timestamp: at(minute), used: value, peakUsed: value },
      total: value === null ? null : 10,
    }));

  test("add up by server; a missed reading counts as the last one, and time without data is a gap", () => {
    const day = dayOf(
      [
        { ...SEATS, server: "eda", total: 10, series: series(1, 2, null, null) },
        { ...SEATS, server: "eda", total: 10, series: series(1, null, null, null) },
        { ...SEATS, server: "eda", total: null, series: series(9, 9, 9, 9) },
        { ...SEATS, server: "cae", total: 10, series: series(5, 6, 7, null) },
      ],
      NOW,
    );
    expect(day.servers.get("eda")?.map(({ used }) => used)).toEqual([2, 2, null, null]);
    expect(day.site.map(({ used }) => used)).toEqual([7, 8, 9, null]);
    expect(day.coverage).toBe(5 / 8);
  });

  test("make a line within its frame, with every gap", () => {
    const used = fc.option(fc.nat(5_000), { nil: null });
    fc.assert(
      fc.property(fc.array(used, { minLength: 1, maxLength: 60 }), (counts) => {
        const samples = counts.map((used, place) => ({ at: place * 1_000, used, peak: used, total: 100 }));
        const { line, area, gaps } = stepsOf(samples, 0, counts.length * 1_000, 100);
        const unseen = (100 * counts.filter((count) => count === null).length) / counts.length;
        expect(Math.abs(gaps.reduce((sum, [, wide]) => sum + wide, 0) - unseen)).toBeLessThan(5);
        expect([...area.matchAll(/M/g)].length).toBe([...area.matchAll(/Z/g)].length);
        for (const [, y] of line.matchAll(/V([\d.-]+)/g))
          expect(Number(y) >= 0 && Number(y) <= 100).toBe(true);
      }),
    );
  });
});
