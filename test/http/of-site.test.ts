import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createReader } from "../../src/history/reader.ts";
import { createEncoder } from "../../src/http/streams/encode.ts";
import { createDenials } from "../../src/store/denials.ts";
import * as a from "../domain/make.ts";
import { createRig } from "../history/rig.ts";
import { cleanUp, openBoth } from "../store/place.ts";
import { historyPort } from "./history-port.ts";
import { type Bench, bench, denial, monitored, picture, pollMinutes } from "./make.ts";
import { PSEUDONYMS } from "./streams/rig.ts";

let plain: Bench;
let sited: Bench;
beforeAll(async () => {
  ({ plain, sited } = await both());
});
afterAll(cleanUp);

const MINUTE = 60_000;
const START = a.NOON;
const RANGE = `start=${START}&end=${START + 120 * MINUTE}`;

/** Creates two daemons with equal history and pictures. One has no fleet; the other is the site `blr`. */
async function both(): Promise<Record<"plain" | "sited", Bench>> {
  const rig = createRig();
  const seat = a.checkout({ user: "ann", host: "WS1", handle: "101", startedAt: null });
  const features = [a.feature({ name: "compiler", total: 1, used: 1, checkouts: [seat] })];
  await pollMinutes(rig, START, START + 120 * MINUTE, {
    eda: (at) => (at === START + 60 * MINUTE ? null : features),
  });
  createDenials(rig.store).absorb(denial(START + 5 * MINUTE), [START + 5 * MINUTE], START);
  rig.store.state.sqlite.run(
    `INSERT INTO alerts (id, rule, severity, server, message, started_at, fired_at, told)
     VALUES (1, 'server_down', 'critical', 'eda', 'down', ${START}, ${START}, '{}'), (2, 'disk', 'warning', NULL, 'full', ${START}, ${START}, '{}')`,
  );
  const now = START + 120 * MINUTE;
  const both = openBoth(rig.store);
  const history = historyPort(() => createReader(both, { now }));
  const benchOf = (site?: string) => {
    const at = bench({ history }, site === undefined ? {} : { ofSite: site });
    at.now = now;
    const server = monitored("eda", { timezone: "UTC", ...(site !== undefined && { site }) });
    at.show(picture("eda", { server }));
    return at;
  };
  return { plain: benchOf(), sited: benchOf("blr") };
}

/** Lists, and whether they support CSV. */
const LISTS = [
  "features",
  "features?sort=-used",
  "users",
  "users?sort=user",
  "servers",
  "expirations?permanent=true",
  `sessions?${RANGE}`,
  `denials?${RANGE}`,
  `alerts?${RANGE}`,
  `stats?${RANGE}`,
  `efficiency?${RANGE}`,
  `usage?${RANGE}&group_by=user`,
  `usage?${RANGE}&group_by=feature`,
  `outages?${RANGE}`,
  `waits?${RANGE}`,
].map((path) => `/api/licenses/${path}`);
const OTHERS = ["", "/summary", "/servers/eda"].map((path) => `/api/licenses${path}`);

/** Returns all objects in an answer that are a server or name one. */
function ofServers(value: unknown): Record<string, unknown>[] {
  if (typeof value !== "object" || value === null) return [];
  const inner = Object.values(value).flatMap(ofServers);
  const isOne = !Array.isArray(value) && ("server" in value || "manager" in value);
  return isOne ? [value as Record<string, unknown>, ...inner] : inner;
}
const withoutSite = (text: string) => text.replaceAll('"site":"blr",', "");

describe("a daemon of a fleet", () => {
  test.each([...LISTS, ...OTHERS, "/api/picture", "/api/network"])(
    "has its site in each record, and otherwise equal answers: %s",
    async (path) => {
      const [without, text] = await Promise.all(
        [plain, sited].map(async (at) => (await at.get(path, { key: at.keys.viewer })).text()),
      );
      expect(without).not.toContain("blr");
      expect(withoutSite(text ?? "")).toBe(without ?? "");
      const records = ofServers(JSON.parse(text ?? ""));
      if (!path.includes("group_by=user")) expect(records.length).toBeGreaterThan(0);
      expect(records.filter(({ site }) => site !== "blr")).toEqual([]);
    },
  );

  test.each(LISTS)("has the column in CSV, unlike one without a fleet: %s", async (path) => {
    const [without, lines] = await Promise.all(
      [plain, sited].map(async (at) => {
        const answer = await at.get(path, { key: at.keys.viewer, headers: { accept: "text/csv" } });
        return (await answer.text()).trimEnd().split("\r\n");
      }),
    );
    const heading = (lines?.[0] ?? "").split(",");
    const place = heading.indexOf("site");
    expect(heading.toSpliced(place, 1).join(",")).toBe(without?.[0] ?? "");
    expect(heading).toContain("site");
    expect(lines?.length).toBe(without?.length ?? 0);
    expect(lines?.length).toBeGreaterThan(1);
    for (const line of lines?.slice(1) ?? []) expect(line).toContain("blr");
  });

  test("does not sort or filter by site", async () => {
    for (const query of ["sort=site", "site=blr"])
      expect(await sited.status(`/api/licenses/features?${query}`)).toBe(400);
  });

  test("has it in every event, also with pseudonyms, and stores it in none", () => {
    const event = { type: "log", id: "log-7", timestamp: "2026-03-01T12:00:00.000Z" } as const;
    const row = { id: 7, type: "log", level: null, source: null, json: JSON.stringify(event) } as const;
    const said = (site: string | null) => createEncoder(PSEUDONYMS, () => site).stored(row);
    expect(JSON.parse(said('m"uc').text(1))).toEqual({ site: 'm"uc', ...event });
    expect(said(null).text(1)).toBe(row.json);
    expect(said("muc").frames(1, false)).toStartWith('event: log\nid: 7\ndata: {"site":"muc",');
  });
});
