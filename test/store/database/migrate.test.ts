import { Database } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import { getTableName, is } from "drizzle-orm";
import { getTableConfig, SQLiteTable } from "drizzle-orm/sqlite-core";
import { migrate, schemaVersion } from "../../../src/store/database/migrate.ts";
import * as schema from "../../../src/store/database/schema.ts";
import { MIGRATIONS, type Migration, STATE_MIGRATIONS } from "../../../src/store/migrations/migrations.ts";
import { cleanUp, later } from "../place.ts";

afterEach(cleanUp);

function memory(): Database {
  const sqlite = new Database(":memory:", { strict: true });
  later(() => sqlite.close());
  sqlite.run("PRAGMA foreign_keys = ON");
  return sqlite;
}

const rows = <T>(sqlite: Database, sql: string) => sqlite.query<T, []>(sql).all();
const shape = (sqlite: Database) =>
  rows<{ name: string; sql: string }>(
    sqlite,
    "SELECT type, name, sql FROM sqlite_schema ORDER BY type, name",
  );

const PARENT_AND_CHILD: Migration = {
  name: "0001-start",
  sql: `CREATE TABLE parent (id INTEGER PRIMARY KEY, word TEXT) STRICT;
    CREATE TABLE child (id INTEGER PRIMARY KEY, parent_id INTEGER NOT NULL REFERENCES parent (id) ON DELETE CASCADE) STRICT;`,
};

describe("migrations", () => {
  test("are numbered without a gap, and named for their files", () => {
    MIGRATIONS.forEach(({ name }, index) => {
      expect(name).toMatch(new RegExp(`^${String(index + 1).padStart(4, "0")}-[a-z-]+$`));
    });
    const folder = `${import.meta.dir}/../../../src/store/migrations`;
    const files = [...new Bun.Glob("*.sql").scanSync(folder)].sort();
    expect(files).toEqual(MIGRATIONS.map(({ name }) => `${name}.sql`));
  });

  test.each(MIGRATIONS.map((_, version) => version))(
    "bring a database of schema %i up to the last",
    (version) => {
      const straight = memory();
      migrate(straight, "x.db", MIGRATIONS);
      const stepwise = memory();
      migrate(stepwise, "x.db", MIGRATIONS.slice(0, version));
      expect(schemaVersion(stepwise)).toBe(version);
      if (version >= 1) {
        stepwise.run("INSERT INTO servers VALUES ('eda', 'flexnet', '27000@lic1', 'EDA', 1, 2)");
        stepwise.run("INSERT INTO pictures (server_id, saved_at, head) VALUES ('eda', 3, '{}')");
      }
      if (version >= 2 && version < 22) {
        stepwise.run(
          "INSERT INTO api_keys (id, name, role, secret_hash, created_at, last_used_at) VALUES ('a', 'n', 'admin', zeroblob(32), 1, 2)",
        );
      }
      migrate(stepwise, "x.db", MIGRATIONS);
      expect(schemaVersion(stepwise)).toBe(MIGRATIONS.length);
      expect(shape(stepwise)).toEqual(shape(straight));
      const count = (table: string) =>
        rows<{ n: number }>(stepwise, `SELECT count(*) AS n FROM ${table}`)[0]?.n;
      expect(["servers", "pictures"].map(count)).toEqual(Array(2).fill(version >= 1 ? 1 : 0));
      expect(count("key_uses")).toBe(version >= 2 && version < 22 ? 1 : 0);
    },
  );

  test("join the parts of a picture", () => {
    const sqlite = memory();
    migrate(sqlite, "x.db", MIGRATIONS.slice(0, 19));
    sqlite.run("INSERT INTO servers VALUES ('eda', 'flexnet', '27000@lic1', 'EDA', 1, 2)");
    sqlite.run(`INSERT INTO pictures VALUES ('eda', 3, '{"format":1,"parts":["b","a"],"head":{}}')`);
    const part = sqlite.query("INSERT INTO picture_parts VALUES ('eda', ?, ?)");
    const row = (user: string) => ["checkouts", { user }];
    part.run(
      "b",
      JSON.stringify([["feature", { name: "one", total: 3 }], ["pools", { id: "p" }], row("z"), row("y")]),
    );
    part.run("a", JSON.stringify([row("x"), ["queue", { user: "q" }], ["feature", { name: "two" }]]));
    part.run("c", JSON.stringify([row("of no picture")]));
    migrate(sqlite, "x.db", MIGRATIONS);
    const [stored] = rows<{ text: string }>(sqlite, "SELECT CAST(features AS TEXT) AS text FROM pictures");
    const none = { pools: [], checkouts: [], reservations: [], queue: [] };
    expect(JSON.parse(stored?.text ?? "")).toEqual([
      {
        name: "one",
        total: 3,
        pools: [{ id: "p" }],
        reservations: [],
        queue: [{ user: "q" }],
        checkouts: [{ user: "z" }, { user: "y" }, { user: "x" }],
      },
      { name: "two", ...none },
    ]);
  });

  test("may rebuild a table that others refer to without losing their rows", () => {
    const sqlite = memory();
    migrate(sqlite, "x.db", [PARENT_AND_CHILD]);
    sqlite.run("INSERT INTO parent VALUES (1, 'one'); INSERT INTO child VALUES (10, 1), (11, 1);");
    const rebuild = `CREATE TABLE new_parent (id INTEGER PRIMARY KEY, word TEXT NOT NULL) STRICT;
      INSERT INTO new_parent SELECT * FROM parent;
      DROP TABLE parent;
      ALTER TABLE new_parent RENAME TO parent;`;
    migrate(sqlite, "x.db", [PARENT_AND_CHILD, { name: "0002-rebuild", sql: rebuild }]);
    expect(rows<{ id: number }>(sqlite, "SELECT id FROM child").map(({ id }) => id)).toEqual([10, 11]);
    expect(() => sqlite.run("INSERT INTO child VALUES (12, 2)")).toThrow(/FOREIGN KEY/);
    sqlite.run("DELETE FROM parent");
    expect(rows(sqlite, "SELECT id FROM child")).toEqual([]);
  });

  test("that would break a reference are refused and undone", () => {
    const sqlite = memory();
    migrate(sqlite, "x.db", [PARENT_AND_CHILD]);
    sqlite.run("INSERT INTO parent VALUES (1, 'one'); INSERT INTO child VALUES (10, 1);");
    const wrong = [PARENT_AND_CHILD, { name: "0002-wrong", sql: "DELETE FROM parent" }];
    expect(() => migrate(sqlite, "x.db", wrong)).toThrow(/0002-wrong.*1 rows refer to rows that are gone/);
    expect(schemaVersion(sqlite)).toBe(1);
    expect(rows(sqlite, "SELECT * FROM parent")).toHaveLength(1);
    expect(Object.values(rows<object>(sqlite, "PRAGMA foreign_keys")[0] ?? {})).toEqual([1]);
  });

  test("that fail half-way change nothing, and the error names the migration and the reason", () => {
    const sqlite = memory();
    const broken = [
      PARENT_AND_CHILD,
      { name: "0002-broken", sql: "CREATE TABLE half (x TEXT); INSERT INTO nowhere VALUES (1);" },
    ];
    const says = "/var/lib/licmond.db could not be brought to schema 2 (0002-broken)";
    expect(() => migrate(sqlite, "/var/lib/licmond.db", broken)).toThrow(
      expect.objectContaining({ code: "MIGRATION", message: expect.stringContaining(says) }),
    );
    expect(schemaVersion(sqlite)).toBe(1);
    expect(shape(sqlite).map(({ name }) => name)).not.toContain("half");
  });
});

describe("the declared tables are as the migrations make them", () => {
  const migrated = (migrations: readonly Migration[]) => {
    const sqlite = new Database(":memory:", { strict: true });
    migrate(sqlite, "x.db", migrations);
    return sqlite;
  };
  const files = { "licmond.db": migrated(MIGRATIONS), "state.db": migrated(STATE_MIGRATIONS) };
  const declared = Object.values<unknown>(schema).filter((value) => is(value, SQLiteTable));

  test.each(
    declared.flatMap((table) =>
      Object.entries(files)
        .filter(([, sqlite]) => rows(sqlite, `PRAGMA table_info(${getTableName(table)})`).length > 0)
        .map(([file, sqlite]) => [getTableName(table), file, table, sqlite] as const),
    ),
  )("%s in %s", (name, _, table, sqlite) => {
    const wanted = getTableConfig(table).columns.map((column) => [
      column.name,
      column.getSQLType().toUpperCase(),
      column.notNull || column.primary,
      column.primary,
    ]);
    // Keys of tables without a rowid, and columns that are an alias of the rowid, are never null.
    const found = sqlite
      .query(`SELECT name, type, "notnull" OR pk > 0, pk > 0 FROM pragma_table_info('${name}')`)
      .values()
      .map(([column, type, notNull, key]) => [column, type, notNull === 1, key === 1]);
    expect<unknown[]>(wanted).toEqual(found);
  });

  test("each table is in a file", () => {
    const names = Object.values(files).flatMap((sqlite) =>
      rows<{ name: string }>(sqlite, "PRAGMA table_list"),
    );
    expect(names.map(({ name }) => name)).toEqual(expect.arrayContaining(declared.map(getTableName)));
  });
});
