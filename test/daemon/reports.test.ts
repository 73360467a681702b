import { afterEach, expect, test } from "bun:test";
import { buildConfig } from "../../src/config/config.ts";
import type { ConfigFile } from "../../src/config/schema.ts";
import { createReports } from "../../src/daemon/reports.ts";
import { hostZone } from "../../src/domain/time/zone.ts";
import { REPORT_QUERIES } from "../../src/reports/figures.ts";
import { lastDue } from "../../src/reports/period.ts";
import * as a from "../domain/make.ts";
import { createRig } from "../history/rig.ts";
import { mailServer } from "../reports/mail-server.ts";
import { cleanUp } from "../store/place.ts";

afterEach(cleanUp);

const MINUTE = 60_000;
const DAY = 86_400_000;
const WEEKLY = { every: "week", at: "Mon 07:00", target: "boss" } as const;
/** Time from the start of the week to the report: Monday, 07:00. */
const DUE_MS = 7 * 3_600_000;
const DUE = lastDue("week", DUE_MS, hostZone(), a.NOON).end + DUE_MS;

/** A store a day before a report is due, and a real mail server. */
async function rig(reports: ConfigFile["reports"] = [WEEKLY]) {
  const mail = await mailServer();
  const site = createRig([a.server()]);
  const smtp = `smtp://127.0.0.1:${mail.port}`;
  const boss = { type: "email", name: "boss", smtp, from: "l@site.example", to: "b@site.example" } as const;
  const state: { file: ConfigFile } = { file: { reports, notifications: [boss] } };
  site.clock.time = DUE - DAY;
  const start = () =>
    createReports({
      store: site.store,
      live: site.live(),
      history: {
        query: async (name, params) => (await REPORT_QUERIES[name](site.reader(), params)) as never,
      },
      config: () => buildConfig(state.file, {}),
      clock: site.clock,
      log: site.log,
    });
  const said = (level: string) =>
    site.log.lines
      .filter((line) => line.level === level)
      .map(({ message, fields }) => ({ message, ...fields }));
  return {
    ...site,
    mail,
    boss,
    state,
    start,
    said,
    [Symbol.asyncDispose]: () => mail[Symbol.asyncDispose](),
  };
}

test("a new report is not sent at once, but once when it is next due", async () => {
  await using at = await rig();
  const reports = at.start();
  await reports.look();
  expect(at.mail.mails).toEqual([]);
  at.clock.time = DUE;
  await reports.look();
  at.clock.advance(MINUTE);
  await reports.look();
  const [mail, ...more] = at.mail.mails;
  expect(more).toEqual([]);
  const { title } = lastDue("week", DUE_MS, hostZone(), DUE);
  expect(mail?.head).toContain(`Subject: [licmond] License report: ${title}`);
  expect(mail?.head).toContain("Auto-Submitted: auto-generated");
  expect([...(mail?.parts.keys() ?? [])]).toEqual(["text/plain", "text/html"]);
  expect(mail?.parts.get("text/plain")).toStartWith(`License report: ${title}`);
  expect(mail?.parts.get("text/html")).toContain("</html>");
  // A report is not sent again because its time of day changes.
  at.state.file = { ...at.state.file, reports: [{ ...WEEKLY, at: "Mon 08:00" }] };
  at.clock.advance(2 * 3_600_000);
  await reports.look();
  expect(at.mail.mails).toHaveLength(1);
  at.clock.advance(7 * DAY);
  await reports.look();
  expect(at.mail.mails).toHaveLength(2);
});

test("a daemon that was down sends the last one, once", async () => {
  await using at = await rig();
  await at.start().look();
  // The daemon is down for more than two weeks.
  at.clock.time = DUE + 16 * DAY;
  at.state.file = { ...at.state.file, notifications: [{ ...at.boss, anonymize: true }] };
  const reports = at.start();
  await reports.look();
  await reports.look();
  await at.start().look();
  expect(at.mail.mails).toHaveLength(1);
  expect(at.mail.mails[0]?.parts.get("text/plain")).toContain("This report contains no user names.");
});

test("a clock that was far ahead prevents no report", async () => {
  await using at = await rig();
  const reports = at.start();
  for (const time of [DUE - DAY, DUE + 500 * DAY, DUE + DAY, DUE + 7 * DAY, DUE + 7 * DAY]) {
    at.clock.time = time;
    await reports.look();
  }
  expect(at.mail.mails).toHaveLength(2);
});

test("a rejected report is retried every hour, with a warning", async () => {
  await using at = await rig();
  const reports = at.start();
  await reports.look();
  at.clock.time = DUE;
  at.mail.state.refusal = "the disk is full";
  for (let minute = 0; minute <= 120; minute++) {
    await reports.look();
    at.clock.advance(MINUTE);
  }
  const warning = {
    message: "Cannot send the report; retrying",
    target: "boss",
    error: expect.stringContaining("the disk is full"),
  };
  expect(at.said("warn")).toMatchObject([warning, warning, warning]);
  at.mail.state.refusal = null;
  at.clock.advance(60 * MINUTE);
  await reports.look();
  expect(at.mail.mails).toHaveLength(1);
  expect(at.said("info").at(-1)).toMatchObject({ message: "Report sent", target: "boss" });
});

test("a report that was sent while the store fails is not sent again", async () => {
  await using at = await rig();
  const reports = at.start();
  await reports.look();
  at.clock.time = DUE;
  at.store.sqlite.run(
    "CREATE TRIGGER full BEFORE UPDATE ON event_marks BEGIN SELECT raise(ABORT, 'full'); END",
  );
  for (let minute = 0; minute < 3; minute++) {
    await reports.look();
    at.clock.advance(MINUTE);
  }
  expect(at.mail.mails).toHaveLength(1);
});

test("reports about different servers are all sent", async () => {
  const muc = { ...WEEKLY, labels: { location: "muc" } };
  await using at = await rig([WEEKLY, muc, { ...WEEKLY, every: "month", at: "Thu 07:00" }]);
  const reports = at.start();
  await reports.look();
  at.clock.time = DUE;
  await reports.look();
  const texts = at.mail.mails.map(({ parts }) => parts.get("text/plain"));
  expect(texts).toEqual([
    expect.stringContaining("1 license server,"),
    expect.stringContaining("0 license servers"),
  ]);
});
