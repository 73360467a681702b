import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { AlertEvent } from "../../src/domain/events.ts";
import { createReader } from "../../src/history/reader.ts";
import { anonymousEvent } from "../../src/http/anonymous/picture.ts";
import { createAlerts } from "../../src/store/alerts.ts";
import { createRig, type Rig } from "../alerts/rig.ts";
import { checkout, feature, NOON, reading } from "../domain/make.ts";
import { cleanUp } from "../store/place.ts";
import { historyPort } from "./history-port.ts";
import { type Ask, type Bench, bench, memoryKeys, picture } from "./make.ts";
import { PSEUDONYMS } from "./streams/rig.ts";

afterEach(cleanUp);

/** Routes over the real engine and a real store. */
let rig: Rig;
let at: Bench;
let anonymous: string;

beforeEach(() => {
  rig = createRig({ settings: { heldHours: 24, recoveries: 1 } });
  const keys = memoryKeys(() => rig.now);
  const made = bench({
    keys,
    clock: { now: () => rig.now },
    history: historyPort(() => createReader(rig.store.sqlite, { now: rig.now })),
    alerts: {
      counts: (servers) => rig.engine.counts(servers),
      acknowledge: (id, by, comment) => rig.engine.acknowledge(id, by, comment),
      silence: (id, until, comment) => rig.engine.silence(id, until, comment),
    },
  });
  at = {
    ...made,
    keys: {
      calendar: keys.add("calendar"),
      viewer: keys.add("viewer"),
      operator: keys.add("operator"),
      admin: keys.add("admin"),
    },
  };
  anonymous = keys.add("viewer", { anonymize: true });
  at.show(picture("eda"));
  rig.poll({
    reading: reading({
      features: [
        feature({ used: 9, checkouts: [checkout({ user: "zq-ann", startedAt: NOON - 30 * 3_600_000 })] }),
      ],
    }),
  });
});

const viewer = (): Ask => ({ key: at.keys.viewer });
const json = async (path: string, ask: Ask = viewer()) =>
  (await (await at.get(path, ask)).json()) as Record<string, unknown>;
const post = (path: string, body: unknown, key = at.keys.operator): Ask & { path: string } => ({
  ...{
    path,
    key,
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json" },
  },
});
const send = ({ path, ...ask }: Ask & { path: string }) => at.get(path, ask);

describe("the list", () => {
  test("newest first, with filters", async () => {
    expect(await json("/api/licenses/alerts")).toMatchObject({
      alerts: [
        { id: 2, rule: "held_too_long", severity: "warning", state: "firing", value: 30, threshold: 24 },
        {
          id: 1,
          rule: "usage",
          server: "eda",
          daemon: "snpslmd",
          feature: "compiler",
          value: 90,
          acknowledged: false,
        },
      ],
      ...{ total: 2, limit: 100, offset: 0 },
    });
    rig.usage(10);
    const ids = async (query: string) =>
      ((await json(`/api/licenses/alerts?${query}`)).alerts as { id: number }[]).map(({ id }) => id);
    expect(await ids("severity=critical")).toEqual([1]);
    expect(await ids("severity=warning,info")).toEqual([3, 2]);
    expect(await ids("state=resolved")).toEqual([2]);
    expect(await ids("state=firing&rule=usage,queue")).toEqual([1]);
    expect(await ids("acknowledged=true")).toEqual([]);
    expect(await ids("acknowledged=false&limit=1&offset=1")).toEqual([2]);
    expect(await ids("server=eda")).toEqual([3, 2, 1]);
  });

  test("CSV with the number of matches", async () => {
    const response = await at.get("/api/licenses/alerts?format=csv&limit=1", viewer());
    expect(response.headers.get("x-total-count")).toBe("2");
    const [head, row, rest] = (await response.text()).split("\r\n");
    expect(head).toStartWith(
      "id,rule,severity,state,server,daemon,feature,message,value,threshold,startedAt",
    );
    expect([row?.startsWith("2,held_too_long,warning,firing,eda"), rest]).toEqual([true, ""]);
  });

  test.each(["severity=bad", "acknowledged=1", "state=gone", "rule=x", "limit=0"])(
    "%s is refused",
    async (query) => {
      expect((await at.get(`/api/licenses/alerts?${query}`, viewer())).status).toBe(400);
    },
  );

  test("an unknown server is 404", async () => {
    expect((await at.get("/api/licenses/alerts?server=x", viewer())).status).toBe(404);
  });
});

test("the summary counts what fires, under a tag of its own", async () => {
  const first = await at.get("/api/licenses/summary", viewer());
  expect(await first.json()).toMatchObject({ alerts: { info: 0, warning: 2, critical: 0 } });
  const same = await at.get("/api/licenses/summary", {
    ...viewer(),
    headers: { "if-none-match": first.headers.get("etag") ?? "" },
  });
  expect(same.status).toBe(304);
  rig.usage(10);
  const other = await at.get("/api/licenses/summary", {
    ...viewer(),
    headers: { "if-none-match": first.headers.get("etag") ?? "" },
  });
  expect(await other.json()).toMatchObject({ alerts: { info: 0, warning: 1, critical: 1 } });
  expect(await json("/api/licenses?server=eda")).toMatchObject({ summary: { alerts: { critical: 1 } } });
});

describe("acknowledge and silence", () => {
  test("answer the alert, and stand in the trail", async () => {
    const done = await send(post("/api/licenses/alerts/1/acknowledge", { comment: "Ann looks" }));
    expect(await done.json()).toMatchObject({
      ...{
        id: 1,
        acknowledged: true,
        acknowledgedBy: expect.stringContaining("operator"),
        comment: "Ann looks",
      },
    });
    const quiet = await send(post("/api/licenses/alerts/1/silence", { durationSeconds: 60 }));
    expect(await quiet.json()).toMatchObject({
      silencedUntil: new Date(rig.now + 60_000).toISOString(),
      comment: "Ann looks",
    });
    const until = new Date(rig.now + 3_600_000).toISOString();
    expect(
      await (await send(post("/api/licenses/alerts/2/silence", { until, comment: "c" }))).json(),
    ).toMatchObject({ silencedUntil: until });
    expect(
      at.logged
        .filter(({ source }) => source === "audit")
        .map(({ message, fields }) => [message, fields.alert, fields.outcome, fields.comment]),
    ).toEqual([
      ["Alert acknowledged", 1, "ok", "Ann looks"],
      ["Alert silenced", 1, "ok", null],
      ["Alert silenced", 2, "ok", "c"],
    ]);
  });

  test("an empty body is enough to acknowledge", async () => {
    const response = await at.get("/api/licenses/alerts/1/acknowledge", {
      key: at.keys.operator,
      method: "POST",
    });
    expect(response.status).toBe(200);
  });

  test.each<[string, unknown, number, string]>([
    ["/api/licenses/alerts/99/acknowledge", {}, 404, "NOT_FOUND"],
    ["/api/licenses/alerts/x/acknowledge", {}, 404, "NOT_FOUND"],
    ["/api/licenses/alerts/1e0/silence", { durationSeconds: 1 }, 404, "NOT_FOUND"],
    ["/api/licenses/alerts/1/acknowledge", { coment: "x" }, 400, "INVALID_FIELD"],
    ["/api/licenses/alerts/1/silence", {}, 400, "MISSING_FIELD"],
    ["/api/licenses/alerts/1/silence", { durationSeconds: 0 }, 400, "INVALID_FIELD"],
    ["/api/licenses/alerts/1/silence", { until: "2020-01-01T00:00:00Z" }, 400, "INVALID_FIELD"],
    ["/api/licenses/alerts/1/silence", { until: "2026-11-31T00:00:00Z" }, 400, "INVALID_FIELD"],
    ["/api/licenses/alerts/1/acknowledge", { comment: "half \udc00" }, 400, "INVALID_FIELD"],
    [
      "/api/licenses/alerts/1/silence",
      { until: "2026-03-02T13:00:00Z", durationSeconds: 5 },
      400,
      "INVALID_FIELD",
    ],
  ])("%s %j", async (path, body, status, code) => {
    const response = await send(post(path, body));
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([status, code]);
  });

  test("what is resolved is a conflict, and a viewer may not", async () => {
    rig.usage(1);
    for (const what of ["acknowledge", "silence"]) {
      const conflict = await send(
        post(`/api/licenses/alerts/1/${what}`, what === "silence" ? { durationSeconds: 5 } : {}),
      );
      expect([conflict.status, ((await conflict.json()) as { code: string }).code]).toEqual([
        409,
        "CONFLICT",
      ]);
      const refused = await send(post(`/api/licenses/alerts/1/${what}`, {}, at.keys.viewer));
      expect(refused.status).toBe(403);
    }
  });
});

test("an anonymized key sees what and how long, and nobody", async () => {
  await send(post("/api/licenses/alerts/2/acknowledge", { comment: "zq-ann is on holiday" }));
  const everything = await (await at.get("/api/licenses/alerts", { key: anonymous })).text();
  expect(everything).not.toContain("zq");
  expect(JSON.parse(everything)).toMatchObject({
    alerts: [
      {
        id: 2,
        message: "A seat of compiler has been held for 30 h, longer than 24 h",
        comment: null,
        acknowledgedBy: null,
        acknowledged: true,
      },
      { id: 1 },
    ],
  });
  const told = rig
    .events()
    .map((event) => ({ ...event, id: "alert-1", timestamp: new Date(NOON).toISOString() }) as AlertEvent);
  expect(told.map(({ message }) => message).join()).toContain("zq-ann");
  expect(told.map((event) => anonymousEvent(event, PSEUDONYMS)).join()).not.toContain("zq");
});

test("rows go through the store unchanged, and are forgotten when they are old", async () => {
  rig.usage(1);
  const alerts = createAlerts(rig.store);
  expect(alerts.retainStep(rig.now)).toBe(0);
  expect(alerts.retainStep(rig.now + 1)).toBe(2);
  expect(alerts.get(1)).toBeNull();
});
