import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { interpretConfig } from "../../src/config/load.ts";
import type { AlertEvent } from "../../src/domain/events.ts";
import { initialPicture } from "../../src/domain/polls/apply-poll.ts";
import { systemTimers } from "../../src/domain/time/clock.ts";
import { createHubAlerts } from "../../src/hub/alerts/service.ts";
import { createJudge, type Judge } from "../../src/hub/alerts/site-rules.ts";
import { openPool, type Pool } from "../../src/hub/database/connect.ts";
import { migrate } from "../../src/hub/database/migrate.ts";
import * as a from "../domain/make.ts";
import { recordingLog } from "../store/recording-log.ts";
import { until } from "../until.ts";
import { usePostgres } from "./describe-hub.ts";
import { HAS_POSTGRES } from "./postgres.ts";
import { keyAt, known, madeUpSite, open, startHub } from "./rig.ts";

const NOW = Date.parse("2026-03-02T12:00:00Z");
const SECOND = 1_000;
const MINUTE = 60_000;

describe.skipIf(!HAS_POSTGRES)("alerts of a hub", () => {
  const postgres = usePostgres();
  let database: string;
  let pool: Pool;

  beforeEach(async () => {
    database = await postgres.database();
    pool = open(database);
    await migrate(pool);
  });
  afterEach(() => pool.close());

  const info = (notify: "site" | "hub") => JSON.stringify({ version: "0.2.0", notify, allow: [] });
  const joins = (site: string, notify: "site" | "hub" = "site") => pool`
    INSERT INTO sites (site, joined_at, last_push_at, epoch_no, clock_offset_ms, info)
    VALUES (${site}, ${NOW}, ${NOW}, 1, 0, ${info(notify)})`;
  const set = (site: string, change: object) => pool`UPDATE sites SET ${pool(change)} WHERE site = ${site}`;
  const events = async () => {
    const rows: { body: string }[] = await pool`SELECT body FROM new_events ORDER BY place`;
    return rows.map(({ body }) => JSON.parse(body) as AlertEvent & { readonly site: string });
  };

  describe("about sites", () => {
    const look = (judge: Judge, at: number) => pool.begin((tx) => judge.look(tx, at));
    const looks = async (judge: Judge, from: number, to: number) => {
      for (let at = from; at <= to; at += 10 * SECOND) await look(judge, at);
    };
    const own = async () => {
      const rows: { rule: string; resolved_at: string | null }[] =
        await pool`SELECT rule, resolved_at FROM alerts WHERE site_id IS NULL ORDER BY id`;
      return rows.map(({ rule, resolved_at }) => `${rule} ${resolved_at === null ? "fires" : "over"}`);
    };

    test("an outage is one alert, sent after two minutes by either hub, and resolved by the next push", async () => {
      await joins("muc");
      const judge = createJudge("0.2.0");
      await looks(judge, NOW, NOW + 120 * SECOND);
      expect(await own()).toEqual([]);
      await looks(judge, NOW + 130 * SECOND, NOW + 140 * SECOND);
      expect(await own()).toEqual(["site_silent fires"]);
      // From here on, another hub process decides, which does not remember the alert.
      await looks(createJudge("0.2.0"), NOW + 150 * SECOND, NOW + 400 * SECOND);
      expect(await own()).toEqual(["site_silent fires"]);
      await set("muc", { last_push_at: NOW + 405 * SECOND });
      await look(createJudge("0.2.0"), NOW + 410 * SECOND);
      expect(await own()).toEqual(["site_silent over"]);
      const told = await events();
      expect(told.map(({ change }) => change)).toEqual(["fired", "resolved"]);
      const [row] = await pool`SELECT id::int AS id FROM alerts`;
      expect(told[0]).toMatchObject({
        ...{ alert: row.id, site: "muc", rule: "site_silent", severity: "critical", server: null },
        ...{ startedAt: new Date(NOW).toISOString(), firedAt: new Date(NOW + 130 * SECOND).toISOString() },
      });
    });

    test("a hub that starts, or was unable to look, waits as long as before", async () => {
      await joins("muc");
      const judge = createJudge("0.2.0");
      await looks(judge, NOW, NOW + 100 * SECOND);
      // The hub could not reach the database for a while, so no site could push.
      await looks(judge, NOW + 20 * MINUTE, NOW + 21 * MINUTE);
      expect(await own()).toEqual([]);
      await looks(judge, NOW + 21 * MINUTE, NOW + 22 * MINUTE);
      expect(await own()).toEqual(["site_silent fires"]);
    });

    test("a restart within two minutes fires nothing, and a lasting stop is a warning", async () => {
      await joins("muc");
      const judge = createJudge("0.2.0");
      await set("muc", { stopped_at: NOW });
      await looks(judge, NOW, NOW + 80 * SECOND);
      await set("muc", { stopped_at: null, last_push_at: NOW + 80 * SECOND });
      await looks(judge, NOW + 80 * SECOND, NOW + 100 * SECOND);
      await set("muc", { stopped_at: NOW + 100 * SECOND });
      await looks(judge, NOW + 110 * SECOND, NOW + 190 * SECOND);
      expect(await own()).toEqual([]);
      await looks(judge, NOW + 200 * SECOND, NOW + 210 * SECOND);
      const [row] = await pool`SELECT severity, message FROM alerts`;
      expect(row).toEqual({ severity: "warning", message: "muc was stopped at 2026-03-02T12:01:40.000Z" });
    });

    test("a silence also applies when the trouble comes back, and a removed site has no alerts", async () => {
      await joins("muc");
      await pool`
        INSERT INTO refused (site, epoch, seq, at, reason, body) VALUES ('muc', 1, 5, ${NOW}, 'a bad fact', '\\x7b7d')`;
      await look(createJudge("0.2.0"), NOW);
      expect(await own()).toEqual(["site_refused fires"]);
      await pool`UPDATE alerts SET silenced_until = ${NOW + 60 * MINUTE}`;
      await pool`UPDATE refused SET at = 0`;
      await look(createJudge("0.2.0"), NOW + MINUTE);
      await pool`UPDATE refused SET at = ${NOW + MINUTE}`;
      await look(createJudge("0.2.0"), NOW + 2 * MINUTE);
      const [again] = await pool`SELECT silenced_until::text AS until FROM alerts WHERE resolved_at IS NULL`;
      expect(again.until).toBe(String(NOW + 60 * MINUTE));
      await pool`DELETE FROM sites`;
      await look(createJudge("0.2.0"), NOW + 3 * MINUTE);
      expect(await own()).toEqual(["site_refused over", "site_refused over"]);
    });

    test("a changed alert is updated, with an event only for a new severity", async () => {
      await joins("muc");
      const judge = createJudge("0.2.0");
      await set("muc", { stopped_at: NOW });
      await looks(judge, NOW, NOW + 100 * SECOND);
      // Act as if the site had been killed instead of stopped.
      await set("muc", { stopped_at: null });
      await look(judge, NOW + 110 * SECOND);
      expect((await events()).map(({ change, severity }) => `${change} ${severity}`)).toEqual([
        "fired warning",
        "raised critical",
      ]);
    });
  });

  describe("messages", () => {
    let receiver: ReturnType<typeof createReceiver>;
    const stops: (() => Promise<void>)[] = [];
    beforeEach(() => {
      receiver = createReceiver();
    });
    afterEach(async () => {
      for (const stop of stops.splice(0)) await stop();
      await receiver.stop();
    });

    const clock = { time: NOW, now: () => clock.time };
    const heads = [
      initialPicture(a.server({ id: "muc:eda", name: "EDA tools", labels: { location: "muc" } })),
    ];

    /** Starts the alert service of a hub, with short intervals. */
    function hubAlerts(more = "") {
      const toml = `[alerts]\nreminder = "1h"\n[[notifications]]\ntype = "webhook"\nurl = "${receiver.url}"\ngroup = "0s"\n${more}`;
      const read = interpretConfig(toml, null, {});
      if (!read.ok) throw new Error(JSON.stringify(read.problems));
      const log = recordingLog();
      const alerts = createHubAlerts({
        connection: openPool({ database, passwordFile: null, readDatabase: null }, 1, 0),
        directory: { snapshot: () => ({ version: 1, servers: heads }), isSilent: () => false },
        config: () => read.config,
        environment: {},
        version: "0.2.0",
        clock,
        timers: systemTimers,
        log,
        everyMs: 20,
      });
      stops.push(alerts.stop);
      return { log, stop: alerts.stop };
    }

    /** Inserts or updates an alert of a site, as a push does. */
    const fires = (siteId: number, change: object = {}) => pool`
      INSERT INTO alerts ${pool({
        ...{ site: "muc", epoch: 1, site_id: siteId, rule: "seats", severity: "warning", server: "eda" },
        ...{ daemon: "snpslmd", feature: `F${siteId}`, message: "Short", value: 91, peak_value: 91 },
        ...{ started_at: NOW - MINUTE, fired_at: NOW },
        ...change,
      })}`;
    const becomes = (siteId: number, change: object) =>
      pool`UPDATE alerts SET ${pool(change)} WHERE site_id = ${siteId}`;
    /** Waits until the hub has handled all earlier changes of alerts. */
    const told = () =>
      until("all is told", async () => {
        const [row] = await pool`
          SELECT count(*)::int AS left FROM alerts a JOIN sites s USING (site)
          WHERE (a.site_id IS NULL OR s.info::json ->> 'notify' = 'hub') AND a.fired_at > coalesce(s.told_until, 0)
            AND ((resolved_at IS NULL AND (noted IS NULL OR split_part(noted, ' ', 1) <> severity))
              OR (resolved_at IS NOT NULL AND noted IS NOT NULL AND noted <> 'over'))`;
        const [queue] = await pool`SELECT count(*)::int AS left FROM notifications`;
        return (row.left === 0 && queue.left === 0) || undefined;
      });

    test("alerts about sites are logged", async () => {
      clock.time = NOW;
      await joins("muc");
      await set("muc", { stopped_at: NOW - 60 * MINUTE, last_push_at: NOW - 60 * MINUTE });
      const { log } = hubAlerts();
      const lines = () => log.lines.filter(({ message }) => message.startsWith("Alert"));
      clock.time = NOW + 30 * SECOND;
      await until("it is seen", () => {
        clock.time += 10 * SECOND;
        return lines().length > 0 || undefined;
      });
      await set("muc", { stopped_at: null, last_push_at: clock.time });
      await until("it is over", () => lines().length > 1 || undefined);
      const about = { site: "muc", rule: "site_silent" };
      expect(lines()).toMatchObject([
        { level: "warn", message: "Alert fired", fields: about },
        { level: "info", message: "Alert resolved", fields: about },
      ]);
    });

    const STEPS: [what: string, steps: object[], kinds: string[]][] = [
      ["fires and ends", [{}, { resolved_at: NOW + 1 }], ["fired", "resolved"]],
      [
        "gets worse",
        [{}, { severity: "critical" }, { resolved_at: NOW + 1 }],
        ["fired", "raised", "resolved"],
      ],
      ["gets better", [{}, { severity: "info" }], ["fired"]],
      ["fires again and again", [{}, { message: "Shorter" }, { message: "Short" }], ["fired"]],
      ["is silenced", [{ silenced_until: NOW + 60 * MINUTE }, { resolved_at: NOW + 1 }], []],
      [
        "is silenced later",
        [{}, { silenced_until: NOW + 60 * MINUTE, severity: "critical" }, { resolved_at: NOW + 1 }],
        ["fired", "resolved"],
      ],
      [
        "has another total once more",
        [{ rule: "totals_changed", value: 5 }, { value: 6 }],
        ["fired", "raised"],
      ],
    ];
    test.each(STEPS)("an alert that %s", async (_what, [first, ...rest], kinds) => {
      clock.time = NOW;
      await joins("muc", "hub");
      await fires(1, first);
      hubAlerts();
      await told();
      for (const [index, step] of rest.entries()) {
        await becomes(1, step);
        await told();
        // `told` does not notice changes of `value`, so wait for the message.
        if ("value" in step)
          await until("it is told", () => receiver.kinds().length > index + 1 || undefined);
      }
      expect(receiver.kinds()).toEqual(kinds);
      if (kinds[0] !== undefined)
        expect(receiver.alerts[0]).toMatchObject({
          server: "muc:eda",
          serverName: "EDA tools",
          feature: "F1",
        });
    });

    test('a site with notify = "site" tells of its alerts itself, and the hub of its own always', async () => {
      clock.time = NOW;
      await joins("muc", "site");
      await fires(1);
      await set("muc", { stopped_at: NOW });
      await pool`
        INSERT INTO alerts (site, epoch, rule, severity, message, started_at, fired_at)
        VALUES ('muc', 0, 'site_silent', 'warning', 'muc was stopped at 2026-03-02T12:00:00.000Z', ${NOW}, ${NOW})`;
      hubAlerts();
      await until("one is told", () => receiver.alerts.length > 0 || undefined);
      await told();
      expect(receiver.alerts).toMatchObject([{ kind: "fired", rule: "site_silent", server: null }]);
    });

    test("alerts that the site sent on its own are not sent again", async () => {
      clock.time = NOW;
      await joins("muc", "hub");
      await set("muc", { told_until: NOW });
      await fires(1);
      await fires(2, { fired_at: NOW + 1 });
      hubAlerts();
      await told();
      await pool`UPDATE alerts SET resolved_at = ${NOW + 2}`;
      await told();
      expect(receiver.alerts.map(({ kind, feature }) => `${kind} ${feature}`)).toEqual([
        "fired F2",
        "resolved F2",
      ]);
    });

    test("reminders repeat until someone acknowledges, and silenced alerts are sent when the silence ends", async () => {
      clock.time = NOW;
      await joins("muc", "hub");
      await fires(1);
      await fires(2, { silenced_until: NOW + 5 * MINUTE });
      hubAlerts();
      await told();
      expect(receiver.kinds()).toEqual(["fired"]);
      const at = async (time: number, count: number) => {
        clock.time = time;
        await set("muc", { last_push_at: time });
        await until("it is told", () => receiver.kinds().length >= count || undefined);
      };
      await at(NOW + 6 * MINUTE, 2);
      await at(NOW + 62 * MINUTE, 3);
      await becomes(1, { acknowledged_at: clock.time });
      await at(NOW + 70 * MINUTE, 4);
      expect(receiver.alerts.map(({ kind, feature }) => `${kind} ${feature}`)).toEqual([
        "fired F1",
        "fired F2",
        "reminder F1",
        "reminder F2",
      ]);
    });

    test("two hubs send each message once, even if one dies while sending", async () => {
      clock.time = NOW;
      await joins("muc", "hub");
      const first = hubAlerts();
      for (let id = 1; id <= 20; id++) await fires(id);
      await told();
      hubAlerts();
      for (let id = 21; id <= 40; id++) await fires(id);
      await told();
      // From here on the receiver refuses messages, so that they queue.
      receiver.isOpen = false;
      for (let id = 41; id <= 60; id++) await fires(id);
      await until("messages wait", async () => {
        const [row] = await pool`SELECT count(*)::int AS count FROM notifications`;
        return row.count === 20 || undefined;
      });
      await first.stop();
      receiver.isOpen = true;
      await told();
      const features = receiver.alerts.map(({ feature }) => feature);
      expect(features.length).toBe(60);
      expect(new Set(features).size).toBe(60);
    });

    test("a hub whose connection is cut takes over again", async () => {
      clock.time = NOW;
      await joins("muc", "hub");
      const { log } = hubAlerts();
      await fires(1);
      await told();
      await pool`
        SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND pid <> pg_backend_pid()`;
      await fires(2);
      await told();
      expect(receiver.alerts.map(({ feature }) => feature)).toEqual(["F1", "F2"]);
      const failures = log.lines.filter(({ level }) => level === "error");
      expect(failures.length).toBeLessThanOrEqual(1);
    });
  });

  test.skipIf(process.env.SLOW_TESTS !== "1")(
    "a whole hub alerts about a killed site, and the alert is acknowledged and silenced there",
    async () => {
      const receiver = createReceiver();
      const operator = await keyAt(database, { role: "operator", name: "olga" });
      const site = madeUpSite("muc", await keyAt(database, { role: "site", site: "muc" }));
      // The clock runs eight times as fast, so that the test need not wait for two minutes.
      const begun = Date.now();
      const clock = { now: () => begun + 8 * (Date.now() - begun) };
      const more = `[[notifications]]\ntype = "webhook"\nurl = "${receiver.url}"\ngroup = "0s"\n`;
      await using hub = await startHub(database, clock, more);
      await known(hub, operator);
      await site.sends(hub.url, site.push());
      await until("it is told", () => receiver.alerts.length > 0 || undefined);
      expect(receiver.alerts).toMatchObject([{ kind: "fired", rule: "site_silent", server: null }]);
      type Alerts = { alerts: { id: number; siteId: null; site: string; rule: string }[] };
      const { alerts } = await hub.json<Alerts>("/api/licenses/alerts?rule=site_silent&site=muc", operator);
      expect(alerts).toMatchObject([{ site: "muc", siteId: null, server: null, severity: "critical" }]);
      const post = async (path: string, body: object) => {
        const response = await fetch(`${hub.url}/api/licenses/alerts/${alerts[0]?.id}/${path}`, {
          method: "POST",
          headers: { "x-api-key": operator, "content-type": "application/json" },
          body: JSON.stringify(body),
        });
        return (await response.json()) as object;
      };
      expect(await post("acknowledge", { comment: "the line" })).toMatchObject({
        ...{ site: "muc", siteId: null, acknowledged: true, acknowledgedBy: "olga", comment: "the line" },
      });
      expect(await post("silence", { durationSeconds: 60 })).toMatchObject({
        ...{ acknowledged: true, comment: "the line", silencedUntil: expect.any(String) },
      });
      await until("it is over", async () => {
        await site.sends(hub.url, site.push());
        return receiver.alerts.length > 1 || undefined;
      });
      expect(receiver.kinds()).toEqual(["fired", "resolved"]);
      expect(await post("acknowledge", {})).toMatchObject({ code: "CONFLICT" });
      await receiver.stop();
    },
  );
});

interface Received {
  readonly kind: string;
  readonly rule: string;
  readonly server: string | null;
  readonly serverName: string | null;
  readonly feature: string | null;
}

/** Records the messages that a webhook gets. */
function createReceiver() {
  const alerts: Received[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      if (!receiver.isOpen) return new Response("later", { status: 503, headers: { "retry-after": "1" } });
      alerts.push(...((await request.json()) as { alerts: Received[] }).alerts);
      return new Response("ok");
    },
  });
  const receiver = {
    isOpen: true,
    url: `http://127.0.0.1:${server.port}/hook`,
    alerts,
    kinds: () => alerts.map(({ kind }) => kind),
    stop: () => server.stop(true),
  };
  return receiver;
}
