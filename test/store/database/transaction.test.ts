import { Database } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import { createTransaction } from "../../../src/store/database/transaction.ts";
import { cleanUp, later } from "../place.ts";

afterEach(cleanUp);

function make() {
  const sqlite = new Database(":memory:", { strict: true });
  later(() => sqlite.close());
  sqlite.run("CREATE TABLE t (n INTEGER UNIQUE)");
  const transaction = createTransaction(sqlite);
  const add = (n: number) => sqlite.run("INSERT INTO t VALUES (?)", [n]);
  const said: string[] = [];
  const seen = () => ({ rows: sqlite.query("SELECT n FROM t ORDER BY n").values().flat(), said });
  return { sqlite, said, transaction, add, seen };
}

describe("a transaction", () => {
  test("answers what its work returns, and runs effects behind the commit, in order", () => {
    const { transaction, add, said, sqlite, seen } = make();
    const result = transaction(({ after }) => {
      after(() => said.push(`first ${sqlite.inTransaction}`));
      add(1);
      after(() => transaction(() => void said.push(`second ${add(2).changes}`)));
      expect(said).toEqual([]);
      return "result";
    });
    expect(result).toBe("result");
    expect(seen()).toEqual({ rows: [1, 2], said: ["first false", "second 1"] });
  });

  test("inside another one is part of it: its effects wait for the outer commit, its failure undoes both", () => {
    const { transaction, add, said, seen } = make();
    const both = (last: number) =>
      transaction(({ after }) => {
        add(1);
        after(() => said.push("outer"));
        transaction((inner) => {
          inner.after(() => said.push("inner"));
          add(last);
        });
        expect(said).toEqual([]);
      });
    expect(() => both(1)).toThrow(/UNIQUE/);
    expect(seen()).toEqual({ rows: [], said: [] });
    both(2);
    expect(seen()).toEqual({ rows: [1, 2], said: ["outer", "inner"] });
  });

  test("takes no promise", () => {
    // @ts-expect-error the work must not be async
    make().transaction(async () => {});
  });

  test("waits for the disk when it is durable, and only then", () => {
    const { transaction, sqlite } = make();
    const level = () => sqlite.query<{ synchronous: number }, []>("PRAGMA synchronous").get()?.synchronous;
    const [normal, full] = [1, 2];
    sqlite.run("PRAGMA synchronous = NORMAL");
    expect([transaction(level), transaction(level, { durable: true })]).toEqual([normal, full]);
    const fails = () => {
      throw new Error("no");
    };
    expect(() => transaction(fails, { durable: true })).toThrow("no");
    expect(level()).toBe(normal);
  });
});
