import { afterEach, describe, expect, test } from "bun:test";
import type { Denial } from "../../src/domain/denials.ts";
import type {
  EfficiencyRecord,
  SessionRecord,
  StatsRecord,
  UsageRecord,
} from "../../src/domain/history-records.ts";
import type { CheckoutReading, FeatureReading } from "../../src/domain/reading.ts";
import { HistoryTimeout } from "../../src/history/client.ts";
import { createSessionImport } from "../../src/history/sessions/sessions.ts";
import { StoreError } from "../../src/store/database/store-error.ts";
import { createDenialSources, createDenials } from "../../src/store/denials.ts";
import type { Store } from "../../src/store/open/open.ts";
import * as a from "../domain/make.ts";
import { createRig } from "../history/rig.ts";
import { cleanUp } from "../store/place.ts";
import { type Bench, bench, denial, feature, historyBench, monitored, picture, pollMinutes } from "./make.ts";
import { PSEUDONYMS } from "./streams/rig.ts";

afterEach(cleanUp);

const MINUTE = 60_000;
const HOUR = 3_600_000;
const START = a.NOON;

/**
 * Creates two hours of polls, one per minute. `compiler` has 2 seats: ann holds one for the first hour, bob holds one for
 * two hours. Then the server cannot be read for half an hour.
 */
async function site(more: readonly FeatureReading[] = []): Promise<Bench & { store: Store }> {
  const rig = createRig();
  const now = START + 150 * MINUTE;
  const compiler = (...checkouts: CheckoutReading[]) =>
    a.feature({ name: "compiler", total: 2, used: checkouts.length, checkouts });
  const viewer = a.feature({ name: "viewer, 64 bit", total: 5, used: 0, checkouts: [] });
  await pollMinutes(rig, START, now, {
    eda: (at) => {
      if (at > START + 2 * HOUR) return null;
      return [at < START + HOUR ? compiler(ANN, BOB) : compiler(BOB), viewer, ...more];
    },
  });
  const at = historyBench(rig, now);
  at.show(picture("eda", { server: monitored("eda", { timezone: "UTC" }) }));
  return Object.assign(at, { store: rig.store });
}

const SEAT = { host: "WS1", display: "ann:0", startedAt: null };
const ANN = a.checkout({ ...SEAT, user: "ann", handle: "101" });
const BOB = a.checkout({ ...SEAT, user: "=bob", handle: "102" });

/** A feature without counts, but with a known holder. */
const EVE = a.checkout({ user: "eve", handle: "900", startedAt: null });
const FREE = a.feature({ name: "free", total: null, used: null, unlimited: true, checkouts: [EVE] });

const COMPILER = { server: "eda", daemon: "snpslmd", feature: "compiler" };
const RANGE = `start=${START}&end=${START + 2 * HOUR}`;

const json = <T>(at: Bench, path: string, key = at.keys.viewer) =>
  at.json<T>(`/api/licenses/${path}`, { key });
const iso = (after: number) => new Date(START + after).toISOString();

describe("stats", () => {
  test("of an uncounted feature have only its sessions, when named", async () => {
    const at = await site([FREE]);
    const free = feature("free", { daemon: "snpslmd", total: null, used: null, unlimited: true });
    at.show(picture("eda", { features: [free] }));
    const path = `stats?feature=free&feature=compiler&interval=1h&${RANGE}`;
    const { features } = await json<{ features: StatsRecord[] }>(at, path);
    expect(features.map((row) => row.feature)).toEqual(["compiler", "free"]);
    const none = { used: null, peakUsed: null, total: null };
    const { series, ...figures } = features[1] ?? ({} as StatsRecord);
    const known = Object.fromEntries(Object.entries(figures).filter(([, value]) => value !== null));
    const own = { feature: "free", sessions: 1, heldSeatHours: 2, coverage: 0, unit: "seats" };
    expect(known).toEqual({ ...COMPILER, ...own });
    expect(series).toEqual([0, HOUR].map((after) => ({ timestamp: iso(after), ...none })));
    const all = await json<{ features: StatsRecord[] }>(at, `stats?${RANGE}`);
    expect(all.features.map((row) => row.feature)).toEqual(["compiler", "viewer, 64 bit"]);
  });

  test("of a named feature have figures and a series", async () => {
    const at = await site();
    const told = await json<{ features: StatsRecord[] }>(at, `stats?feature=compiler&${RANGE}`);
    const range = { interval: "5m", resolution: "exact", start: iso(0), end: iso(2 * HOUR) };
    expect(told).toMatchObject({ total: 1, limit: null, offset: 0, ...range });
    const { series = [], ...figures } = told.features[0] ?? ({} as StatsRecord);
    expect(figures).toEqual({
      ...COMPILER,
      total: 2,
      peakUsed: 2,
      averageUsed: 1.5,
      p95Used: 2,
      peakUtilization: 100,
      averageUtilization: 75,
      uniqueUsers: 2,
      sessions: 2,
      usedSeatHours: 3,
      heldSeatHours: 3,
      saturatedSeconds: 3600,
      denials: null,
      queuedRequests: null,
      coverage: 1,
      unit: "seats",
      seatGroup: null,
    });
    expect(series.length).toBe(24);
    expect(series[0]).toEqual({ timestamp: iso(0), used: 2, peakUsed: 2, total: 2 });
    expect(series[23]).toMatchObject({ used: 1, peakUsed: 1 });
  });

  test("cover all features by default, without series, up to now", async () => {
    const at = await site();
    const { features } = await json<{ features: StatsRecord[] }>(at, "stats");
    expect(features.map(({ feature }) => feature)).toEqual(["compiler", "viewer, 64 bit"]);
    expect(features.some((row) => "series" in row)).toBe(false);
    // Polls cover two of the 24 hours, and the interval after the last reading.
    expect(features[0]?.coverage).toBeCloseTo(2 / 24, 2);
  });

  test("have null for gaps of a series, and use the requested time zone", async () => {
    const at = await site();
    const day = `start=2026-03-02&end=2026-03-02&feature=compiler&timezone=Asia/Kolkata`;
    const days = await json<{ features: StatsRecord[] }>(at, `stats?${day}&interval=1d`);
    expect(days.features[0]?.series?.map(({ timestamp, used }) => [timestamp, used])).toEqual([
      ["2026-03-01T18:30:00.000Z", 1.4959],
      ["2026-03-02T18:30:00.000Z", null],
    ]);
  });

  test("are sorted, paged, and written as CSV without series", async () => {
    const at = await site();
    const path = `stats?${RANGE}&sort=averageUsed&limit=1`;
    const sorted = await json<{ features: StatsRecord[]; total: number }>(at, path);
    expect([sorted.total, sorted.features.map(({ feature }) => feature)]).toEqual([2, ["viewer, 64 bit"]]);
    const csv = await at.get(`/api/licenses/stats?${RANGE}&format=csv&feature=viewer, 64 bit`);
    expect(csv.headers.get("x-total-count")).toBe("1");
    expect((await csv.text()).split("\r\n")).toEqual([
      "server,daemon,feature,total,peakUsed,averageUsed,p95Used,peakUtilization,averageUtilization,uniqueUsers,sessions,usedSeatHours,heldSeatHours,saturatedSeconds,denials,queuedRequests,coverage,unit,seatGroup",
      'eda,snpslmd,"viewer, 64 bit",5,0,0,0,0,0,0,0,0,0,0,,,1,seats,',
      "",
    ]);
  });
});

describe("sessions", () => {
  test("are sorted by start, newest first; an open one ends where it was last seen", async () => {
    const at = await site();
    const { sessions, total } = await json<{ sessions: SessionRecord[]; total: number }>(at, "sessions");
    expect(total).toBe(2);
    const byUser = Object.fromEntries(sessions.map((session) => [session.user, session]));
    const ended = { endReason: "checkin", firstSeenAt: iso(0), endedAt: iso(HOUR), durationSeconds: 3600 };
    expect(byUser.ann).toMatchObject({ ...COMPILER, ...ended, host: "WS1", count: 1 });
    // The server has not been read for half an hour, so the session counts until one interval after the last reading.
    expect(byUser["=bob"]).toMatchObject({ endedAt: null, endReason: null, durationSeconds: 121 * 60 });
    expect(byUser["=bob"]?.lastSeenAt).toBe(iso(2 * HOUR));
  });

  test.each<[string, string[]]>([
    ["?user=ann", ["ann"]],
    ["?user=nobody", []],
    ["?daemon=snpslmd&user=ann", ["ann"]],
    ["?host=ws1&sort=firstSeenAt", ["ann", "=bob"]],
    [`?start=${START + HOUR}`, ["=bob"]],
    [`?start=${START + HOUR - 1}&sort=-firstSeenAt`, ["=bob", "ann"]],
    [`?end=${START}`, []],
    [`?end=${START + 1}&limit=1&offset=1`, ["ann"]],
    ["?server=eda&user=ann,%3Dbob&sort=-endedAt", ["ann", "=bob"]],
  ])("%s", async (query, users) => {
    const at = await site();
    const { sessions } = await json<{ sessions: SessionRecord[] }>(at, `sessions${query}`);
    expect(sessions.map(({ user }) => user)).toEqual(users);
  });

  test("are safe in CSV", async () => {
    const at = await site();
    const csv = await at.get("/api/licenses/sessions?user=%3Dbob", { headers: { accept: "text/csv" } });
    expect(csv.headers.get("content-type")).toBe("text/csv; charset=utf-8");
    expect((await csv.text()).split("\r\n")[1]).toStartWith("2,eda,snpslmd,compiler,'=bob,WS1,ann:0,");
  });
});

test("the heat map has the hours of the week in a time zone", async () => {
  const at = await site();
  const told = await json<{ cells: Record<string, unknown>[] }>(
    at,
    `heatmap?feature=compiler&timezone=Europe/Berlin&${RANGE}`,
  );
  // 2026-03-02 was a Monday; noon in UTC is one o'clock in Berlin.
  expect(told).toMatchObject({ timezone: "Europe/Berlin", features: 1, resolution: "exact" });
  expect(told.cells.filter(({ coverage }) => coverage !== 0)).toEqual([
    { weekday: 1, hour: 13, averageUsed: 2, peakUsed: 2, averageUtilization: 100, coverage: 1 },
    { weekday: 1, hour: 14, averageUsed: 1, peakUsed: 1, averageUtilization: 50, coverage: 1 },
  ]);
  const csv = await (await at.get(`/api/licenses/heatmap?format=csv&${RANGE}`)).text();
  expect(csv.split("\r\n").length).toBe(1 + 168 + 1);
});

test("efficiency has each seat, and the effect of other totals", async () => {
  const at = await site();
  const { features } = await json<{ features: EfficiencyRecord[] }>(
    at,
    `efficiency?feature=compiler&${RANGE}`,
  );
  expect(features[0]?.seats).toEqual([
    { seat: 1, busyPercent: 100 },
    { seat: 2, busyPercent: 50 },
  ]);
  expect(features[0]?.whatIf.slice(0, 2)).toEqual([
    { total: 1, saturatedSeconds: 7200, affectedSessions: 2 },
    { total: 3, saturatedSeconds: null, affectedSessions: null },
  ]);
  const { knownFrom, ...demand } = features[0]?.demand ?? { knownFrom: null };
  expect([knownFrom, ...Object.values(demand)]).toEqual(["none", null, null, null, null]);
});

describe("demand beyond the seats", () => {
  const denied = (minutes: number, more: Partial<Denial> = {}) =>
    denial(START + minutes * MINUTE, { ...COMPILER, user: `u${minutes}`, host: null, ...more });

  /** `readFrom` is the minute from which the debug log is read; null if it is not read. */
  async function logged(readFrom: number | null, rows: readonly Denial[]) {
    const at = await site();
    const { store } = at;
    store.transaction(() => {
      if (readFrom !== null) createDenialSources(store).begin("eda", START + readFrom * MINUTE);
      createDenials(store).write(rows.map((denial) => ({ denial, told: true })));
    });
    const asked = `feature=compiler&${RANGE}`;
    const { features } = await json<{ features: EfficiencyRecord[] }>(at, `efficiency?${asked}`);
    const [stats] = (await json<{ features: StatsRecord[] }>(at, `stats?${asked}`)).features;
    const three = features[0]?.whatIf.find(({ total }) => total === 3);
    return { at, path: `efficiency?${asked}`, row: features[0], stats, three };
  }

  test("is unknown if the log was read only for part of the time", async () => {
    expect(await logged(60, [])).toMatchObject({
      row: { demand: { deniedRequests: null, knownFrom: "none" } },
      three: { total: 3, saturatedSeconds: null, affectedSessions: null },
    });
    expect((await logged(5, [])).row?.demand.knownFrom).toBe("log");
  });

  test("counts denials for lack of seats, and what more seats would still have missed", async () => {
    const { row, three, stats } = await logged(0, [
      denied(10, { until: START + 12 * MINUTE, count: 2 }),
      denied(20),
      denied(30, { outcome: "queued", code: -24 }),
      // Not counted: a refusal by the options file, and a request that was granted a second later.
      denied(40, { code: -39, count: 50 }),
      denied(50, { outcome: "granted_later", count: 50 }),
      denied(20, { feature: "viewer, 64 bit" }),
    ]);
    const counts = { deniedRequests: 2, deniedSeats: 3, queuedRequests: 1, queuedSeatHours: 0 };
    expect(row?.demand).toEqual({ ...counts, knownFrom: "log" });
    expect(three).toEqual({ total: 3, saturatedSeconds: 121, affectedSessions: 1 });
    const five = { total: 5, saturatedSeconds: 0, affectedSessions: 0 };
    expect(row?.whatIf.find(({ total }) => total === 5)).toEqual(five);
    expect(stats?.queuedRequests).toBe(1);
  });

  test("is in every row of the CSV: one for each seat and each tried total", async () => {
    const { at, path } = await logged(0, [denied(20)]);
    const [heading, ...rows] = (await (await at.get(`/api/licenses/${path}&format=csv`)).text())
      .trim()
      .split("\r\n");
    expect(heading).toBe(
      "server,daemon,feature,total,part,seats,busyPercent,saturatedSeconds,affectedSessions,demand.deniedRequests," +
        "demand.deniedSeats,demand.queuedRequests,demand.queuedSeatHours,demand.knownFrom,coverage,unit",
    );
    expect(rows.slice(0, 4)).toEqual([
      "eda,snpslmd,compiler,2,seat,1,100,,,1,1,0,0,log,1,seats",
      "eda,snpslmd,compiler,2,seat,2,50,,,1,1,0,0,log,1,seats",
      "eda,snpslmd,compiler,2,whatIf,1,,7200,2,1,1,0,0,log,1,seats",
      "eda,snpslmd,compiler,2,whatIf,3,,1,0,1,1,0,0,log,1,seats",
    ]);
    expect(rows).toHaveLength(2 + 6);
  });
});

describe("usage", () => {
  const ONE = { heldSeatHours: 1, sessions: 1, peakHeld: 1, uniqueUsers: 1, unit: "seats" } as const;
  const TWO = { sessions: 2, peakHeld: 2, uniqueUsers: 2 };
  const group = (more: Partial<UsageRecord>): UsageRecord => ({ ...ONE, lastUsedAt: iso(HOUR), ...more });
  const end = iso(2 * HOUR);

  test.each<[string, UsageRecord[]]>([
    ["", [group({ user: "=bob", heldSeatHours: 2, lastUsedAt: end }), group({ user: "ann" })]],
    ["&sort=heldSeatHours&limit=1", [group({ user: "ann" })]],
    ["&group_by=host", [group({ ...TWO, host: "WS1", heldSeatHours: 3, lastUsedAt: end })]],
    ["&group_by=day,feature&user=ann", [group({ day: "2026-03-02", ...COMPILER })]],
    ["&group_by=server&user=nobody", []],
    ["&daemon=snpslmd&group_by=feature&user=ann", [group(COMPILER)]],
  ])("%s", async (query, groups) => {
    const at = await site();
    const told = await json<{ groups: UsageRecord[] }>(at, `usage?${RANGE}${query}`);
    expect(told.groups).toEqual(groups);
  });

  test("has only the columns of its groups", async () => {
    const at = await site();
    // Polls cover two hours of the day.
    const { coverage } = await json<{ coverage: number }>(at, "usage?start=-1d");
    expect(coverage).toBeCloseTo(2 / 24, 2);
    const csv = await (await at.get(`/api/licenses/usage?${RANGE}&group_by=user&user=ann&format=csv`)).text();
    expect(csv.split("\r\n").slice(0, 2)).toEqual([
      "user,heldSeatHours,sessions,peakHeld,uniqueUsers,lastUsedAt,unit",
      `ann,1,1,1,1,${iso(HOUR)},seats`,
    ]);
  });
});

describe("anonymized keys", () => {
  const paths = [
    "sessions",
    "/api/licenses/sessions?format=csv",
    "/api/licenses/usage?group_by=user,host",
    "/api/licenses/usage?group_by=user&sort=lastUsedAt&format=csv",
    "/api/licenses/stats?feature=compiler",
  ];
  test.each(paths)("%s has no names", async (path) => {
    const at = await site();
    const named = await (await at.get(path)).text();
    const hidden = await (await at.get(path, { key: at.keys.anonymous })).text();
    expect(hidden).not.toMatch(/ann|bob|ws1/i);
    expect(hidden.length).toBeGreaterThan(named.length / 2);
  });

  test("get no id of an imported session, because it derives from the user's name", async () => {
    const at = await site();
    const row = { daemon: "snpslmd", feature: "compiler", user: "ann", host: "ws1", version: null };
    const part = { handle: null, data: null, ordinal: 0, part: 0, count: 1, endReason: "checkin" } as const;
    const times = { startedAt: START - HOUR, endedAt: START - MINUTE };
    createSessionImport(at.store).add("eda", [{ ...row, ...part, ...times }]);
    const importedOf = async (key?: string) =>
      (await json<{ sessions: SessionRecord[] }>(at, "sessions", key)).sessions
        .map(({ id }) => id)
        .filter((id) => id < 0);
    const [named, hidden] = [await importedOf(), await importedOf(at.keys.anonymous)];
    expect([named.length, hidden]).toEqual([1, named.map(PSEUDONYMS.session)]);
    expect(hidden).not.toEqual(named);
  });

  test("get usage with equal groups under pseudonyms", async () => {
    const people = Array.from({ length: 12 }, (_, index) => `user${String(index).padStart(2, "0")}`);
    const rows = people.map((user, index) =>
      a.checkout({ user, host: `h${user}`, handle: String(500 + index), startedAt: null }),
    );
    const at = await site([a.feature({ name: "many", total: 20, used: rows.length, checkouts: rows })]);
    for (const key of ["user", "host"] as const) {
      const path = `usage?feature=many&group_by=${key}&${RANGE}`;
      const asked = async (who?: string) =>
        (await json<{ groups: UsageRecord[] }>(at, path, who)).groups.map((group) => String(group[key]));
      const [named, hidden] = [await asked(), await asked(at.keys.anonymous)];
      expect(named).toEqual(named.toSorted());
      expect(hidden).toEqual(hidden.toSorted());
      expect(hidden).toHaveLength(12);
    }
  });

  test("filter by pseudonyms, and real names match nothing", async () => {
    const at = await site();
    const asked = (query: string) =>
      json<{ sessions: SessionRecord[] }>(at, `sessions?${query}`, at.keys.anonymous);
    const ann = PSEUDONYMS.user("ann");
    expect((await asked(`user=${ann}`)).sessions.map(({ user, display }) => [user, display])).toEqual([
      [ann, null],
    ]);
    expect((await asked("user=ann")).sessions).toEqual([]);
    expect((await asked(`host=${PSEUDONYMS.host("ws1").toUpperCase()}`)).sessions.length).toBe(2);
    expect((await asked("host=ws1")).sessions).toEqual([]);
    const usage = await json<{ groups: UsageRecord[] }>(at, `usage?user=${ann}`, at.keys.anonymous);
    expect(usage.groups.map(({ user }) => user)).toEqual([ann]);
  });
});

describe("refusals", () => {
  test.each<[Error, number, string]>([
    [new HistoryTimeout("The query of history took longer than 30 s"), 504, "TIMEOUT"],
    [new StoreError("BUSY", "busy", "again"), 500, "DATABASE_ERROR"],
  ])("%p", async (error, status, code) => {
    const failing = bench({ history: { query: () => Promise.reject(error) } });
    expect(await failing.answer("/api/licenses/stats")).toMatchObject({ status, body: { code } });
  });
});
