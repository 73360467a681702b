import { describe, expect, test } from "bun:test";
import type { PictureServer } from "../../src/domain/live-picture.ts";
import type { ServerPicture } from "../../src/domain/picture.ts";
import { applyPoll } from "../../src/domain/polls/apply-poll.ts";
import { keptServer } from "../../src/domain/polls/kept-picture.ts";
import type { FeatureReading } from "../../src/domain/reading.ts";
import { createExposition } from "../../src/export/exposition.ts";
import { serverJson } from "../../src/http/picture.ts";
import { serverRecord, summaryRecord } from "../../src/http/records.ts";
import { figuresOf, groupsOf } from "../../src/page/daily/figures.ts";
import { seatsOf } from "../../src/page/daily/wall.ts";
import { groupedHolders } from "../../src/page/groups.ts";
import { holdersOf, sumOf } from "../../src/page/model.ts";
import { checkout, feature, outcome, reading, server } from "../domain/make.ts";
import { parseText, sampleOf } from "../export/parse-text.ts";

const NO_ALERTS = { info: 0, warning: 0, critical: 0 };

/**
 * Eight programs that share 500 seats. `lstc_qrun -R` lists each with a total of 500 and with its own
 * users.
 */
const USED = [240, 96, 64, 40, 0, 0, 0, 0];
const crash = USED.map((used, at) =>
  feature({ name: `program${at}`, total: 500, used, seatGroup: "0", checkouts: [checkout({ count: used })] }),
);
/** Features that use one token pool, each showing the use of the whole pool. */
const tokens = ["HyperWorks", "GlobalZoneEU"].map((name) =>
  feature({ name, total: 1_000_003, used: 25_000, unit: "tokens", checkouts: [checkout({ count: 25_000 })] }),
);
const credits = feature({
  name: "pre",
  total: 90,
  used: 80,
  unit: "credits",
  seatGroup: "all",
  checkouts: [],
});
const plain = feature({ name: "solver", total: 10, used: 1 });
const open = feature({ name: "viewer", total: null, used: 7, unlimited: true });

/** A package of four with two people on two of its components, and a package that shares a component with it. */
const inPackage = (name: string, total: number, people: readonly string[], of: string) =>
  feature({
    name,
    total,
    used: people.length,
    seatGroup: `package ${of}`,
    checkouts: people.map((user) => checkout({ user })),
  });
const packages = [
  inPackage("drafting", 14, ["ada"], "suite"),
  inPackage("modelling", 4, ["bob"], "suite"),
  inPackage("rendering", 4, [], "suite"),
  inPackage("suite", 4, ["ada", "bob"], "suite"),
  inPackage("collection", 10, [], "collection"),
];

const site = (...servers: FeatureReading[][]): ServerPicture[] =>
  servers.map((features, at) =>
    applyPoll(null, server({ id: `s${at}` }), outcome({ reading: reading({ features }) }), null),
  );

const CASES: [string, ServerPicture[], [total: number | null, used: number | null]][] = [
  ["a group of eight programs", site(crash), [500, 440]],
  ["two servers with a group of one name", site(crash, crash), [1000, 880]],
  ["tokens alone", site(tokens), [null, null]],
  ["credits alone", site([credits]), [null, null]],
  ["a group, tokens, credits and plain seats", site(crash, tokens, [credits], [plain, open]), [510, 441]],
  ["a package and its components", site(packages.slice(0, 4)), [4, 2]],
  ["two packages with a common component", site(packages), [14, 2]],
  ["components without their package", site(packages.slice(1, 3)), [4, 1]],
  ["all on one server", site([...crash, ...tokens, credits, plain, open]), [510, 441]],
];

describe.each(CASES)("the seats of %s", (_, servers, [total, used]) => {
  const kept = new Map(
    servers.map((picture) => {
      const { id } = picture.server;
      return [id, keptServer(JSON.parse(serverJson(picture, 1)) as PictureServer)] as const;
    }),
  );
  const sum = (values: readonly (number | null | undefined)[]) =>
    values.every((value) => value == null)
      ? null
      : values.reduce<number>((all, value) => all + (value ?? 0), 0);

  test("in the summary", () => {
    const { seats, utilization } = summaryRecord({ version: 1, servers }, NO_ALERTS);
    // A site that was read but has no seats has 0 available seats.
    const available = (total ?? 0) - (used ?? 0);
    expect(seats).toEqual({ total: total ?? 0, used: used ?? 0, available });
    expect(utilization).toBe(total === null ? null : Math.round((1e4 * (used ?? 0)) / total) / 100);
  });

  test("in the servers' counts", () => {
    const counts = servers.map((picture) => serverRecord(picture).counts);
    expect([sum(counts.map((each) => each.total)), sum(counts.map((each) => each.used))]).toEqual([
      total,
      used,
    ]);
  });

  test("in Prometheus", async () => {
    const text = await createExposition().render({ version: 1, servers }, () => {}, "text");
    const told = parseText(new TextDecoder().decode(text));
    const ofServers = (name: string) =>
      sum(servers.map((picture) => sampleOf(told, name, { server: picture.server.id })));
    expect([ofServers("license_server_seats_issued"), ofServers("license_server_seats_used")]).toEqual([
      total,
      used,
    ]);
    const issued = told.get("license_feature_seats_issued")?.samples ?? [];
    expect(issued.map(({ labels }) => labels.feature)).not.toContain("GlobalZoneEU");
  });

  test("on the page", () => {
    const page = figuresOf(kept);
    expect([page.total, page.used]).toEqual([total, used]);
    const [group] = groupsOf(kept);
    expect([group?.total, group?.used]).toEqual([total, used]);
    const walls = [...kept.values()].map((each) => seatsOf(each));
    expect([sum(walls.map((each) => each.total)), sum(walls.map((each) => each.used))]).toEqual([
      total,
      used,
    ]);
    expect(sum(walls.map((each) => each.available))).toBe((total ?? 0) - (used ?? 0));
  });
});

test("a checkout of a component counts once, with its package", async () => {
  const servers = site(packages);
  const [picture] = servers as [ServerPicture];
  expect(serverRecord(picture).counts).toMatchObject({ features: 5, checkouts: 2 });
  expect(summaryRecord({ version: 1, servers }, NO_ALERTS)).toMatchObject({ users: 2, features: 5 });
  const text = await createExposition().render({ version: 1, servers }, () => {}, "text");
  const told = parseText(new TextDecoder().decode(text));
  expect(sampleOf(told, "license_server_checkouts", { server: "s0" })).toBe(2);

  const kept = keptServer(JSON.parse(serverJson(picture, 1)) as PictureServer);
  const rows = holdersOf(kept);
  expect([rows.length, sumOf(rows), groupedHolders(rows, "user").map(({ count }) => count)]).toEqual([
    4,
    2,
    [1, 1],
  ]);
  expect(sumOf(rows.filter(({ feature }) => feature.endsWith("drafting")))).toBe(1);
});

test("queued and reserved seats are summed only over seats", () => {
  const queue = [{ ...checkout({ count: 5 }), count: 5 }];
  const reservations = [{ type: "user", name: "ada", count: 3, pool: null }] as const;
  const more = { queue, reservations };
  const servers = site([feature({ ...plain, ...more }), feature({ ...tokens[0], ...more })]);
  expect(summaryRecord({ version: 1, servers }, NO_ALERTS)).toMatchObject({ queued: 5, reserved: 3 });
});

test("Prometheus has the unit and group of each feature, and tokens in their own family", async () => {
  const servers = site([...crash.slice(0, 1), ...tokens.slice(0, 1), plain]);
  const told = parseText(
    new TextDecoder().decode(await createExposition().render({ version: 1, servers }, () => {}, "text")),
  );
  const infos = told.get("license_feature_info")?.samples.map(({ labels }) => {
    const { feature: name, unit, seat_group } = labels;
    return [name, unit, seat_group ?? ""];
  });
  expect(infos).toEqual([
    ["program0", "seats", "0"],
    ["HyperWorks", "tokens", ""],
    ["solver", "seats", ""],
  ]);
  const zone = { feature: "HyperWorks", unit: "tokens" };
  expect(sampleOf(told, "license_feature_units_issued", zone)).toBe(1_000_003);
  expect(sampleOf(told, "license_feature_units_used", zone)).toBe(25_000);
  expect(sampleOf(told, "license_feature_utilization_ratio", { feature: "HyperWorks" })).toBeCloseTo(0.025);
});
