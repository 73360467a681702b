import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { migrate } from "../../../src/store/database/migrate.ts";
import { MIGRATIONS } from "../../../src/store/migrations/migrations.ts";

const DAY = 86_400_000;

test.each([true, false])(
  "sessions that a wrong clock stored count from their start (in a fleet: %p)",
  (inFleet) => {
    const sqlite = new Database(":memory:", { strict: true });
    const steps = MIGRATIONS.findIndex(({ name }) => name === "0031-sessions-by-a-wrong-clock");
    expect(steps).toBeGreaterThan(0);
    migrate(sqlite, "x.db", MIGRATIONS.slice(0, steps));
    sqlite.run("INSERT INTO servers VALUES ('eda', 'flexnet', '27000@lic1', 'EDA', 0, 0)");
    if (inFleet) sqlite.run("INSERT INTO fleet_marks VALUES ('epoch', 1)");
    const start = 500 * DAY;
    const add = (id: number, firstSeenAt: number, endedAt: number | null) =>
      sqlite.run(
        `INSERT INTO sessions (id, server_id, daemon, feature, user, count, started_at, began_at, first_seen_at, last_seen_at,
         ended_at) VALUES (?, 'eda', 'acmed', 'solver', 'ann', 1, ${start}, ?, ?, ?, ?)`,
        [id, firstSeenAt, firstSeenAt, firstSeenAt, endedAt],
      );
    add(1, start - 400 * DAY, start + 9);
    add(2, start - 400 * DAY, null);
    add(3, start - DAY, start + 9);
    add(4, start - 400 * DAY, start - 399 * DAY);

    migrate(sqlite, "x.db", MIGRATIONS);
    const all = (sql: string) => sqlite.query(sql).values();
    expect(all("SELECT id, began_at, first_seen_at, last_seen_at FROM sessions ORDER BY id")).toEqual([
      [1, start, start, start],
      [2, start, start, start],
      [3, start - DAY, start - DAY, start - DAY],
      [4, start - 400 * DAY, start - 400 * DAY, start - 400 * DAY],
    ]);
    expect(all("SELECT kind, key FROM fleet_outbox ORDER BY seq")).toEqual(
      inFleet
        ? [
            ["c", 1],
            ["c", 2],
          ]
        : [],
    );
  },
);
