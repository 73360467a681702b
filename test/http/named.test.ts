import { afterEach, describe, expect, test } from "bun:test";
import type { FeatureReading } from "../../src/domain/reading.ts";
import { createDenials } from "../../src/store/denials.ts";
import * as a from "../domain/make.ts";
import { createRig } from "../history/rig.ts";
import { cleanUp } from "../store/place.ts";
import type { ApiDocument } from "./document.ts";
import { type Bench, bench, denial, feature, historyBench, picture, pollMinutes } from "./make.ts";

afterEach(cleanUp);

const MINUTE = 60_000;
const HOUR = 3_600_000;
const START = a.NOON;
const NOW = START + HOUR;

const seats = (daemon: string, ...users: string[]): FeatureReading => {
  const of = (user: string) => a.checkout({ user, handle: user, host: "WS-North", startedAt: null });
  return a.feature({ daemon, name: "viewer", total: 4, used: users.length, checkouts: users.map(of) });
};
/** No counts of `free` are stored; only sessions show that it existed. */
const GONE = [
  a.feature({ daemon: "acmed", name: "compiler", used: 0, checkouts: [] }),
  a.feature({ daemon: "oldd", name: "free", total: null, used: null, unlimited: true }),
];

/**
 * Creates an hour of polls. The server has two daemons that both have a `viewer`; `compiler` and `free` have been removed
 * since.
 */
async function site(): Promise<Bench> {
  const rig = createRig();
  await pollMinutes(rig, START, NOW, {
    eda: (at) => {
      const gone = at < START + 10 * MINUTE ? GONE : [];
      return [seats("acmed", "ann", "bob"), seats("betad", "cleo"), ...gone];
    },
  });
  const denied = [
    { daemon: "betad", feature: "viewer" },
    { daemon: "acmed", feature: "viewer" },
    { daemon: "acmed", feature: "never-issued" },
  ].map((of) => ({ denial: denial(START, { user: "dan", host: null, ...of }), told: true }));
  rig.store.transaction(() => createDenials(rig.store).write(denied));
  const at = historyBench(rig, NOW);
  const viewers = [feature("viewer", { daemon: "acmed" }), feature("viewer", { daemon: "betad", total: 9 })];
  at.show(picture("eda", { features: viewers }));
  return at;
}

/** Fields of the answers that this file reads. */
interface Body {
  readonly code?: string;
  readonly message?: string;
  readonly total?: number;
  readonly features?: unknown;
  readonly groups?: readonly object[];
  readonly cells?: readonly { readonly peakUsed: number | null }[];
}

const json = (at: Bench, path: string, key = at.keys.viewer) =>
  at.answer<Body>(`/api/licenses/${path}`, { key });

const RANGE = `start=${START}&end=${NOW}`;

describe("a name that two daemons have", () => {
  test.each<[string, string, Record<string, unknown>[]]>([
    ["features", "features", [{ daemon: "betad", total: 9 }]],
    ["users", "users", [{ daemon: "betad", user: "ada" }]],
    [`stats?${RANGE}`, "features", [{ daemon: "betad", peakUsed: 1, usedSeatHours: 1, heldSeatHours: 1 }]],
    [`sessions?${RANGE}`, "sessions", [{ daemon: "betad", user: "cleo" }]],
    [`efficiency?${RANGE}`, "features", [{ daemon: "betad", feature: "viewer" }]],
    [`denials?${RANGE}`, "denials", [{ daemon: "betad", feature: "viewer" }]],
    [`usage?${RANGE}`, "groups", [{ user: "cleo", heldSeatHours: 1 }]],
    ["expirations", "expirations", [{ daemon: "betad", feature: "viewer" }]],
  ])("%s can be had of one of them", async (path, plural, rows) => {
    const at = await site();
    const mark = path.includes("?") ? "&" : "?";
    const { status, body } = await json(at, `${path}${mark}feature=viewer&daemon=betad`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ [plural]: rows, total: rows.length });
  });

  test("has a heat map and a calendar for one of them", async () => {
    const at = await site();
    const peaks = async (query: string) => {
      const { body } = await json(at, `heatmap?${RANGE}&feature=viewer${query}`);
      const { cells = [] } = body;
      return [body.features, Math.max(...cells.map(({ peakUsed }) => peakUsed ?? 0))];
    };
    expect(await peaks("")).toEqual([2, 3]);
    expect(await peaks("&daemon=betad")).toEqual([1, 1]);
    expect(await peaks("&daemon=acmed")).toEqual([1, 2]);
    const calendar = await at.get("/api/licenses/expirations.ics?daemon=betad", { key: at.keys.viewer });
    expect((await calendar.text()).match(/BEGIN:VEVENT/g)?.length).toBe(1);
  });

  test("is two groups of usage, with hosts as printed", async () => {
    const at = await site();
    const { body } = await json(at, `usage?${RANGE}&group_by=feature&feature=viewer`);
    const of = { server: "eda", feature: "viewer", lastUsedAt: new Date(NOW).toISOString() };
    expect(body.groups).toEqual([
      { ...of, daemon: "acmed", heldSeatHours: 2, sessions: 2, peakHeld: 2, uniqueUsers: 2, unit: "seats" },
      { ...of, daemon: "betad", heldSeatHours: 1, sessions: 1, peakHeld: 1, uniqueUsers: 1, unit: "seats" },
    ]);
    const daemons = await json(at, `usage?${RANGE}&group_by=daemon,host&feature=viewer&sort=-daemon`);
    expect(daemons.body.groups).toMatchObject([
      { daemon: "betad", host: "WS-North" },
      { daemon: "acmed", host: "WS-North" },
    ]);
  });
});

test("every route with a feature accepts daemon and server, and every route with a server accepts a label, except pictures", async () => {
  const { paths } = (await bench().json<unknown>("/swagger/json")) as ApiDocument;
  const parameters = Object.entries(paths).flatMap(([path, { get }]) => {
    const names = get?.parameters?.map(({ name }) => name) ?? [];
    return ["/api/picture", "/badge.svg"].includes(path) ||
      !names.some((name) => ["feature", "server"].includes(name))
      ? []
      : [{ path, names }];
  });
  expect(parameters.length).toBeGreaterThan(15);
  for (const { path, names } of parameters) {
    const wanted = names.includes("feature") ? ["daemon", "server", "label"] : ["label"];
    expect([path, wanted.filter((name) => !names.includes(name))]).toEqual([path, []]);
  }
});

const LISTS = "features users stats sessions usage heatmap efficiency denials expirations alerts waits".split(
  " ",
);

describe("an unknown name", () => {
  test.each([...LISTS, "expirations.ics"])("%s", async (list) => {
    const at = await site();
    for (const key of [at.keys.viewer, at.keys.anonymous]) {
      const typo = await json(at, `${list}?feature=viewr`, key);
      expect([typo.status, typo.body.code]).toEqual([404, "NOT_FOUND"]);
      expect(typo.body.message).toStartWith(
        'No license server has or had a feature "viewr". The closest name is "viewer"',
      );
      expect(JSON.stringify(typo.body)).not.toMatch(/ann|bob|cleo|dan\b/);
      const daemon = await json(at, `${list}?daemon=acme,betad&feature=viewer`, key);
      expect(daemon.body.message).toContain('a daemon "acme". The closest name is "acmed"');
      const server = await json(at, `${list}?server=edda`, key);
      expect(server.body.message).toContain('Unknown server "edda"');
      expect(server.body.message).toContain('The closest name is "eda".');
    }
  });

  test.each(LISTS)("%s of a removed or only denied feature is a normal answer", async (list) => {
    const at = await site();
    for (const name of ["compiler", "free&daemon=oldd", "never-issued"])
      expect((await json(at, `${list}?feature=${name}`)).status).toBe(200);
  });

  test("is an empty list while a server has never been read", async () => {
    const at = await site();
    const fresh = picture("cad", { collectedAt: null, state: "failed", status: "unknown", features: [] });
    at.show(picture("eda"), fresh);
    expect(await json(at, "users?feature=viewr")).toMatchObject({ status: 200, body: { users: [] } });
    expect(await json(at, "users?feature=viewr&server=cad")).toMatchObject({ status: 200 });
    expect(await json(at, "users?feature=viewr&server=eda")).toMatchObject({ status: 404 });
  });
});
