import { afterEach, expect, test } from "bun:test";
import { utimes } from "node:fs/promises";
import { join } from "node:path";
import { createReader } from "../../../src/history/reader.ts";
import { statsQuery } from "../../../src/history/statistics/stats.ts";
import type { Store } from "../../../src/store/open/open.ts";
import { cleanUp, open } from "../../store/place.ts";
import { createPlace, type Place, run } from "../rig.ts";

afterEach(cleanUp);

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

const rows = (store: Store, sql: string) => store.sqlite.query(sql).all();
const importing = ({ config }: Place, server = "eda") => ["import", "--server", server, "--config", config];
const SESSIONS =
  "SELECT id < 0 AS imported, user, strftime('%d %H:%M', began_at / 1000, 'unixepoch') AS began, strftime('%d %H:%M', ended_at / 1000, 'unixepoch') AS ended, end_reason AS why FROM sessions ORDER BY began_at";
const DENIALS = "SELECT user, attempts, outcome, code, told FROM denials ORDER BY at";

test("logs become sessions and denials, once", async () => {
  await using place = await createPlace();
  await place.write(SERVER);
  const [first, second] = [join(place.folder, "b.log"), join(place.folder, "a.log")];
  await Bun.write(first, DAY_1);
  await Bun.write(second, DAY_2);
  const args = importing(place);
  const stored = (sql: string) => {
    const store = open(place.storage, { mode: "cli" });
    const found = rows(store, sql);
    store.close();
    return found;
  };
  // Pass the newer log first.
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
  expect(stored(SESSIONS)).toEqual(sessions);
  expect(stored(DENIALS)).toEqual(denials);

  const again = await run([...args, first, second]);
  expect(again.out).toContain("0 added, 3 known before");
  expect(again.out).toContain("0 added, 0 widened, 2 known before");
  // A longer log also contains the end of the last session.
  const piped = await run(args, { stdin: `${DAY_1}${DAY_2}3:00:00 (acmed) IN: "solver" cyd@ws03  \n` });
  expect(piped.exitCode).toBe(0);
  const longer = [...sessions.slice(0, 2), { ...sessions[2], ended: "30 03:00", why: "checkin" }];
  expect(stored(SESSIONS)).toEqual(longer as typeof sessions);
  expect(stored(DENIALS)).toEqual(denials);
  expect(stored("SELECT to_at - from_at AS ms FROM denial_spans")).toEqual([{ ms: 20 * 3_600_000 }]);
});

test("a feature that is only in logs has sessions and denials, but no counts", async () => {
  await using place = await createPlace();
  await place.write(SERVER);
  const more = '4:00:00 (acmed) DENIED: "mesher" bob@ws02  (Too many. (-4,342))\n';
  await run(importing(place), { stdin: DAY_1 + DAY_2 + more });
  const store = open(place.storage);
  const [start, end] = [Date.UTC(2026, 0, 29), Date.UTC(2026, 0, 31)];
  const range = { now: end, intervals: {}, start, end, interval: "1d", timezone: "UTC" } as const;
  const page = { sort: null, limit: null, offset: 0, series: true };
  const reader = createReader(store.sqlite, { now: end });
  const told = async (features: string[] | null) => {
    const filter = { servers: null, daemons: null, features };
    const { rows } = await statsQuery(reader, { ...range, ...page, filter });
    return rows.map(({ feature, sessions, denials, peakUsed, uniqueUsers, coverage }) => {
      return { feature, sessions, denials, peakUsed, uniqueUsers, coverage };
    });
  };
  const unknown = { peakUsed: null, uniqueUsers: null, coverage: 0 };
  expect(await told(["solver", "mesher", "nothing"])).toEqual([
    { feature: "mesher", sessions: null, denials: 1, ...unknown },
    { feature: "solver", sessions: 3, denials: 1, ...unknown },
  ]);
  expect(await told(null)).toEqual([]);
});

test("next to a daemon, without the time that it monitored", async () => {
  await using place = await createPlace();
  await place.write(SERVER);
  const daemon = open(place.storage);
  daemon.sqlite.run("INSERT INTO servers VALUES ('eda', 'flexnet', 'x', 'x', 0, 0)");
  const began = Date.UTC(2026, 0, 29, 23);
  daemon.sqlite.run(
    `INSERT INTO sessions (id, server_id, daemon, feature, user, count, began_at, first_seen_at, last_seen_at)
     VALUES (7, 'eda', 'acmed', 'solver', 'ada', 1, ${began}, ${began + 60_000}, ${began + 3_600_000})`,
  );
  const done = await run(importing(place), { stdin: DAY_1 + DAY_2 });
  expect(done).toMatchObject({ exitCode: 0, err: "" });
  expect(done.out).toContain("1 added, 0 known before, 2 left out");
  expect(rows(daemon, SESSIONS)).toMatchObject([
    { imported: 1, began: "29 08:00" },
    { imported: 0, began: "29 23:00" },
  ]);
});

test("reports what cannot be imported, and stores nothing", async () => {
  await using place = await createPlace();
  const dsls = '[[servers]]\nid = "plm"\nmanager = "dsls"\naddress = "4084@lic"\ntool = "/bin/true"\n';
  await place.write(SERVER + dsls);
  const [good, binary] = [join(place.folder, "good.log"), join(place.folder, "report.rl")];
  await Bun.write(good, DAY_1);
  const bytes = Uint8Array.from({ length: 500 }, (_, index) => (index * 37) % 256);
  await Bun.write(binary, bytes);
  const args = (server: string, ...files: string[]) => [...importing(place, server), ...files];
  for (const [given, exitCode, message] of [
    [args("nobody", good), 2, "expected one of eda, plm"],
    [args("plm", good), 2, "whose debug logs licmond cannot read"],
    [args("eda", good, binary), 1, "encrypted report log"],
    [args("eda", good, join(place.folder, "none.log")), 1, "cannot read"],
    [args("eda", place.config), 1, "not a FlexNet debug log"],
    [["import", good], 2, "--server"],
    [[...args("eda", good), "--timezone", "Mars/Base"], 2, "IANA"],
  ] as const)
    expect(await run(given)).toMatchObject({ exitCode, out: "", err: expect.stringContaining(message) });
  expect(await Bun.file(join(place.storage, "licmond.db")).exists()).toBe(false);
});

test("RLM's debug log becomes sessions and denials", async () => {
  await using place = await createPlace();
  const vfx = 'id = "vfx"\nmanager = "rlm"\naddress = "5053@lic"\ntool = "/bin/true"\ntimezone = "UTC"\n';
  await place.write(`[[servers]]\n${vfx}`);
  const log = join(place.folder, "paintco.dlog");
  await Bun.write(log, await Bun.file(join(import.meta.dir, "../../fixtures/rlm/debug-log.txt")).text());
  const written = new Date("2026-01-01T09:00Z");
  await utimes(log, written, written);
  const done = await run([...importing(place, "vfx"), log]);
  expect(done).toMatchObject({ exitCode: 0 });
  const daemon = open(place.storage);
  const seats =
    "SELECT daemon, feature, user, host, count, ended_at - began_at AS held FROM sessions ORDER BY feature";
  const ann = { feature: "brush-pro", user: "ann.lee", host: "ws-01", count: 1, held: 30_300_000 };
  const bob = { feature: "view.free", host: "ws-02", count: 3, held: 81_960_000 };
  expect(rows(daemon, seats)).toMatchObject([ann, { ...bob, user: "CORP\\bob o'neil@mail.org" }]);
  expect(rows(daemon, "SELECT feature, user, count, code FROM denials ORDER BY user")).toEqual([
    { feature: "brush-pro", user: "eva", count: 1, code: -22 },
    { feature: "brush-pro", user: "tom by hand", count: 2, code: -21 },
  ]);
});
