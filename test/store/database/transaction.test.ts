import { Database } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import { createTransaction } from "../../../src/store/database/transaction.ts";
import { cleanUp, later } from "../place.ts";

afterEach(cleanUp);

function make() {
  const sqlite = new Database(":memory:", { strict: true });
  later(() => sqlite.close());
  sqlite.run("CREATE TABLE t (n INTEGER UNIQUE)");
  const errors: unknown[] = [];
  /** What effects said. */
  const said: string[] = [];
  const transaction = createTransaction(sqlite, (error) => errors.push(error));
  const add = (n: number) => sqlite.run("INSERT INTO t VALUES (?)", [n]);
  const rows = () => sqlite.query("SELECT n FROM t ORDER BY n").values().flat();
  return { sqlite, errors, said, transaction, add, rows };
}

describe("a transaction", () => {
  test("answers what its work returns, and runs effects behind the commit, in order", () => {
    const { transaction, add, said, sqlite, rows } = make();
    const result = transaction(({ after }) => {
      after(() => said.push(`first ${sqlite.inTransaction}`));
      add(1);
      after(() => said.push("second"));
      expect(said).toEqual([]);
      return "result";
    });
    expect(result).toBe("result");
    expect(said).toEqual(["first false", "second"]);
    expect(rows()).toEqual([1]);
  });

  test("leaves nothing and tells nothing when its work throws", () => {
    const { transaction, add, said, rows } = make();
    expect(() =>
      transaction(({ after }) => {
        after(() => said.push("never"));
        add(1);
        throw new Error("no");
      }),
    ).toThrow("no");
    expect(rows()).toEqual([]);
    transaction(() => add(2));
    expect(said).toEqual([]);
    expect(rows()).toEqual([2]);
  });

  test("inside another one is part of it: its effects wait for the outer commit, its failure undoes both", () => {
    const { transaction, add, said, rows } = make();
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
    expect([rows(), said]).toEqual([[], []]);
    both(2);
    expect([rows(), said]).toEqual([
      [1, 2],
      ["outer", "inner"],
    ]);
  });

  test("takes no promise", () => {
    const { transaction } = make();
    // @ts-expect-error the work must not be async
    transaction(async () => {});
  });

  test("stands when an effect throws: the error is said, the other effects run", () => {
    const { transaction, add, said, rows, errors } = make();
    transaction(({ after }) => {
      add(1);
      after(() => {
        throw new Error("effect");
      });
      after(() => said.push("still"));
    });
    expect(rows()).toEqual([1]);
    expect(said).toEqual(["still"]);
    expect(errors.map(String)).toEqual(["Error: effect"]);
  });

  test("may be begun by an effect", () => {
    const { transaction, add, rows } = make();
    transaction(({ after }) => {
      add(1);
      after(() => transaction(() => add(2)));
    });
    expect(rows()).toEqual([1, 2]);
  });

  test("waits for the disk when it is durable, and only then", () => {
    const { transaction, sqlite } = make();
    const level = () => sqlite.query<{ synchronous: number }, []>("PRAGMA synchronous").get()?.synchronous;
    const NORMAL = 1;
    const FULL = 2;
    sqlite.run("PRAGMA synchronous = NORMAL");
    expect(transaction(level)).toBe(NORMAL);
    expect(transaction(level, { durable: true })).toBe(FULL);
    const fails = () => {
      throw new Error("no");
    };
    expect(() => transaction(fails, { durable: true })).toThrow("no");
    expect(level()).toBe(NORMAL);
  });
});
