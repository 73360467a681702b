import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { createReader } from "../../src/history/reader.ts";
import { statsQuery } from "../../src/history/statistics/stats.ts";
import { openStore } from "../../src/store/open/open.ts";
import { createPlace, type Place, run } from "./rig.ts";

const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const SERVER =
  '[retention]\nsessions = "100y"\n[[servers]]\nid = "eda"\nmanager = "flexnet"\naddress = "27000@lic1"\ntool = "/bin/true"\ntimezone = "UTC"\n';

const DAY_1 = `7:00:00 (acmed) TIMESTAMP 1/29/2026
8:00:00 (acmed) OUT: "solver" ada@ws01  
9:00:00 (acmed) DENIED: "solver" bob@ws02  (Licensed number of users already reached. (-4,342))
9:00:30 (acmed) DENIED: "solver" bob@ws02  (Licensed number of users already reached. (-4,342))
9:30:00 (acmed) UNSUPPORTED: "other" (ABCD) bob@ws02  (No such feature exists. (-5,346))
10:00:00 (acmed) IN: "solver" ada@ws01  
23:00:00 (acmed) OUT: "solver" ada@ws01  
`;
const DAY_2 = `1:00:00 (acmed) IN: "solver" ada@ws01  
1:00:00 (acmed) TIMESTAMP 1/30/2026
2:00:00 (acmed) DENIED: "solver" cyd@ws03  (Licensed number of users already reached. (-4,342))
2:00:05 (acmed) OUT: "solver" cyd@ws03  
2:30:00 (acmed) nothing
`;

async function rows(place: Place, sql: string): Promise<unknown[]> {
  const database = new Database(join(place.storage, "licmond.db"), { readonly: true });
  try {
    return database.query(sql).all();
  } finally {
    database.close();
  }
}
const SESSIONS =
  "SELECT id < 0 AS imported, user, strftime('%d %H:%M', began_at / 1000, 'unixepoch') AS began, strftime('%d %H:%M', ended_at / 1000, 'unixepoch') AS ended, end_reason AS why FROM sessions ORDER BY began_at";
const DENIALS = "SELECT user, attempts, outcome, code, told FROM denials ORDER BY at";

test("logs become sessions and denials, once", async () => {
  await using place = await createPlace();
  await place.write(SERVER);
  const [first, second] = [join(place.folder, "b.log"), join(place.folder, "a.log")];
  await Bun.write(first, DAY_1);
  await Bun.write(second, DAY_2);
  const args = ["import", "--server", "eda", "--config", place.config];
  // In the wrong order: they are put into the order of time.
  const done = await run([...args, second, first]);
  expect(done).toMatchObject({ exitCode: 0, err: "" });
  expect(done.out).toContain("3 added, 0 known before");
  expect(done.out).toContain("2 added, 0 widened");
  const sessions = [
    { imported: 1, user: "ada", began: "29 08:00", ended: "29 10:00", why: "checkin" },
    { imported: 1, user: "ada", began: "29 23:00", ended: "30 01:00", why: "checkin" },
    { imported: 1, user: "cyd", began: "30 02:00", ended: "30 02:30", why: "unobserved" },
  ];
  const denials = [
    { user: "bob", attempts: 2, outcome: "denied", code: -4, told: 1 },
    { user: "cyd", attempts: 1, outcome: "granted_later", code: -4, told: 1 },
  ];
  expect(await rows(place, SESSIONS)).toEqual(sessions);
  expect(await rows(place, DENIALS)).toEqual(denials);

  const again = await run([...args, first, second]);
  expect(again.out).toContain("0 added, 3 known before");
  expect(again.out).toContain("0 added, 0 widened, 2 known before");
  // A longer log tells the end that the shorter one lacked.
  const piped = await run(args, { stdin: `${DAY_1}${DAY_2}3:00:00 (acmed) IN: "solver" cyd@ws03  \n` });
  expect(piped.exitCode).toBe(0);
  const longer = [...sessions.slice(0, 2), { ...sessions[2], ended: "30 03:00", why: "checkin" }];
  expect(await rows(place, SESSIONS)).toEqual(longer as typeof sessions);
  expect(await rows(place, DENIALS)).toEqual(denials);
  expect(await rows(place, "SELECT to_at - from_at AS ms FROM denial_spans")).toEqual([
    { ms: 20 * 3_600_000 },
  ]);
});

test("a feature that only logs tell of is known by its name, with what is known of it", async () => {
  await using place = await createPlace();
  await place.write(SERVER);
  const log = join(place.folder, "debug.log");
  await Bun.write(log, `${DAY_1}${DAY_2}4:00:00 (acmed) DENIED: "mesher" bob@ws02  (Too many. (-4,342))\n`);
  await run(["import", "--server", "eda", "--config", place.config, log]);
  const store = openStore({ directory: place.storage, log: quiet });
  try {
    const [start, end] = [Date.UTC(2026, 0, 29), Date.UTC(2026, 0, 31)];
    const told = async (features: string[] | null) =>
      (
        await statsQuery(createReader(store.sqlite, { now: end }), {
          ...{
            now: end,
            intervals: {},
            start,
            end,
            interval: "1d",
            timezone: "UTC",
            series: true,
            sort: null,
            limit: null,
            offset: 0,
          },
          filter: { servers: null, daemons: null, features },
        })
      ).rows.map(({ feature, sessions, denials, peakUsed, uniqueUsers, coverage }) => ({
        ...{ feature, sessions, denials, peakUsed, uniqueUsers, coverage },
      }));
    // Counts come from polls alone: of a range that nobody polled none is known.
    const unknown = { peakUsed: null, uniqueUsers: null, coverage: 0 };
    expect(await told(["solver", "mesher", "nothing"])).toEqual([
      { feature: "mesher", sessions: null, denials: 1, ...unknown },
      { feature: "solver", sessions: 3, denials: 1, ...unknown },
    ]);
    expect(await told(null)).toEqual([]);
  } finally {
    store.close();
  }
});

test("beside a daemon, and without the time in which it watched", async () => {
  await using place = await createPlace();
  await place.write(SERVER);
  await Bun.write(join(place.folder, "debug.log"), DAY_1 + DAY_2);
  const daemon = openStore({ directory: place.storage, log: quiet });
  try {
    daemon.sqlite.run("INSERT INTO servers VALUES ('eda', 'flexnet', 'x', 'x', 0, 0)");
    daemon.sqlite.run(
      `INSERT INTO sessions (id, server_id, daemon, feature, user, count, began_at, first_seen_at, last_seen_at) VALUES (7, 'eda', 'acmed', 'solver', 'ada', 1, ${Date.UTC(2026, 0, 29, 23)}, ${Date.UTC(2026, 0, 29, 23, 1)}, ${Date.UTC(2026, 0, 30)})`,
    );
    const done = await run([
      "import",
      "--server",
      "eda",
      "--config",
      place.config,
      join(place.folder, "debug.log"),
    ]);
    expect(done).toMatchObject({ exitCode: 0, err: "" });
    expect(done.out).toContain("1 added, 0 known before, 2 left out");
  } finally {
    daemon.close();
  }
  expect(await rows(place, SESSIONS)).toMatchObject([
    { imported: 1, began: "29 08:00" },
    { imported: 0, began: "29 23:00" },
  ]);
});

test("what cannot be imported is said, and nothing of the rest is stored", async () => {
  await using place = await createPlace();
  await place.write(
    `${SERVER}[[servers]]\nid = "vfx"\nmanager = "rlm"\naddress = "5053@lic"\ntool = "/bin/true"\n`,
  );
  const good = join(place.folder, "good.log");
  const binary = join(place.folder, "report.rl");
  await Bun.write(good, DAY_1);
  await Bun.write(
    binary,
    Uint8Array.from({ length: 500 }, (_, index) => (index * 37) % 256),
  );
  const args = (server: string, ...files: string[]) => [
    "import",
    "--server",
    server,
    "--config",
    place.config,
    ...files,
  ];
  for (const [given, exitCode, message] of [
    [args("nobody", good), 2, "there are eda, vfx"],
    [args("vfx", good), 2, "no debug log that licmond can read"],
    [args("eda", good, binary), 1, "encrypted report log"],
    [args("eda", good, join(place.folder, "none.log")), 1, "cannot be read"],
    [args("eda", place.config), 1, "no FlexNet debug log"],
    [["import", good], 2, "--server"],
    [[...args("eda", good), "--timezone", "Mars/Base"], 2, "IANA"],
  ] as const) {
    expect(await run(given)).toMatchObject({ exitCode, out: "", err: expect.stringContaining(message) });
  }
  expect(await Bun.file(join(place.storage, "licmond.db")).exists()).toBe(false);
});
