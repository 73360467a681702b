import { describe, expect, test } from "bun:test";
import { SITE_RULES, type SiteRuleName } from "../../src/domain/alerts.ts";
import { SITE_ALERT_RULES, type SiteLook } from "../../src/hub/alerts/site-rules.ts";

const NOW = Date.parse("2026-03-02T12:00:00Z");
const MINUTE = 60_000;
const WELL: SiteLook = {
  site: "muc",
  lastPushAt: NOW - 5_000,
  stoppedAt: null,
  waitingSince: null,
  waitingFacts: 0,
  clockOffsetMs: 120,
  version: "0.2.0",
  address: "10.0.0.1",
  refusedAt: null,
  refusedAddress: null,
  refusedFacts: 0,
  refusedReason: null,
};
const SILENT = { lastPushAt: NOW - 31_000 };
const STOPPED = { stoppedAt: NOW - 4_000 };

type Case = [
  rule: SiteRuleName,
  what: string,
  look: Partial<SiteLook>,
  seen: string | null,
  message?: RegExp,
  value?: number | null,
];
const CASES: Case[] = [
  ["site_silent", "30 s ago", { lastPushAt: NOW - 30_000 }, null],
  ["site_silent", "31 s ago", SILENT, "critical", /^muc has been silent since 2026-03-02T11:59:29/],
  ["site_silent", "stopped", STOPPED, "warning", /^muc was stopped at 2026-03-02T11:59:56/],
  ["site_silent", "never heard", { lastPushAt: null }, "unknown"],
  ["site_behind", "9 minutes", { waitingSince: NOW - 9 * MINUTE }, null],
  [
    "site_behind",
    "25 minutes",
    { waitingSince: NOW - 25 * MINUTE, waitingFacts: 12_000 },
    "warning",
    /^muc is 25 min behind: 12000 facts wait there$/,
    25,
  ],
  // Delays are measured by the site's clock.
  [
    "site_behind",
    "its clock is ahead",
    { waitingSince: NOW + 60 * MINUTE, clockOffsetMs: 75 * MINUTE },
    "warning",
    /15 min behind/,
    15,
  ],
  ["site_behind", "silent", { ...SILENT, waitingSince: NOW - 25 * MINUTE }, "unknown"],
  ["site_clock", "60 s", { clockOffsetMs: -60_000 }, null],
  [
    "site_clock",
    "3 min ahead",
    { clockOffsetMs: 180_000 },
    "warning",
    /^The clock of muc is 3 min ahead of the hub's$/,
    180,
  ],
  [
    "site_clock",
    "a day behind",
    { clockOffsetMs: -86_400_000 },
    "warning",
    /is 1 d behind the hub's$/,
    86_400,
  ],
  ["site_clock", "silent", { ...SILENT, clockOffsetMs: 180_000 }, "unknown"],
  ["site_version", "two minor versions older", { version: "0.3.9" }, null],
  [
    "site_version",
    "three minor versions older",
    { version: "0.2.9" },
    "warning",
    /runs licmond 0\.2\.9, the hub 0\.5\.1: the site is too old/,
  ],
  ["site_version", "the same minor version", { version: "0.5.0-dev" }, null],
  ["site_version", "newer", { version: "0.6.0" }, "warning", /: update the hub first$/],
  ["site_version", "a major version newer", { version: "1.0.0" }, "warning", /: update the hub first$/],
  ["site_version", "no version", { version: "dev" }, "unknown"],
  ["site_refused", "none", {}, null],
  [
    "site_refused",
    "one",
    { refusedFacts: 1, refusedReason: "/user: Expected string" },
    "warning",
    /^1 fact of muc could not be stored and was set aside; latest reason: \/user: Expected string$/,
    1,
  ],
  ["site_clone", "one hour ago", { refusedAt: NOW - 60 * MINUTE, refusedAddress: "10.0.0.9" }, null],
  [
    "site_clone",
    "a minute ago",
    { refusedAt: NOW - MINUTE, refusedAddress: "10.0.0.9" },
    "critical",
    /one from 10\.0\.0\.1, and one from 10\.0\.0\.9, which is refused/,
  ],
];

describe("rules about sites", () => {
  test.each(CASES)("%s: %s", (name, _what, change, seen, message = /(?:)/, value = null) => {
    const rule = SITE_ALERT_RULES.find((each) => each.rule === name);
    const version = name === "site_version" ? WELL.version : "0.2.0";
    const found = rule?.look(
      { ...WELL, version, ...change },
      NOW,
      name === "site_version" ? "0.5.1" : "0.2.0",
    );
    if (typeof found !== "object" || found === null) return expect<unknown>(found).toBe(seen);
    expect(found).toMatchObject({ severity: seen, message: expect.stringMatching(message), value });
  });

  test("a healthy site has no findings, and each rule has a row", () => {
    expect(SITE_ALERT_RULES.map(({ rule }) => rule)).toEqual([...SITE_RULES]);
    expect(SITE_ALERT_RULES.map(({ look }) => look(WELL, NOW, "0.2.0"))).toEqual(SITE_RULES.map(() => null));
  });
});
