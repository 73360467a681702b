import { Database } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { createReader } from "../../../src/history/reader.ts";
import { efficiencyQuery } from "../../../src/history/statistics/efficiency.ts";
import { productFigures } from "../../../src/history/statistics/products.ts";
import { statsQuery } from "../../../src/history/statistics/stats.ts";
import { createServers } from "../../../src/store/servers.ts";
import { claimed } from "../../docs/claims.ts";
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

/** Creates a place whose servers licmond has read before, so their daemons are known. */
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
    store.sqlite.run(
      `INSERT INTO history_features (server_id, daemon, name) VALUES ('${server}', '${daemon}', '${name}')`,
    );
  store.close();
  return place;
}

const SERVER = "27000@lic2.example";
type Row = readonly [time: string, feature: string, used: number | string, total?: number];
const csv = (rows: readonly Row[], server = SERVER) =>
  ["time,server,feature,used,total\n"]
    .concat(rows.map(([time, feature, used, total = ""]) => `${[time, server, feature, used, total]}\n`))
    .join("");

const USAGE: readonly Row[] = [
  ["2026-01-05 09:00:01", "LogicSim", 3, 9],
  ["2026-01-05 09:10:02", "LogicSim", 5, 9],
  ["2026-01-05 09:20:01", "LogicSim", 5, 9],
  // No counts for an hour, because the server was down.
  ["2026-01-05 10:20:00", "LogicSim", 2, 9],
];

async function moveIn(place: Place, text: string, ...more: string[]) {
  const file = join(place.folder, "counts.csv");
  await Bun.write(file, text);
  return run(["import", "--config", place.config, "--counts", file, "--timezone", "UTC", ...more]);
}

/** Returns the counts of a feature on a day: `09:00 3/9`, a gap as `09:30 ?`. */
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
  const known = steps.map(({ at, used }, i) =>
    used === null ? 0 : (steps[i + 1]?.at ?? start + 86_400_000) - at,
  );
  expect(ms).toBe(known.reduce((sum, one) => sum + one, 0));
  store.close();
  return text;
}

const EXPECTED = ["00:00:00 ?", "09:00:01 3/9", "09:10:02 5/9", "09:30:01 ?", "10:20:00 2/9", "10:30:00 ?"];

test.each([
  ["commas", csv(USAGE)],
  ["tabs and CRLF", csv(USAGE).replaceAll(",", "\t").replaceAll("\n", "\r\n")],
  ["semicolons and quotes", csv(USAGE).replaceAll(",", ";").replaceAll("LogicSim", '"LogicSim"')],
])("a file with %s becomes counts with their coverage, once", async (_, text) => {
  await using place = await placeWithFeatures();
  const done = await moveIn(place, text);
  expect(done).toMatchObject({ exitCode: 0 });
  expect(done.out).toContain("27000@lic2.example: eda\n");
  expect(done.out).toContain("mostly every 10 min\n  counts          4 added, 0 already known");
  expect(seen(place)).toEqual(EXPECTED);
  expect((await moveIn(place, text)).out).toContain("0 added, 4 already known");
  expect(seen(place)).toEqual(EXPECTED);
});

test("people and sessions are unknown for imported counts", async () => {
  await using place = await placeWithFeatures();
  await moveIn(place, csv(USAGE));
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

test("keeps licmond's own readings, and adds the rest of a longer file", async () => {
  await using place = await placeWithFeatures();
  const store = open(place.storage);
  const [at, to] = ["09:05", "09:15"].map((time) => Date.parse(`2026-01-05T${time}Z`));
  store.sqlite.run(
    "INSERT INTO coverage (server_id, from_at, read_at, until_at, running) VALUES ('eda', ?, ?, ?, 0)",
    [at ?? 0, at ?? 0, to ?? 0],
  );
  store.sqlite.run("INSERT INTO samples VALUES (1, ?, 8, 7, 0, 0, 0)", [at ?? 0]);
  store.sqlite.run("INSERT INTO dirty VALUES ('hours', ?, 1)", [Date.parse("2026-01-05T09:00Z")]);
  store.close();
  await moveIn(place, csv(USAGE.slice(0, 3)));
  expect(seen(place).slice(1, 5)).toEqual(["09:00:01 3/9", "09:05:00 7/8", "09:15:00 5/9", "09:30:01 ?"]);
  const longer: Row[] = [
    ...USAGE,
    ["2026-01-05 23:55:00", "LogicSim", 4, 9],
    ["2026-01-06 00:05:00", "LogicSim", 4],
  ];
  const done = await moveIn(place, csv(longer));
  expect(done.out).toContain("3 added, 3 already known");
  expect(seen(place).slice(4)).toEqual([...EXPECTED.slice(3), "23:55:00 4/9"]);
  // The total of the next day is unknown.
  expect(seen(place, "LogicSim", "2026-01-06")).toEqual(["00:00:00 4/9", "00:05:00 4/?", "00:15:00 ?"]);
});

test("ambiguous and invalid times are skipped and counted", async () => {
  await using place = await placeWithFeatures();
  const times = [
    ...["2026-03-29 01:55", "2026-03-29 02:30", "2026-03-29 03:05", "2026-10-25 02:30", "2026-10-25 03:00"],
    ...["0000-00-00 00:00:00", "2099-01-01 00:00:00"],
  ];
  const rows = times.map((time) => [time, "LogicSim", 1] as const);
  const { out } = await moveIn(place, csv(rows), "--timezone", "Europe/Berlin");
  expect(out).toContain("3 added, 0 already known, 0 older than the retention, 4 without a count or a valid");
});

test("features without a clear daemon are skipped, and servers are mapped as requested", async () => {
  await using place = await placeWithFeatures();
  const rows = [...USAGE, ...USAGE.map(([time, , used]) => [time, "Twin", used] as const)];
  const text = csv(rows, "27000@old");
  const refused = await moveIn(place, text);
  expect(refused).toMatchObject({ exitCode: 2, out: "" });
  expect(refused.err).toContain('"27000@old" is the address of no server in the config. Map a server');
  const { out } = await moveIn(place, text, "--server", "27000@old=eda");
  expect(out).toContain("1 feature with several daemons, whose counts the file does not separate: Twin\n");
  const left = await moveIn(place, text, "--server", "27000@old=");
  expect(left).toMatchObject({ exitCode: 1, out: expect.stringContaining("27000@old: skipped\n") });
});

test.each([
  ["", "contains no counts"],
  ["time,server,feature,used\n", "contains no counts"],
  ["time,server,feature\n", 'line 1: no column "used"'],
  ["time,server,feature,used,host\n", 'line 1: unknown or repeated column "host"'],
  [`${csv(USAGE)}2026-01-05 10:30:00,${SERVER},LogicSim\n`, "line 6: 3 columns; the first line has 5"],
  [csv([["2026-01-05T10:30:00Z", "LogicSim", 1]]), "line 2: time must be YYYY-MM-DD HH:MM:SS"],
  [csv([["2026-01-05 10:30:00", "LogicSim", "many"]]), 'line 2: used must be a whole number, not "many"'],
  [csv([["2026-01-05 10:30:00", '"Logic', 1]]), "line 2: invalid quotes"],
])("%#: a wrong file is refused with the line, and nothing is stored", async (text, message) => {
  await using place = await placeWithFeatures();
  const { exitCode, out, err } = await moveIn(place, text);
  expect([exitCode, out]).toEqual([1, ""]);
  expect(err).toContain(message);
});

test.each([
  [["--server", "x=eda"], 'unknown server "x" in --server; the file contains "27000@lic2.example"'],
  [["--server", "27000@lic2.example=nope"], 'unknown server "nope"; expected one of "eda", "vfx"'],
  [["--server", "eda"], '--server must be FROM=ID with --counts, not "eda"'],
  [["snps.log"], "--counts cannot be used with debug logs"],
])("%j is refused", async (more, message) => {
  await using place = await placeWithFeatures();
  const { exitCode, err } = await moveIn(place, csv(USAGE), ...more);
  expect(exitCode).toBe(2);
  expect(err).toContain(message);
});

describe("docs/moving-in.md", () => {
  const texts = (language: string) =>
    claimed("counts").flatMap((block) => (block.language === language ? [block.text] : []));
  const queries = texts("sql");

  test("shows a file that licmond imports", async () => {
    await using place = await placeWithFeatures();
    const [text = ""] = texts("csv");
    expect((await moveIn(place, text, "--server", "27000@lic1=eda")).out).toContain("2 added");
  });

  /** Runs a query like `mysql --batch` or `sqlite3 -csv -header`. SQLite reads the MySQL queries too. */
  function exported(schema: readonly string[], sql = "", nothing = "NULL", by = "\t"): string {
    using sqlite = new Database(":memory:");
    for (const one of schema) sqlite.run(one);
    const query = sqlite.query<Record<string, unknown>, []>(sql);
    const rows = query.all().map((row) => Object.values(row).map((cell) => cell ?? nothing));
    return [query.columnNames, ...rows].map((row) => `${row.join(by)}\n`).join("");
  }

  // Columns of database/phplicensewatcher.maria.sql in https://github.com/phpLicenseWatcher/phpLicenseWatcher.
  test("exports counts of phpLicenseWatcher", async () => {
    await using place = await placeWithFeatures();
    const text = exported(
      [
        "CREATE TABLE features (id, name, label, show_in_lists, is_tracked)",
        "CREATE TABLE servers (id, name, label, is_active, lm_default_usage_reporting, status, license_manager, version, last_updated)",
        "CREATE TABLE licenses (id, server_id, feature_id)",
        "CREATE TABLE `usage` (license_id, time, num_users)",
        "CREATE TABLE available (license_id, date, num_licenses)",
        "INSERT INTO features VALUES (1, 'LogicSim', '', 1, 1), (2, 'Never', '', 1, 1)",
        `INSERT INTO servers VALUES (1, '${SERVER}', 'EDA', 1, 1, 'UP', 'flexlm', 'v11', NULL)`,
        "INSERT INTO licenses VALUES (1, 1, 1), (2, 1, 2)",
        ...USAGE.map(
          ([time, , used]) => `INSERT INTO \`usage\` VALUES (1, '${time}', ${used}), (2, '${time}', 0)`,
        ),
        "INSERT INTO available VALUES (1, '2026-01-05', 9), (2, '2026-01-05', 0)",
      ],
      queries[0],
    );
    expect(text).not.toContain("Never");
    expect((await moveIn(place, text)).out).toContain("4 added");
    expect(seen(place)).toEqual(EXPECTED);
  });

  test("exports counts of phpLicenseWatcher up to 2.0", async () => {
    await using place = await placeWithFeatures();
    const text = exported(
      [
        "CREATE TABLE license_usage (flmusage_server, flmusage_product, flmusage_date, flmusage_time, flmusage_users)",
        "CREATE TABLE licenses_available (flmavailable_date, flmavailable_server, flmavailable_product, flmavailable_num_licenses)",
        ...USAGE.map(([time, , used]) => {
          const [day, clock] = time.split(" ");
          return `INSERT INTO license_usage VALUES ('${SERVER}', 'LogicSim', '${day}', '${clock}', ${used})`;
        }),
        `INSERT INTO licenses_available VALUES ('2026-01-05', '${SERVER}', 'LogicSim', 9)`,
      ],
      queries[1],
    );
    expect((await moveIn(place, text)).out).toContain("4 added");
    expect(seen(place)).toEqual(EXPECTED);
  });

  // Columns of internal/database/migrations in https://github.com/thoscut/licet, version 4.
  test("exports counts of licet, without features in several pools", async () => {
    await using place = await placeWithFeatures();
    const text = exported(
      [
        "CREATE TABLE features (id, server_hostname, name, version, vendor_daemon, total_licenses, used_licenses, expiration_date, last_updated, is_active)",
        "CREATE TABLE feature_usage (id INTEGER PRIMARY KEY, server_hostname, feature_name, date DATE, time TIME, users_count)",
        ...["'nuke', '1'", "'pools', '1'", "'pools', '2'"].map(
          (name) => `INSERT INTO features VALUES (1, '5053@lic4', ${name}, 'isv', 9, 1, NULL, NULL, 1)`,
        ),
        ...["10:05:00', 4", "10:00:00', 3", "10:10:00', 4"].map(
          (row) =>
            `INSERT INTO feature_usage (server_hostname, feature_name, date, time, users_count)
             SELECT '5053@lic4', value, '2026-01-05', '${row} FROM json_each('["nuke", "pools"]')`,
        ),
      ],
      queries[2],
      "",
      ",",
    );
    expect(text).not.toContain("pools");
    const { out } = await moveIn(place, text);
    expect(out).toContain("5053@lic4: vfx\n");
    expect(out).toContain("mostly every 5 min\n  counts          3 added");
    const counts = ["00:00:00 ?", "10:00:00 3/?", "10:05:00 4/?", "10:15:00 ?"];
    expect(seen(place, "nuke", "2026-01-05", "vfx")).toEqual(counts);
  });
});
