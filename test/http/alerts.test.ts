import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { AlertRecord } from "../../src/domain/alerts.ts";
import type { AlertEvent } from "../../src/domain/events.ts";
import { createReader } from "../../src/history/reader.ts";
import { anonymousEvent } from "../../src/http/anonymous/anonymous.ts";
import { createAlerts } from "../../src/store/alerts.ts";
import { createRig, type Rig } from "../alerts/rig.ts";
import { checkout, feature, NOON, reading } from "../domain/make.ts";
import { cleanUp } from "../store/place.ts";
import { historyPort } from "./history-port.ts";
import { type Bench, bench, picture } from "./make.ts";
import { PSEUDONYMS } from "./streams/rig.ts";

afterEach(cleanUp);

/** The routes run with the real engine and a real store. */
let rig: Rig;
let at: Bench;

beforeEach(() => {
  rig = createRig({ settings: { heldHours: 24, recoveries: 1 } });
  at = bench({
    clock: { now: () => rig.now },
    history: historyPort(() => createReader(rig.store.state.sqlite, { now: rig.now })),
    alerts: rig.engine,
  });
  // The server has not been read, so any feature name is accepted.
  at.show(picture("eda", { collectedAt: null }));
  const held = checkout({ user: "zq-ann", startedAt: NOON - 30 * 3_600_000 });
  rig.poll({ reading: reading({ features: [feature({ used: 9, checkouts: [held] })] }) });
});

const post = (path: string, body: object, key = at.keys.operator) =>
  at.post(`/api/licenses/alerts/${path}`, body, key);

describe("the list", () => {
  test("newest first, with filters", async () => {
    expect(await at.json("/api/licenses/alerts")).toMatchObject({
      alerts: [
        { id: 2, rule: "held_too_long", severity: "warning", state: "firing", value: 30, threshold: 24 },
        { id: 1, rule: "seats", server: "eda", daemon: "snpslmd", feature: "compiler", value: 90 },
      ],
      total: 2,
      limit: 100,
      offset: 0,
    });
    rig.usage(10);
    const ids = async (query: string) =>
      (await at.json<{ alerts: AlertRecord[] }>(`/api/licenses/alerts?${query}`)).alerts.map(({ id }) => id);
    expect(await ids("severity=critical")).toEqual([1]);
    expect(await ids("severity=warning,info")).toEqual([2]);
    expect(await ids("state=resolved")).toEqual([2]);
    // Rules can still be queried by their old names.
    for (const rules of ["seats", "usage,queue", "seats_exhausted", "seats,usage"])
      expect(await ids(`state=firing&rule=${rules}`)).toEqual([1]);
    expect(await ids("rule=held_too_long,queue")).toEqual([2, 1]);
    expect(await ids("acknowledged=true")).toEqual([]);
    expect(await ids("acknowledged=false&limit=1&offset=1")).toEqual([1]);
    for (const own of ["server=eda", "daemon=snpslmd", "feature=compiler"])
      expect(await ids(own)).toEqual([2, 1]);
    expect(await ids(`feature=compiler&state=resolved&daemon=snpslmd`)).toEqual([2]);
    // A range selects the alerts that were active in it. The second alert ends with the second poll.
    const [first, second] = [NOON + 60_000, NOON + 120_000];
    for (const [range, meanwhile] of [
      [`end=${first}`, []],
      [`end=${first + 1}`, [2, 1]],
      [`start=${second - 1}&end=${second}`, [2, 1]],
      [`start=${second}`, [1]],
    ] as const)
      expect(await ids(range)).toEqual([...meanwhile]);
  });

  test("CSV with the number of matches", async () => {
    const response = await at.get("/api/licenses/alerts?format=csv&limit=1");
    expect(response.headers.get("x-total-count")).toBe("2");
    const [head, row, rest] = (await response.text()).split("\r\n");
    expect(head).toStartWith(
      "id,rule,severity,state,server,daemon,feature,message,value,threshold,peakValue,startedAt,firedAt",
    );
    expect([row?.startsWith("2,held_too_long,warning,firing,eda"), rest]).toEqual([true, ""]);
  });
});

test("the summary counts firing alerts, and has its own tag", async () => {
  const first = await at.get("/api/licenses/summary");
  expect(await first.json()).toMatchObject({ alerts: { info: 0, warning: 2, critical: 0 } });
  const again = () =>
    at.get("/api/licenses/summary", { headers: { "if-none-match": first.headers.get("etag") ?? "" } });
  expect((await again()).status).toBe(304);
  rig.usage(10);
  expect(await (await again()).json()).toMatchObject({ alerts: { info: 0, warning: 0, critical: 1 } });
  expect(await at.json("/api/licenses?server=eda")).toMatchObject({ summary: { alerts: { critical: 1 } } });
});

describe("acknowledge and silence", () => {
  test("answer with the alert, and are recorded in the audit trail", async () => {
    const done = await post("1/acknowledge", { comment: "Ann looks" });
    const acknowledgedBy = expect.stringContaining("operator");
    const acknowledged = { id: 1, acknowledged: true, acknowledgedBy, comment: "Ann looks" };
    expect(await done.json()).toMatchObject(acknowledged);
    const silencedUntil = new Date(rig.now + 60_000).toISOString();
    const quiet = await post("1/silence", { durationSeconds: 60 });
    expect(await quiet.json()).toMatchObject({ silencedUntil, comment: "Ann looks" });
    const until = new Date(rig.now + 3_600_000).toISOString();
    const other = await post("2/silence", { until, comment: "c" });
    expect(await other.json()).toMatchObject({ silencedUntil: until });
    const trail = at.linesOf("audit").map(({ message, fields: { alert, outcome, comment } }) => {
      return [message, alert, outcome, comment];
    });
    expect(trail).toEqual([
      ["Alert acknowledged", 1, "ok", "Ann looks"],
      ["Alert silenced", 1, "ok", null],
      ["Alert silenced", 2, "ok", "c"],
    ]);
  });

  test("an empty body is enough to acknowledge", async () => {
    const ask = { key: at.keys.operator, method: "POST" };
    expect(await at.status("/api/licenses/alerts/1/acknowledge", ask)).toBe(200);
  });

  test.each<[string, object, number, string]>([
    ["99/acknowledge", {}, 404, "NOT_FOUND"],
    ["x/acknowledge", {}, 404, "NOT_FOUND"],
    ["1e0/silence", { durationSeconds: 1 }, 404, "NOT_FOUND"],
    ["1/acknowledge", { coment: "x" }, 400, "INVALID_FIELD"],
    ["1/silence", {}, 400, "MISSING_FIELD"],
    ["1/silence", { durationSeconds: 0 }, 400, "INVALID_FIELD"],
    ["1/silence", { until: "2020-01-01T00:00:00Z" }, 400, "INVALID_FIELD"],
    ["1/silence", { until: "2026-11-31T00:00:00Z" }, 400, "INVALID_FIELD"],
    ["1/acknowledge", { comment: "half \udc00" }, 400, "INVALID_FIELD"],
    ["1/silence", { until: "2026-03-02T13:00:00Z", durationSeconds: 5 }, 400, "INVALID_FIELD"],
  ])("%s %j", async (path, body, status, code) => {
    const response = await post(path, body);
    expect([response.status, await response.json()]).toMatchObject([status, { code }]);
  });

  test.each([
    ["acknowledge", {}],
    ["silence", { durationSeconds: 5 }],
  ])("a resolved alert is a conflict, and a viewer is forbidden: %s", async (what, body) => {
    rig.usage(1);
    const conflict = await post(`1/${what}`, body);
    expect([conflict.status, await conflict.json()]).toMatchObject([409, { code: "CONFLICT" }]);
    expect((await post(`1/${what}`, {}, at.keys.viewer)).status).toBe(403);
  });
});

test("an anonymized key sees alerts and times, but no names", async () => {
  await post("2/acknowledge", { comment: "zq-ann is on holiday" });
  const everything = await (await at.get("/api/licenses/alerts", { key: at.keys.anonymous })).text();
  expect(everything).not.toContain("zq");
  const message = "A seat of compiler has been held for 30 h, longer than 24 h";
  expect(JSON.parse(everything)).toMatchObject({
    alerts: [{ id: 2, message, comment: null, acknowledgedBy: null, acknowledged: true }, { id: 1 }],
  });
  const told = rig
    .events()
    .map((event) => ({ ...event, id: "alert-1", timestamp: new Date(NOON).toISOString() }) as AlertEvent);
  expect(told.map(({ message }) => message).join()).toContain("zq-ann");
  expect(told.map((event) => anonymousEvent(event, PSEUDONYMS)).join()).not.toContain("zq");
});

test("rows are stored unchanged, and deleted after retention", async () => {
  rig.usage(1);
  const alerts = createAlerts(rig.store);
  expect(alerts.retainStep(rig.now)).toBe(0);
  expect(alerts.retainStep(rig.now + 1)).toBe(2);
  expect(alerts.get(1)).toBeNull();
});
