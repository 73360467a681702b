import { expect, test } from "bun:test";
import fc from "fast-check";
import { dumpedRows } from "../../../src/history/moving-in/mysql-dump.ts";

async function* cut(text: string, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0, index = 0; at < bytes.length; index++) {
    const size = Math.max(1, sizes[index % sizes.length] ?? bytes.length);
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

async function read(text: string, sizes: readonly number[] = [1e9]) {
  const found: unknown[] = [];
  for await (const { table, columns, rows } of dumpedRows(cut(text, sizes), "x.sql"))
    for (const row of rows)
      found.push([table, Object.fromEntries(columns.map((name, at) => [name, row[at]]))]);
  return found;
}

/** As mysqldump writes a text. */
const quoted = (text: string) =>
  `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'").replaceAll("\n", "\\n").replaceAll("\r", "\\r").replaceAll("\0", "\\0").replaceAll("\x1a", "\\Z")}'`;

const HEAD = `-- MySQL dump 10.13; it's a head
/*!40101 SET NAMES utf8mb4 */;
# and another; 'comment
DROP TABLE IF EXISTS \`t;1\`;
CREATE TABLE \`t\` (
  \`id\` int NOT NULL COMMENT 'one; (two), it''s',
  \`name\` varchar(9),
  PRIMARY KEY (\`id\`),
  UNIQUE KEY \`k\` (\`name\`)
) ENGINE=InnoDB;
LOCK TABLES \`t\` WRITE;
`;

test("rows are what was dumped, whatever they hold and wherever the text is cut", async () => {
  const text = fc.string({ unit: "binary", maxLength: 12 }).filter((one) => one.isWellFormed());
  const row = fc.tuple(
    fc.nat(),
    fc.option(fc.oneof(text, fc.constantFrom("'", "\\'", "),(1,'", "''; -- ", "NULL"))),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { minLength: 1 }),
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }),
      async (rows, sizes) => {
        const values = rows.map(([id, name]) => `(${id},${name === null ? "NULL" : quoted(name)})`).join(",");
        const found = await read(
          `${HEAD}INSERT INTO \`t\` VALUES ${values};\nUNLOCK TABLES;\n-- done`,
          sizes,
        );
        expect(found).toEqual(rows.map(([id, name]) => ["t", { id: `${id}`, name }]));
      },
    ),
    { numRuns: 100 },
  );
});

test.each([
  [
    "INSERT INTO `t` (`name`, `id`) VALUES\r\n('it''s', 2),\r\n(null, -3);",
    [
      ["t", { name: "it's", id: "2" }],
      ["t", { name: null, id: "-3" }],
    ],
  ],
  [
    'CREATE TABLE "t" (\n  "id" int,\n  KEY "k" ("id")\n);\nREPLACE INTO "t" VALUES (1);',
    [["t", { id: "1" }]],
  ],
  ["SELECT ';'; UPDATE t SET a = 'INSERT INTO t VALUES (1)';", []],
  ["", []],
])("%j", async (text, rows) => {
  for (const size of [1, 7, 1e6]) expect(await read(text, [size])).toEqual(rows);
});

test.each([
  ["INSERT INTO t VALUES (1);", "x.sql has rows of t but no CREATE TABLE: dump without --no-create-info"],
  [`${HEAD}INSERT INTO t VALUES (1,'a'),\n`, "x.sql is cut off within a statement; dump it again"],
  [
    "INSERT INTO t SET a = 1;",
    'x.sql is not a readable MySQL dump, or is cut off, at "INSERT INTO t SET a = 1;"',
  ],
  [
    `${HEAD}INSERT INTO t VALUES (1,'a')x;`,
    "x.sql is not a readable MySQL dump, or is cut off, at \"(1,'a')x;\"",
  ],
  ["x".repeat(70e6), `x.sql is not a readable MySQL dump, or is cut off, at "${"x".repeat(60)}"`],
  [`${HEAD}INSERT INTO t VALUES (${"'a".repeat(2e6)}`, "or was cut, at"],
])("%#: rejects other files in linear time", async (text, message) => {
  await expect(read(text, [65_536])).rejects.toThrow(message);
});
