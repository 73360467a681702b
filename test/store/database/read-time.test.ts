import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { migrate } from "../../../src/store/database/migrate.ts";
import { MIGRATIONS } from "../../../src/store/migrations/migrations.ts";

const DAY = 86_400_000;

test("days with a gap between two readings are summed up again, the others stay", () => {
  const sqlite = new Database(":memory:", { strict: true });
  const steps = MIGRATIONS.findIndex(({ name }) => name === "0032-seat-hours-of-read-time");
  expect(steps).toBeGreaterThan(0);
  migrate(sqlite, "x.db", MIGRATIONS.slice(0, steps));
  sqlite.run("INSERT INTO servers VALUES ('eda', 'flexnet', '27000@lic1', 'EDA', 0, 0)");
  sqlite.run("INSERT INTO servers VALUES ('cad', 'flexnet', '27000@lic2', 'CAD', 0, 0)");
  const read = (server: string, from: number, until: number) =>
    sqlite.run("INSERT INTO coverage VALUES (?1, ?2, ?3, ?3, 0, 1)", [server, from, until]);
  read("eda", 1 * DAY, 3 * DAY + 1);
  read("eda", 4 * DAY + 1, 9 * DAY);
  read("cad", 7 * DAY, 8 * DAY);
  for (let day = 1; day < 9; day++) sqlite.run("INSERT INTO session_days VALUES (?, x'00')", [day]);
  migrate(sqlite, "x.db", MIGRATIONS);
  const held = "SELECT day FROM packed_days WHERE kind = 'held'";
  expect(sqlite.query(held).values().flat()).toEqual([1, 2, 5, 6, 7]);
});
