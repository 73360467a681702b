import { afterEach, describe, expect, test } from "bun:test";
import type { PersonRecord } from "../../src/domain/history-records.ts";
import { createDenials } from "../../src/store/denials.ts";
import * as a from "../domain/make.ts";
import { createRig } from "../history/rig.ts";
import { cleanUp } from "../store/place.ts";
import {
  type Bench,
  denial,
  feature,
  historyBench,
  monitored,
  PRIVATE,
  picture,
  pollMinutes,
} from "./make.ts";
import { PSEUDONYMS } from "./streams/rig.ts";

afterEach(cleanUp);

const MINUTE = 60_000;
const START = a.NOON;
const NOW = START + 60 * MINUTE;
const HOSTILE = '=cmd()"\n<script>';
const iso = (minute: number) => new Date(START + minute * MINUTE).toISOString();

/**
 * Creates a site: `ann` holds a seat until the last poll, `Bob` for ten minutes, and HOSTILE on another server; `dan` was
 * denied; `eve` is only in the live queue.
 */
async function site(people: "viewer" | "operator" | "off" = "viewer"): Promise<Bench> {
  const rig = createRig([a.server({ id: "eda" }), a.server({ id: "cae" })]);
  const seats = (name: string, ...users: string[]) => {
    const checkouts = users.map((user) =>
      a.checkout({ user, handle: user, host: user === "ann" ? "WS-North" : "ws-north", startedAt: null }),
    );
    return a.feature({ daemon: "acmed", name, total: 9, used: users.length, checkouts });
  };
  await pollMinutes(rig, START, NOW, {
    eda: (at) => [seats("solver", "ann", ...(at < START + 10 * MINUTE ? ["Bob"] : []))],
    cae: (at) => [seats("mesher", ...(at < START + 30 * MINUTE ? [HOSTILE] : []))],
  });
  const denied = denial(START + 5 * MINUTE, { user: "dan", host: null });
  rig.store.transaction(() => createDenials(rig.store).write([{ denial: denied, told: true }]));
  const at = historyBench(rig, NOW, { page: { ...PRIVATE, people } });
  const eve = { ...a.checkout({ user: "eve", host: "ws-eve" }), count: 1 };
  const own = { collectedAt: START + 59 * MINUTE, checkouts: [] };
  at.show(
    picture("eda", { features: [feature("solver", { ...own, queue: [eve] })] }),
    picture("cae", {
      server: monitored("cae", { labels: { site: "stu" } }),
      features: [feature("mesher", own)],
    }),
  );
  return at;
}

interface People {
  readonly people: PersonRecord[];
  readonly total: number;
  readonly code: string;
  readonly message: string;
}

const ask = (at: Bench, query: string, key = at.keys.viewer) =>
  at.answer<People>(`/api/licenses/people${query}`, { key });

describe("people", () => {
  test.each<[string, string[]]>([
    ["", ["WS-North 60", "ann 60", "ws-eve 59", "eve 59", `${HOSTILE} 30`, "Bob 10", "dan 5"]],
    ["?kind=host", ["WS-North 60", "ws-eve 59"]],
    ["?q=B", ["Bob 10"]],
    ["?q=S-N", ["WS-North 60"]],
    ["?q=nobody", []],
    [`?q=${encodeURIComponent(HOSTILE)}`, [`${HOSTILE} 30`]],
    ["?server=cae", ["ws-north 30", `${HOSTILE} 30`]],
    ["?label=site:stu&kind=user", [`${HOSTILE} 30`]],
    ["?server=eda&kind=user&sort=name", ["Bob 10", "ann 60", "dan 5", "eve 59"]],
    ["?server=eda&kind=user&sort=-name&limit=2&offset=1", ["dan 5", "ann 60"]],
    ["?sort=-kind&limit=1", [`${HOSTILE} 30`]],
    ["?sort=lastSeenAt&limit=2", ["dan 5", "Bob 10"]],
    [`?start=${START + 30 * MINUTE}&kind=user`, ["ann 60", "eve 59", `${HOSTILE} 30`]],
  ])("%s", async (query, rows) => {
    const { status, body } = await ask(await site(), query);
    expect(status).toBe(200);
    const minute = (at: string) => (Date.parse(at) - START) / MINUTE;
    expect(body.people.map(({ name, lastSeenAt }) => `${name} ${minute(lastSeenAt)}`).sort()).toEqual(
      rows.toSorted(),
    );
  });

  test("are sorted as requested, also in CSV", async () => {
    const at = await site();
    const { body } = await ask(at, "?limit=2&offset=1");
    expect(body).toEqual({
      people: [
        { kind: "user", name: "ann", lastSeenAt: iso(60) },
        { kind: "host", name: "ws-eve", lastSeenAt: iso(59) },
      ],
      total: 7,
      limit: 2,
      offset: 1,
    } as never);
    const csv = await at.get("/api/licenses/people?format=csv&server=cae&kind=user");
    expect([await csv.text(), csv.headers.get("x-total-count")]).toEqual([
      `kind,name,lastSeenAt\r\nuser,"'=cmd()""\n<script>",${iso(30)}\r\n`,
      "1",
    ]);
  });

  test("have pseudonyms for anonymized keys, and only those are searched and sorted", async () => {
    const at = await site();
    const key = at.keys.anonymous;
    const [ann, bob] = ["ann", "Bob"].map(PSEUDONYMS.user);
    expect((await ask(at, "?q=ann", key)).body.total).toBe(0);
    const found = await ask(at, `?q=${bob?.toUpperCase()}`, key);
    expect(found.body.people).toEqual([{ kind: "user", name: bob ?? "", lastSeenAt: iso(10) }]);
    const { people } = (await ask(at, "?sort=name", key)).body;
    expect(people.map(({ name }) => name)).toEqual(people.map(({ name }) => name).sort());
    expect(people.map(({ name }) => name)).toContain(ann ?? "");
    expect(JSON.stringify(people)).not.toMatch(/ann|bob|dan|eve"|script|north/i);
  });

  test.each([
    ["?label=site:st", 404, "NOT_FOUND", 'No license server has the label "site:st". The closest'],
    ["?server=edda", 404, "NOT_FOUND", 'Unknown server "edda"'],
    [
      "?kind=person",
      400,
      "INVALID_QUERY",
      'Query parameter "kind" got "person"; it must be one or more of user, host',
    ],
    ["?sort=at", 400, "INVALID_QUERY", "one of kind, name, lastSeenAt"],
    ["?user=ann", 400, "INVALID_QUERY", 'Unknown query parameter "user".'],
  ])("%s is %d %s", async (query, status, code, message) => {
    const told = await ask(await site(), query);
    expect(told).toMatchObject({ status, body: { code, message: expect.stringContaining(message) } });
  });
});

const OF_ONE = ["people", "usage", "usage?group_by=host,feature", "usage?group_by=feature&user=ann"];
const OF_MANY = ["usage?group_by=feature", "usage?group_by=server,day", "sessions", "denials", "users"];

test.each([
  ["viewer", ["anonymous", "viewer", "operator", "admin"]],
  ["operator", ["operator", "admin"]],
  ["off", []],
] as const)('with [page] people = "%s" answers about one person go to %p', async (from, roles) => {
  const at = await site(from);
  for (const role of ["anonymous", "viewer", "operator", "admin"] as const) {
    const statusOf = async (path: string) => {
      const response = await at.get(`/api/licenses/${path}`, { key: at.keys[role] });
      if (response.status === 403)
        expect(await response.json()).toMatchObject({
          code: "AUTH_INSUFFICIENT",
          message: expect.stringContaining(`[page] people = "${from}"`),
        });
      return response.status;
    };
    const wanted = roles.some((one) => one === role) ? 200 : 403;
    for (const path of OF_ONE) expect([role, path, await statusOf(path)]).toEqual([role, path, wanted]);
    for (const path of OF_MANY) expect([role, path, await statusOf(path)]).toEqual([role, path, 200]);
  }
  expect(await at.status("/api/licenses/people", { key: at.keys.calendar })).toBe(403);
});
