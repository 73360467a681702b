import type { Sql } from "../database/connect.ts";

/** Rows in memory at once: PostgreSQL's client holds all of an answer. */
const PAGE = 5_000;

export type Row = (string | number | null)[];

let last = 0;

/** The rows of a SELECT in pages, by a cursor. Within a transaction, which ends it. */
export async function* inPages(
  sql: Sql,
  text: string,
  values: readonly unknown[],
  checkpoint: () => void,
): AsyncGenerator<Row[]> {
  const name = `pages_${++last}`;
  checkpoint();
  await sql.unsafe(`DECLARE ${name} NO SCROLL CURSOR FOR ${text}`, [...values]);
  for (;;) {
    checkpoint();
    const rows = (await sql.unsafe(`FETCH ${PAGE} FROM ${name}`).values()) as Row[];
    if (rows.length > 0) yield rows;
    if (rows.length < PAGE) return;
  }
}
