import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { migrate } from "../../../src/store/database/migrate.ts";
import { MIGRATIONS } from "../../../src/store/migrations/migrations.ts";

const DAY = 86_400_000;
const TODAY = Math.floor(Date.now() / DAY);

/** The version before, with days of feature 5 and marks. */
function before() {
  const sqlite = new Database(":memory:", { strict: true });
  const steps = MIGRATIONS.findIndex(({ name }) => name === "0033-packed-days");
  expect(steps).toBeGreaterThan(0);
  migrate(sqlite, "x.db", MIGRATIONS.slice(0, steps));
  sqlite.run("INSERT INTO servers VALUES ('eda', 'flexnet', '27000@lic1', 'EDA', 0, 0)");
  return sqlite;
}

test("derived days, and the marks of those that are missing, move to one table each", () => {
  const sqlite = before();
  const first = TODAY - 3;
  const key = first * 2 ** 24 + 5;
  for (const [table, data] of [
    ["sample_days", "a1"],
    ["rollup_hours", "b1"],
    ["rollup_days", "c1"],
  ])
    sqlite.run(`INSERT INTO ${table} VALUES (${key}, x'${data}')`);
  sqlite.run(
    `INSERT INTO sessions (id, server_id, daemon, feature, count, began_at, first_seen_at, last_seen_at)
     VALUES (1, 'eda', 'd', 'f', 1, ?1, ?1, ?1)`,
    [(first + 1) * DAY],
  );
  sqlite.run(
    `INSERT INTO session_days VALUES (${first + 1}, x'd1'), (${first + 2}, NULL), (${TODAY - 900}, x'd0')`,
  );
  sqlite.run(`INSERT INTO history_open VALUES (3600000, ${TODAY * DAY}, 0), (${DAY}, ${TODAY * DAY}, 1)`);
  sqlite.run(`INSERT INTO site_days VALUES (${first}, x'e1'), (${first + 1}, x'e2'), (${first + 2}, NULL)`);
  sqlite.run(`INSERT INTO fleet_days VALUES (-1, 1, 1), (${first}, 0, 7)`);
  migrate(sqlite, "x.db", MIGRATIONS);
  const rows = sqlite.query(
    `SELECT kind, day - ${first}, feature_id, hex(data) FROM packed_days WHERE day > ${TODAY - 900}`,
  );
  expect(rows.values()).toEqual([
    ["samples", 0, 5, "A1"],
    ["hours", 0, 5, "B1"],
    ["rollups", 0, 5, "C1"],
    ["held", 1, 0, "D1"],
    ["site", 0, 0, "E1"],
    ["site", 1, 0, "E2"],
  ]);
  const marks = sqlite.query(`SELECT kind, at / ${DAY}.0 - ${first} FROM dirty ORDER BY kind, at`);
  expect(marks.values()).toEqual([
    ["held", 2],
    ["held", 3],
    ["hours", 3],
    ["hub", -1 - first],
    ["hub", 0],
    ["hub_rows", -1 - first],
    ["rollups", 3],
    ["site", 2],
    ["site", 3],
  ]);
});

test("an empty database gets no marks", () => {
  const sqlite = before();
  migrate(sqlite, "x.db", MIGRATIONS);
  expect(sqlite.query("SELECT * FROM dirty").values()).toEqual([]);
});

test("a changed session outdates the packed days that it held seats on", () => {
  const sqlite = before();
  migrate(sqlite, "x.db", MIGRATIONS);
  for (let day = 1; day <= 6; day++)
    sqlite.run("INSERT INTO packed_days (key, data) VALUES ((3 << 50) + (? << 24), x'00')", [day]);
  const outdated = (sql: string) => {
    sqlite.run("DELETE FROM dirty");
    sqlite.run(sql);
    return sqlite.query(`SELECT at / ${DAY} FROM dirty WHERE kind = 'held'`).values().flat();
  };
  const put = (id: number, day: number, end: string) =>
    `INSERT INTO sessions (id, server_id, daemon, feature, count, began_at, first_seen_at, last_seen_at, ended_at, end_reason)
     VALUES (${id}, 'eda', 'd', 'f', 1, ${day * DAY}, ${day * DAY}, ${day * DAY}, ${end}, 'checkin')`;
  const end = (at: number, reason = "checkin") =>
    `UPDATE sessions SET ended_at = ${at * DAY}, end_reason = '${reason}' WHERE id = 1`;
  expect(outdated(put(1, 4, "NULL"))).toEqual([4, 5, 6]);
  expect(outdated(put(2, 2, `${3.5 * DAY}`))).toEqual([2, 3]);
  expect(outdated(put(3, 9, "NULL"))).toEqual([9]);
  // The session already counts on every packed day, so this end changes none.
  expect(outdated(end(7.5))).toEqual([]);
  expect(outdated(end(5.5))).toEqual([4, 5, 6]);
  expect(outdated("UPDATE sessions SET ended_at = NULL WHERE id = 1")).toEqual([4, 5, 6]);
  expect(outdated(end(6.5))).toEqual([6]);
  expect(outdated("UPDATE sessions SET ended_at = NULL WHERE id = 1")).toEqual([4, 5, 6]);
  // The session was last seen on day 4, so the days from then on change.
  expect(outdated(end(7.5, "unobserved"))).toEqual([4, 5, 6]);
  expect(outdated("UPDATE sessions SET last_seen_at = last_seen_at + 1 WHERE id = 3")).toEqual([]);
  expect(outdated("UPDATE sessions SET count = 2 WHERE id = 2")).toEqual([2, 3]);
});
