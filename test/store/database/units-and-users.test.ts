import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { migrate } from "../../../src/store/database/migrate.ts";
import { MIGRATIONS } from "../../../src/store/migrations/migrations.ts";

test("a database of the version before keeps its rows, and takes holders without a user, units and seat groups", () => {
  const sqlite = new Database(":memory:", { strict: true });
  const steps = MIGRATIONS.findIndex(({ name }) => name === "0028-units-and-unknown-users");
  expect(steps).toBeGreaterThan(0);
  migrate(sqlite, "x.db", MIGRATIONS.slice(0, steps));
  const add = (id: number, user: string | null, endedAt: number | null) =>
    sqlite.run(
      `INSERT INTO sessions (id, server_id, daemon, feature, user, host, count, began_at, first_seen_at, last_seen_at,
         ended_at, end_reason) VALUES (?, 'eda', 'acmed', 'solver', ?, 'ws1', 1, 1, 1, 5, ?, ?)`,
      [id, user, endedAt, endedAt === null ? null : "checkin"],
    );
  sqlite.run("INSERT INTO servers VALUES ('eda', 'flexnet', '27000@lic1', 'EDA', 0, 0)");
  sqlite.run(
    "INSERT INTO history_features (id, server_id, daemon, name) VALUES (7, 'eda', 'acmed', 'solver')",
  );
  sqlite.run("INSERT INTO site_days VALUES (3, x'00')");
  add(1, "ann", 9);
  add(2, "bob", null);
  expect(() => add(3, null, null)).toThrow("NOT NULL");

  migrate(sqlite, "x.db", MIGRATIONS);
  const all = (sql: string) => sqlite.query(sql).values();
  expect(all("SELECT id, user, ended_at FROM sessions ORDER BY id")).toEqual([
    [1, "ann", 9],
    [2, "bob", null],
  ]);
  expect(all("SELECT id, unit, seat_group FROM history_features")).toEqual([[7, "seats", null]]);
  add(3, null, null);
  add(4, null, 11);
  // A session of an unknown user adds no user to `last_seen`, but its host.
  sqlite.run("UPDATE sessions SET ended_at = 12, end_reason = 'checkin' WHERE id IN (2, 3)");
  const seen = "SELECT kind, name, at FROM last_seen ORDER BY kind, name";
  expect(all(seen)).toEqual([
    ["host", "ws1", 12],
    ["user", "ann", 9],
    ["user", "bob", 12],
  ]);
  sqlite.run("DELETE FROM sessions WHERE id IN (1, 3)");
  expect(all(seen)).toEqual([["user", "bob", 12]]);

  // Packed days become outdated only if the unit or the seat group changes.
  const days = () => all("SELECT at FROM dirty WHERE kind = 'site' AND at = 3 * 86400000").length;
  sqlite.run("UPDATE history_features SET unit = 'seats', seat_group = NULL");
  expect(days()).toBe(0);
  sqlite.run("UPDATE history_features SET seat_group = '0'");
  expect(days()).toBe(1);
  expect(all("PRAGMA integrity_check")).toEqual([["ok"]]);
});
