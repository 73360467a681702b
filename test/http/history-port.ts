import { Database } from "bun:sqlite";
import { createReader, type Reader } from "../../src/history/reader.ts";
import type { HttpDeps } from "../../src/http/deps.ts";
import { historyAnswers } from "../../src/http/history-answers/answers.ts";
import { MIGRATIONS } from "../../src/store/migrations/migrations.ts";
import { PSEUDONYMS } from "./streams/rig.ts";

/** History without a worker. Parameters and answers are copied as between threads. */
export function historyPort(read: () => Reader): HttpDeps["history"] {
  const answers = historyAnswers(() => PSEUDONYMS);
  return {
    async query(name, params) {
      const query = answers[name] as (read: Reader, params: unknown) => unknown;
      return structuredClone(await query(read(), structuredClone(params))) as never;
    },
  };
}

/** Migrations of an in-memory database with the tables of both files that history answers read. */
export const HISTORY_AND_ALERTS = MIGRATIONS.filter(({ name }) => name !== "0034-alerts-only-in-state");

/** History without data. */
export function emptyHistory(now: () => number): HttpDeps["history"] {
  let database: Database | null = null;
  return historyPort(() => {
    if (database === null) {
      database = new Database(":memory:", { strict: true });
      for (const { sql } of HISTORY_AND_ALERTS) database.run(sql);
    }
    return createReader(database, { now: now() });
  });
}
