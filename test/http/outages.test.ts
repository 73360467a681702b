import { afterEach, expect, test } from "bun:test";
import type { WaitsRecord } from "../../src/domain/history-records.ts";
import type { AvailabilityRecord, OutageRecord } from "../../src/domain/outages.ts";
import * as a from "../domain/make.ts";
import { createRig, outcomeOf } from "../history/rig.ts";
import { cleanUp } from "../store/place.ts";
import { type Bench, historyBench, monitored, picture } from "./make.ts";

afterEach(cleanUp);

const MINUTE = 60_000;
const START = a.NOON;
const SERVERS = ["eda", "cad", "sim"].map((id) => monitored(id));
const iso = (minute: number) => new Date(START + minute * MINUTE).toISOString();

/** Creates two hours: `eda` fails for ten minutes and is full every third minute; `cad` always refuses; `sim` has no tool. */
async function site(): Promise<Bench> {
  const rig = createRig(SERVERS);
  const noTool = { code: "LICENSE_QUERY_FAILED", message: "no tool", details: null } as const;
  for (let minute = 0; minute <= 120; minute++) {
    const finishedAt = START + minute * MINUTE;
    const failed = { startedAt: finishedAt - 200, finishedAt };
    const counts = new Map([["=compiler", { total: 2, used: minute % 3 === 0 ? 2 : 0, queued: 0 }]]);
    const isDown = minute >= 60 && minute < 70;
    await rig.poll(isDown ? a.failedPoll(failed) : outcomeOf({ at: finishedAt, counts }));
    await rig.poll(a.failedPoll({ ...failed, serverId: "cad" }));
    await rig.poll(a.failedPoll({ ...failed, serverId: "sim", error: noTool }));
  }
  const now = START + 120 * MINUTE;
  const at = historyBench(rig, now);
  at.show(...SERVERS.map((server) => picture(server.id, { server })));
  return at;
}

interface Outages {
  readonly outages: OutageRecord[];
  readonly servers: AvailabilityRecord[];
  readonly total: number;
}

test("outages, and the availability of each server with its coverage", async () => {
  const at = await site();
  const path = `/api/licenses/outages?start=${START}`;
  const told = await at.json<Outages>(path);
  const reason = "Nobody answers at 27000@lic1";
  expect(told).toEqual({
    outages: [
      { server: "eda", status: "down", reason, startedAt: iso(60), endedAt: iso(70), durationSeconds: 600 },
      { server: "cad", status: "down", reason, startedAt: iso(0), endedAt: null, durationSeconds: 7200 },
      {
        server: "sim",
        status: "unknown",
        ...{ reason: "no tool", startedAt: iso(0), endedAt: null, durationSeconds: 7200 },
      },
    ],
    ...{ total: 3, limit: 100, offset: 0, start: iso(0), end: iso(120) },
    servers: [
      { server: "eda", availability: 91.67, coverage: 1, gaps: [] },
      { server: "cad", availability: 0, coverage: 1, gaps: [] },
      { server: "sim", availability: null, coverage: 0, gaps: [] },
    ],
  } as never);
  const named = await at.json<Outages>(`${path}&server=eda&status=unknown,degraded`);
  expect([named.outages, named.servers.map(({ server }) => server)]).toEqual([[], ["eda"]]);
  // Polls cover two hours of the day.
  const day = await at.json<Outages>("/api/licenses/outages?start=-1d&sort=-durationSeconds&limit=1");
  expect([day.outages.length, day.total, day.servers[0]?.coverage]).toEqual([1, 3, 0.083333]);
  expect(day.servers[0]?.gaps).toEqual([{ start: iso(120 - 24 * 60), end: iso(0) }]);
  const csv = await at.get(`${path}&format=csv&server=eda`);
  expect(await csv.text()).toBe(
    `server,status,reason,startedAt,endedAt,durationSeconds\r\neda,down,${reason},${iso(60)},${iso(70)},600\r\n`,
  );
});

test("waits of the features that were full", async () => {
  const at = await site();
  const told = await at.json<{ waits: WaitsRecord[] }>(`/api/licenses/waits?start=${START}`);
  const feature = { server: "eda", daemon: "snpslmd", feature: "=compiler" };
  const waits = { p50Seconds: 30, p80Seconds: 56, longestSeconds: 60, p80Confirmed: 96.33 };
  expect(told).toEqual({
    waits: [{ ...feature, count: 36, fullSeconds: 36 * 60, ...waits, coverage: 0.916667 }],
    ...{ total: 1, limit: 100, offset: 0, start: iso(0), end: iso(120) },
  } as never);
  const csv = await at.get(`/api/licenses/waits?start=${START}&format=csv`);
  expect((await csv.text()).split("\r\n")[1]).toBe("eda,snpslmd,'=compiler,36,2160,30,56,60,96.33,0.916667");
});

test.each([
  ["outages?server=nope", 404, 'Unknown server "nope"'],
  ["outages?status=up", 400, '"status" got "up"; it must be one or more of degraded, down, unknown'],
  ["outages?feature=x", 400, 'Unknown query parameter "feature"'],
  ["outages?start=now&end=-1d", 400, 'Query parameter "start" must lie before "end"'],
  ["waits?feature=compilr", 404, "a feature"],
  ["waits?sort=user", 400, '"sort" got "user"; it must be one of server, daemon, feature, count'],
  ["alerts?start=yesterday", 400, '"start" got "yesterday"; it must be a time'],
])("%s is %d", async (path, status, message) => {
  const body = { message: expect.stringContaining(message) };
  expect(await (await site()).answer(`/api/licenses/${path}`)).toMatchObject({ status, body });
});
