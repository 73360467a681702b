import { Database } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { createReader } from "../../../src/history/reader.ts";
import { efficiencyQuery } from "../../../src/history/statistics/efficiency.ts";
import { productFigures } from "../../../src/history/statistics/products.ts";
import { statsQuery } from "../../../src/history/statistics/stats.ts";
import { createServers } from "../../../src/store/servers.ts";
import { monitored } from "../../http/make.ts";
import { cleanUp, open } from "../../store/place.ts";
import { createPlace, type Place, run } from "../rig.ts";

afterEach(cleanUp);

const CONFIG = `[retention]
samples = "100y"
[[servers]]
id = "eda"
manager = "flexnet"
address = "27000@lic1.example,27000@LIC2.example,27000@lic3.example"
tool = "/bin/true"
[[servers]]
id = "vfx"
manager = "rlm"
address = "5053@lic4"
tool = "/bin/true"
`;

/** Licmond has read the servers before: it knows their daemons. */
async function placeWithFeatures(): Promise<Place> {
  const place = await createPlace();
  await place.write(CONFIG);
  const store = open(place.storage);
  createServers({ store, clock: { now: Date.now } }).configured([monitored("eda"), monitored("vfx")]);
  for (const [server, daemon, name] of [
    ["eda", "siliqd", "LogicSim"],
    ["eda", "siliqd", "Twin"],
    ["eda", "otherd", "Twin"],
    ["vfx", "isv", "nuke"],
  ])
    store.sqlite.run("INSERT INTO history_features (server_id, daemon, name) VALUES (?, ?, ?)", [
      ...[server ?? "", daemon ?? "", name ?? ""],
    ]);
  store.close();
  return place;
}

const table = (name: string, columns: string) =>
  `CREATE TABLE \`${name}\` (\n${columns
    .split(" ")
    .map((column) => `  \`${column}\` text`)
    .join(",\n")}\n);\n`;
const insert = (name: string, rows: readonly (readonly (string | number)[])[]) =>
  rows.length === 0
    ? ""
    : `INSERT INTO \`${name}\` VALUES ${rows.map((row) => `(${row.map((one) => (typeof one === "number" ? one : `'${one}'`)).join(",")})`).join(",")};\n`;

interface Dumped {
  readonly servers?: readonly (readonly (string | number)[])[];
  readonly usage?: readonly (readonly (string | number)[])[];
  readonly available?: readonly (readonly (string | number)[])[];
}
const SERVERS =
  "id name label is_active lm_default_usage_reporting status license_manager version last_updated";
const eda = [1, "27000@lic2.example", "EDA", 1, 1, "UP", "flexlm", "v11", "2026-01-01"] as const;

/** In the order of mysqldump. */
const present = ({ servers = [eda], usage = [], available = [] }: Dumped, events = "") =>
  table("available", "license_id date num_licenses") +
  insert("available", available) +
  events +
  table("features", "id name label show_in_lists is_tracked") +
  insert("features", [...["LogicSim", "Twin", "Never"].map((name, index) => [index + 1, name, "", 1, 1])]) +
  table("licenses", "id server_id feature_id") +
  insert("licenses", [
    [1, 1, 1],
    [2, 1, 2],
    [3, 1, 3],
  ]) +
  table("servers", SERVERS) +
  insert("servers", servers) +
  table("usage", "license_id time num_users") +
  insert("usage", usage);

const EVENTS =
  table("events", "license_id time user type reason") +
  insert("events", [[1, "2026-01-05 08:00:00", "ada", "DENIED", "no seat"]]);
const USAGE = [
  [1, "2026-01-05 09:00:01", 3],
  [1, "2026-01-05 09:10:02", 5],
  [1, "2026-01-05 09:20:01", 5],
  // Down for an hour.
  [1, "2026-01-05 10:20:00", 2],
] as const;
const AVAILABLE = [[1, "2026-01-05", 9]] as const;

const older =
  table(
    "flexlm_events",
    "flmevent_date flmevent_time flmevent_type flmevent_feature flmevent_user flmevent_reason",
  ) +
  table("license_usage", "flmusage_server flmusage_product flmusage_date flmusage_time flmusage_users") +
  insert(
    "license_usage",
    USAGE.map(([, time, used]) => ["27000@lic2.example", "LogicSim", ...time.split(" "), used]),
  ) +
  table(
    "licenses_available",
    "flmavailable_date flmavailable_server flmavailable_product flmavailable_num_licenses",
  ) +
  insert("licenses_available", [["2026-01-05", "27000@lic2.example", "LogicSim", 9]]) +
  table("server", "id name alias");

async function moveIn(place: Place, from: string, text: string | null, ...more: string[]) {
  const file = join(place.folder, "their-data");
  if (text !== null) await Bun.write(file, text);
  return run(["import", "--config", place.config, "--from", from, "--timezone", "UTC", ...more, file]);
}

/** What statistics see of a feature on a day: `09:00 3/9`, a gap as `09:30 ?`. */
function seen(place: Place, feature = "LogicSim", day = "2026-01-05", server = "eda"): string[] {
  const store = open(place.storage, { mode: "cli" });
  const reader = createReader(store.sqlite, { now: Date.now() });
  const start = Date.parse(day);
  const found = reader.features({ servers: [server], features: [feature] })[0];
  if (found === undefined) throw new Error("not known");
  const { steps } = reader.series(found, start, start + 86_400_000);
  const text = steps.map(({ at, used, total }) => {
    const counts = used === null ? "?" : `${used}/${total ?? "?"}`;
    return `${new Date(at).toISOString().slice(11, 19)} ${counts}`;
  });
  const [covered] = reader.rollups([found], start, start + 86_400_000);
  const ms = covered?.groups.flatMap(({ levels }) => levels).reduce((sum, [, one]) => sum + one, 0) ?? 0;
  expect(ms).toBe(
    steps.reduce(
      (sum, { at, used }, i) => sum + (used === null ? 0 : (steps[i + 1]?.at ?? start + 86_400_000) - at),
      0,
    ),
  );
  store.close();
  return text;
}

const EXPECTED = ["00:00:00 ?", "09:00:01 3/9", "09:10:02 5/9", "09:30:01 ?", "10:20:00 2/9", "10:30:00 ?"];

test.each([
  ["of the present schema", present({ usage: USAGE, available: AVAILABLE })],
  ["of that with events", present({ usage: USAGE, available: AVAILABLE }, EVENTS)],
  [
    "of that with notes of servers",
    present({ usage: USAGE, available: AVAILABLE }, EVENTS).replace(
      "`label` text,\n  `is_active` text,\n  `lm_default_usage_reporting`",
      "`alias` text,\n  `is_active` text,\n  `notes`",
    ),
  ],
  ["of versions up to 2.0", older],
])("a dump %s becomes counts with their coverage, once", async (_, dump) => {
  await using place = await placeWithFeatures();
  const done = await moveIn(place, "phplicensewatcher", dump);
  expect(done).toMatchObject({ exitCode: 0 });
  expect(done.out).toContain("27000@lic2.example is eda\n");
  expect(done.out).toContain("mostly every 10 min\n  counts          4 added, 0 known before");
  if (dump.includes("`events`")) expect(done.out).toContain("events are left out, 1 in number");
  expect(seen(place)).toEqual(EXPECTED);

  expect((await moveIn(place, "phplicensewatcher", dump)).out).toContain("0 added, 4 known before");
  expect(seen(place)).toEqual(EXPECTED);
});

test("of who had the seats nothing is claimed, but what licmond or a log saw", async () => {
  await using place = await placeWithFeatures();
  await moveIn(place, "phplicensewatcher", present({ usage: USAGE, available: AVAILABLE }));
  const store = open(place.storage, { mode: "cli" });
  const now = Date.now();
  const range = { start: Date.parse("2026-01-05"), end: Date.parse("2026-01-06"), now, intervals: {} };
  const filter = { servers: null, daemons: null, features: ["LogicSim"] };
  const page = { interval: null, timezone: "UTC", series: false, sort: null, limit: 10, offset: 0 };
  const product = { name: "sim", features: ["eda/*/LogicSim"], costPerSeatYear: 9, currency: "EUR" };
  const asked = { ...range, ...page, filter, products: [product], product: ["sim"] };
  const told = async () => {
    const reader = createReader(store.sqlite, { now });
    const { rows } = await statsQuery(reader, asked);
    const efficiency = await efficiencyQuery(reader, asked);
    const affected = efficiency.rows[0]?.whatIf.map(({ affectedSessions }) => affectedSessions) ?? [];
    return [
      rows[0],
      (await productFigures({ ...reader, features: async (of) => reader.features(of) }, asked))[0],
      affected,
    ] as const;
  };
  const [row, figures, affected] = await told();
  expect(row).toMatchObject({ peakUsed: 5, uniqueUsers: null, sessions: null, heldSeatHours: null });
  expect(figures).toMatchObject({ uniqueUsers: null, sessions: null, idleSeatHours: null, idleCost: null });
  expect(affected.filter((count) => count !== null)).toEqual([]);
  store.sqlite.run("UPDATE coverage SET looks = 1");
  expect((await told())[0]).toMatchObject({ uniqueUsers: 0, sessions: 0, heldSeatHours: 0 });
  store.close();
});

test("what licmond read itself stands, and the rest of a longer dump is added", async () => {
  await using place = await placeWithFeatures();
  const store = open(place.storage);
  const [at, to] = ["09:05", "09:15"].map((time) => Date.parse(`2026-01-05T${time}Z`));
  store.sqlite.run(
    "INSERT INTO coverage (server_id, from_at, read_at, until_at, running) VALUES ('eda', ?, ?, ?, 0)",
    [at ?? 0, at ?? 0, to ?? 0],
  );
  store.sqlite.run("INSERT INTO samples VALUES (1, ?, 8, 7, 0, 0, 0)", [at ?? 0]);
  store.sqlite.run("INSERT INTO history_open VALUES (3600000, ?, 1)", [Date.parse("2026-01-05T09:00Z")]);
  store.close();
  await moveIn(place, "phplicensewatcher", present({ usage: USAGE.slice(0, 3), available: AVAILABLE }));
  expect(seen(place).slice(1, 5)).toEqual(["09:00:01 3/9", "09:05:00 7/8", "09:15:00 5/9", "09:30:01 ?"]);
  const longer = [...USAGE, [1, "2026-01-05 23:55:00", 4], [1, "2026-01-06 00:05:00", 4]] as const;
  const done = await moveIn(place, "phplicensewatcher", present({ usage: longer, available: AVAILABLE }));
  expect(done.out).toContain("3 added, 3 known before");
  expect(seen(place).slice(4)).toEqual([...EXPECTED.slice(3), "23:55:00 4/9"]);
  // The total of the next day is not said.
  expect(seen(place, "LogicSim", "2026-01-06")).toEqual(["00:00:00 4/9", "00:05:00 4/?", "00:15:00 ?"]);
});

test("times that the clocks show twice or never, and what is no count, are left out and counted", async () => {
  await using place = await placeWithFeatures();
  const times = [
    "2026-03-29 01:55",
    "2026-03-29 02:30",
    "2026-03-29 03:05",
    "2026-10-25 02:30",
    "2026-10-25 03:00",
  ];
  const usage = [
    ...times.map((time) => [1, `${time}:00`, 1]),
    [1, "0000-00-00 00:00:00", 1],
    [1, "2099-01-01 00:00:00", 1],
  ];
  const { out } = await moveIn(place, "phplicensewatcher", present({ usage }), "--timezone", "Europe/Berlin");
  expect(out).toContain(
    "3 added, 0 known before, 0 too old to be kept, 4 at no or two times of Europe/Berlin",
  );
});

test("features whose daemon or count is in doubt are left out by name, and servers as they are told", async () => {
  await using place = await placeWithFeatures();
  const rows = [
    ...USAGE,
    ...USAGE.map(([, ...rest]) => [2, ...rest] as const),
    [3, "2026-01-05 09:00:00", 0],
  ];
  const server = [1, "27000@old", "", 1, 0, "UP", "flexlm", "v11", "2026-01-01"] as const;
  const dump = present({ usage: rows, servers: [server], available: [...AVAILABLE, [3, "2026-01-05", 0]] });
  const refused = await moveIn(place, "phplicensewatcher", dump);
  expect(refused).toMatchObject({ exitCode: 2, out: "" });
  expect(refused.err).toContain('"27000@old" is the address of no server. Say which');
  const { out } = await moveIn(place, "phplicensewatcher", dump, "--server", "27000@old=eda");
  expect(out).toContain("1 feature of several daemons, whose counts it does not tell apart: Twin\n");
  expect(out).toContain("1 feature that was uncounted or never used, both of which it stores as 0: Never\n");
  expect(out).toContain("27000@old was counted without reservations");
  const left = await moveIn(place, "phplicensewatcher", dump, "--server", "27000@old=");
  expect(left).toMatchObject({ exitCode: 1, out: expect.stringContaining("27000@old is left out\n") });
});

test.each([
  ["", "has neither usage nor license_usage"],
  [table("wp_users", "id"), "has the table wp_users, which phpLicenseWatcher does not have"],
  [present({}).replace("num_users", "users"), "has the column usage.users, which no known version has"],
  [table("usage", "license_id time"), "lacks the column usage.num_users"],
  [present({}) + older, "from two versions"],
  [
    present({ usage: [[9, "2026-01-04 00:00:00", 1]] }),
    "has counts of licenses without their servers and features",
  ],
])("%#: a dump that is not understood is refused by name, and nothing is stored", async (dump, message) => {
  await using place = await placeWithFeatures();
  const { exitCode, out, err } = await moveIn(place, "phplicensewatcher", dump);
  expect([exitCode, out]).toEqual([1, ""]);
  expect(err).toContain(message);
});

test.each([
  [["--server", "x=eda"], '--server names "x", and there are "27000@lic2.example"'],
  [["--server", "27000@lic2.example=nope"], 'no server "nope" in the config (there are "eda", "vfx")'],
  [["--server", "eda"], '--server takes FROM=ID with --from, not "eda"'],
  [["--from", "licet", "-"], "--from licet takes one file"],
])("%j is refused", async (more, message) => {
  await using place = await placeWithFeatures();
  const { exitCode, err } = await moveIn(place, "phplicensewatcher", present({ usage: USAGE }), ...more);
  expect(exitCode).toBe(2);
  expect(err).toContain(message);
});

describe("licet", () => {
  function makeLicet(path: string, version = 4): void {
    using sqlite = new Database(path);
    sqlite.run("CREATE TABLE schema_migrations (version, dirty)");
    sqlite.run("INSERT INTO schema_migrations VALUES (?, 0)", [version]);
    for (const name of ["servers", "license_events", "alerts", "alert_events"])
      sqlite.run(`CREATE TABLE ${name} (id)`);
    sqlite.run("CREATE TABLE features (server_hostname, name, vendor_daemon, is_active)");
    sqlite.run(
      "INSERT INTO features VALUES ('5053@lic4', 'pools', 'isv', 1), ('5053@lic4', 'pools', 'isv', 1)",
    );
    sqlite.run(
      "CREATE TABLE feature_usage (id, server_hostname, feature_name, date DATE, time TIME, users_count)",
    );
    for (const [time, used] of [
      ["10:05:00", 4],
      ["10:00:00", 3],
      ["10:10:00", 4],
    ] as const)
      for (const feature of ["nuke", "pools"])
        sqlite.run("INSERT INTO feature_usage VALUES (1, '5053@lic4', ?, '2026-01-05', ?, ?)", [
          feature,
          time,
          used,
        ]);
  }

  test("its database becomes counts without seats, once; a feature in several pools is left out", async () => {
    await using place = await placeWithFeatures();
    makeLicet(join(place.folder, "their-data"));
    const { out } = await moveIn(place, "licet", null);
    expect(out).toContain("5053@lic4 is vfx\n");
    expect(out).toContain("mostly every 5 min\n  counts          3 added");
    expect(out).toContain("1 feature in 2 pools, of which it stores the count of any one: pools\n");
    expect(seen(place, "nuke", "2026-01-05", "vfx")).toEqual([
      "00:00:00 ?",
      "10:00:00 3/?",
      "10:05:00 4/?",
      "10:15:00 ?",
    ]);
    expect((await moveIn(place, "licet", null)).out).toContain("0 added, 3 known before");
  });

  test("of another version or kind is refused", async () => {
    await using place = await placeWithFeatures();
    makeLicet(join(place.folder, "their-data"), 5);
    expect((await moveIn(place, "licet", null)).err).toContain("has version 5 of licet's schema; 4 is known");
    expect((await moveIn(place, "licet", "no database")).err).toContain(
      "cannot be read as licet's SQLite database",
    );
  });
});
