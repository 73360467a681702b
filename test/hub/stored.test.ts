import { Database } from "bun:sqlite";
import { beforeAll, expect, test } from "bun:test";
import { SessionRecord } from "../../src/domain/history-records.ts";
import type { AlertRow, DenialRow, SessionRow } from "../../src/fleet/protocol.ts";
import { createReader } from "../../src/history/reader.ts";
import type { SessionOrder } from "../../src/history/sessions/session-order.ts";
import { sortable } from "../../src/http/answers/list.ts";
import { HISTORY_AND_ALERTS, historyPort } from "../http/history-port.ts";
import { type Bench, bench, picture } from "../http/make.ts";
import { until } from "../until.ts";
import { describeHub } from "./describe-hub.ts";
import { pictureStates } from "./pictures.ts";

const NOW = Date.parse("2026-03-01T12:00:00Z");
const HOUR = 3_600_000;
const SERVERS = ["eda", "cad"] as const;
const iso = (at: number) => new Date(at).toISOString();
const pick = <T>(list: readonly T[], n: number) => list[n % list.length] as T;

/** Sessions of several weeks, some of them open or without a start. */
const SESSIONS = Array.from({ length: 300 }, (_, n): SessionRow => {
  const first = NOW - ((n * 7919) % 900) * HOUR - n * 1000;
  const ended = n % 9 === 0 ? null : Math.min(NOW - 1000, first + ((n * 31) % 50) * HOUR + 60_000);
  return {
    id: n + 1,
    server: pick(SERVERS, n),
    daemon: "acmed",
    feature: pick(["solver", "mesher", 'it\'s, "x"'], n * 5),
    user: n % 17 === 0 ? null : pick(["ada", "bob", "Ünal", "=cmd()"], n * 3),
    host: n % 11 === 0 ? null : pick(["WS01", "ws02", "ws01"], n),
    version: n % 2 === 0 ? "v1" : null,
    count: 1 + (n % 4),
    handle: String(n),
    startedAt: n % 5 === 0 ? null : first - 30_000,
    beganAt: first,
    firstSeenAt: first,
    lastSeenAt: ended ?? first,
    endedAt: ended,
    endReason: ended === null ? null : pick(["checkin", "unobserved", "server_restart"] as const, n),
  };
});

const DENIALS = Array.from({ length: 90 }, (_, n): DenialRow => {
  const at = NOW - ((n * 7919) % 500) * HOUR - n * 1000;
  return {
    id: n + 1,
    server: pick(SERVERS, n),
    daemon: "acmed",
    feature: n % 13 === 0 ? null : pick(["solver", "mesher"], n),
    user: n % 13 === 0 ? null : pick(["ada", "bob"], n),
    host: n % 7 === 0 ? null : "WS01",
    at,
    until: at + 1000 * n,
    count: 1 + (n % 3),
    attempts: 1 + (n % 5),
    reason: n % 4 === 0 ? null : "no seats",
    code: n % 3 === 0 ? null : -4,
    outcome: pick(["denied", "queued", "granted_later"] as const, n),
    told: true,
  };
});

const ALERTS = Array.from({ length: 40 }, (_, n): AlertRow => {
  const at = NOW - (40 - n) * 6 * HOUR;
  return {
    id: n + 1,
    rule: pick(["seats", "expiry", "disk", "server_down"] as const, n),
    severity: pick(["info", "warning", "critical"] as const, n),
    state: n % 3 === 0 ? "firing" : "resolved",
    // Null is a denial of the whole host.
    server: n % 4 === 2 ? null : pick(SERVERS, n),
    daemon: n % 4 === 0 ? "acmed" : null,
    feature: n % 4 === 0 ? "solver" : null,
    message: `Trouble ${n}`,
    value: n,
    threshold: n / 2,
    peakValue: n + 0.5,
    startedAt: iso(at),
    firedAt: iso(at + 60_000),
    resolvedAt: n % 3 === 0 ? null : iso(at + 2 * HOUR),
    acknowledged: n % 6 === 0,
    acknowledgedAt: n % 6 === 0 ? iso(at + HOUR) : null,
    acknowledgedBy: n % 6 === 0 ? "ann" : null,
    comment: null,
    silencedUntil: null,
  };
});

/** A site's database with the same rows. */
function siteDatabase(): Database {
  const database = new Database(":memory:", { strict: true });
  for (const { sql } of HISTORY_AND_ALERTS) database.run(sql);
  for (const id of SERVERS) {
    database.run("INSERT INTO servers VALUES (?, 'flexnet', '', '', 0, 0)", [id]);
    database.run(
      "INSERT INTO coverage (server_id, from_at, read_at, until_at, running, looks) VALUES (?, ?, ?, ?, 1, 1)",
      [id, NOW - 100 * HOUR, NOW - 5_000, NOW],
    );
  }
  const session = database.query(
    `INSERT INTO sessions (id, server_id, daemon, feature, user, host, version, count, handle, started_at, began_at,
       first_seen_at, last_seen_at, ended_at, end_reason)
     VALUES ($id, $server, $daemon, $feature, $user, $host, $version, $count, $handle, $startedAt, $beganAt, $firstSeenAt,
       $lastSeenAt, $endedAt, $endReason)`,
  );
  for (const row of SESSIONS) session.run(row);
  const denial = database.query(
    `INSERT INTO denials (id, server_id, daemon, feature, user, host, at, until, count, attempts, reason, code, outcome, told)
     VALUES ($id, $server, $daemon, ifnull($feature, ''), ifnull($user, ''), $host, $at, $until, $count, $attempts, $reason,
       $code, $outcome, 1)`,
  );
  for (const { told: _, ...row } of DENIALS) denial.run(row);
  const alert = database.query(
    `INSERT INTO alerts (id, rule, severity, server, daemon, feature, message, value, threshold, peak_value, started_at,
       fired_at, resolved_at, acknowledged_at, acknowledged_by, told)
     VALUES ($id, $rule, $severity, $server, $daemon, $feature, $message, $value, $threshold, $peakValue, $startedAt,
       $firedAt, $resolvedAt, $acknowledgedAt, $acknowledgedBy, '{}')`,
  );
  const ms = (text: string | null) => (text === null ? null : Date.parse(text));
  for (const row of ALERTS) {
    const { acknowledged: _, state: __, comment: ___, silencedUntil: ____, ...rest } = row;
    const [startedAt, firedAt, resolvedAt] = [ms(row.startedAt), ms(row.firedAt), ms(row.resolvedAt)];
    alert.run({ ...rest, startedAt, firedAt, resolvedAt, acknowledgedAt: ms(row.acknowledgedAt) });
  }
  return database;
}

function factsOf() {
  const coverage = SERVERS.map((server) => {
    const from = NOW - 100 * HOUR;
    return { kind: "coverage", server, from, readAt: NOW - 5_000, until: NOW, running: true, looks: 1 };
  });
  const sessions = SESSIONS.map((row) => {
    return { kind: "session", change: row.endedAt === null ? "opened" : "ended", announced: true, ...row };
  });
  const denials = DENIALS.map((row) => ({ kind: "denial", ...row }));
  const alerts = ALERTS.map(({ id, ...row }) => {
    const change = row.state === "firing" ? "fired" : "resolved";
    const head = {
      type: "alert",
      id: `alert-${NOW + id}`,
      timestamp: iso(NOW),
      alert: id,
      change,
      durationSeconds: 0,
    };
    return { kind: "event", id: NOW + id, event: { ...head, ...row } };
  });
  return [...coverage, ...sessions, ...denials, ...alerts].map((fact, index) => ({
    ...fact,
    seq: index + 1,
  }));
}

describeHub("stored lists of a hub", { clock: { now: () => NOW } }, (at) => {
  const { hub, keys } = at;
  let daemon: Bench;

  beforeAll(async () => {
    const pictures = SERVERS.map((id) => picture(id));
    const stored = siteDatabase();
    daemon = bench({ history: historyPort(() => createReader(stored, { now: NOW })) });
    daemon.now = NOW;
    daemon.show(...pictures);
    for (const name of ["muc", "blr"]) {
      const [site, facts] = [await at.site(name), factsOf()];
      const push = site.push({ to: facts.length, sentAt: NOW, facts, states: pictureStates(pictures) });
      await site.sends(hub.url, push);
      await until(
        `the hub lists ${name}`,
        async () => (await hub.get(`/api/licenses/servers?site=${name}`)).ok || undefined,
      );
    }
  });

  type List = { total: number; logging?: unknown } & Record<
    string,
    { id?: number; siteId?: number; site?: string }[]
  >;

  /**
   * Converts a hub's answer to the answer of its site: uses the site's ids, and removes the prefix and name
   * of the site.
   */
  function ofSite(name: string, list: List, plural: string): unknown {
    const { logging: _, ...rest } = list;
    const rows = list[plural]?.map(({ siteId, site, ...row }) => {
      expect(site).toBe(name);
      return siteId === undefined ? row : { ...row, id: siteId };
    });
    return JSON.parse(JSON.stringify({ ...rest, [plural]: rows }).replaceAll(`"${name}:`, '"'));
  }

  // Compare all fields except the id, which differs at the hub.
  const SESSION_SORTS = sortable<Pick<SessionRecord, SessionOrder>>(SessionRecord)
    .filter((field) => field !== "id")
    .flatMap((field) => [field, `-${field}`]);
  const DENIAL_SORTS = "timestamp -server feature -user host -count reason code -until outcome".split(" ");
  test.each([
    "sessions?limit=1000",
    ...SESSION_SORTS.map((sort) => `sessions?limit=41&offset=7&sort=${sort}`),
    "sessions?limit=1000&start=2026-02-20&end=2026-02-25",
    "sessions?limit=1000&start=-2h",
    "sessions?limit=1000&user=ada&host=ws01",
    "sessions?limit=1000&server=eda&feature=solver&daemon=acmed",
    "denials?limit=1000",
    ...DENIAL_SORTS.map((sort) => `denials?limit=23&offset=3&sort=${sort}`),
    "denials?limit=1000&start=2026-02-20&end=2026-02-25",
    "denials?limit=1000&user=bob&server=cad",
    "alerts?limit=1000",
    "alerts?limit=7&offset=3&severity=warning,critical",
    "alerts?limit=1000&state=firing&acknowledged=true",
    "alerts?limit=1000&rule=seats&server=eda",
    "alerts?limit=1000&start=-5d&end=-2d",
  ])("with site= the hub says what the site says: %s", async (path) => {
    const plural = path.split("?")[0] ?? "";
    const { logging: _, ...site } = await daemon.json<List>(`/api/licenses/${path}`);
    expect(site.total as unknown).toBeGreaterThan(0);
    for (const name of ["muc", "blr"]) {
      const asked = path.replace(/server=(\w+)/, `server=${name}:$1`);
      const said = await hub.json<List>(`/api/licenses/${asked}&site=${name}`);
      expect(ofSite(name, said, plural)).toEqual(site);
    }
  });

  test("a fleet's list combines its sites, and every row has the hub's own id", async () => {
    for (const plural of ["sessions", "denials", "alerts"]) {
      const all = await hub.json<List>(`/api/licenses/${plural}?limit=10000`);
      const { total } = await daemon.json<List>(`/api/licenses/${plural}?limit=1`);
      expect([plural, all.total]).toEqual([plural, 2 * total]);
      if (plural === "denials") continue;
      expect(new Set(all[plural]?.map(({ id }) => id)).size).toBe(all.total);
    }
  });

  test("an anonymized key finds people by pseudonyms, and sees no name", async () => {
    for (const plural of ["sessions", "denials"]) {
      const text = await (await hub.get(`/api/licenses/${plural}?limit=1000`, keys.anonymous)).text();
      for (const name of ["ada", "bob", "Ünal", "WS01", "no seats"]) expect(text).not.toContain(`"${name}"`);
      const rows = (JSON.parse(text) as Record<string, { user: string | null }[]>)[plural] ?? [];
      const user = rows.find((row) => row.user !== null)?.user;
      const found = await hub.json<List>(`/api/licenses/${plural}?limit=1000&user=${user}`, keys.anonymous);
      expect(found.total).toBe(rows.filter((row) => row.user === user).length);
      expect((await hub.json<List>(`/api/licenses/${plural}?user=ada`, keys.anonymous)).total).toBe(0);
    }
  });

  test("for an anonymized key lists are sorted by pseudonym or not at all", async () => {
    for (const plural of ["sessions", "denials"])
      for (const field of ["user", "host"] as const) {
        const list = await hub.json<Record<string, Record<string, string | null>[]>>(
          `/api/licenses/${plural}?limit=1000&sort=-${field}`,
          keys.anonymous,
        );
        const names = (list[plural] ?? []).map((row) => row[field] ?? null);
        const known = names.filter((name) => name !== null);
        expect(names.length).toBe(plural === "sessions" ? 2 * SESSIONS.length : 2 * DENIALS.length);
        if (field === "user") expect(new Set(known).size).toBeGreaterThan(1);
        expect(names.slice(0, known.length)).toEqual(known.toSorted().reverse());
      }
  });
});
