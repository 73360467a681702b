import type { Sql } from "../database/connect.ts";

/** Rows in memory at once; PostgreSQL's client buffers whole answers. */
const PAGE = 5_000;

export type Row = (string | number | null)[];

let last = 0;

/**
 * Returns a function that collects garbage every n-th call. Without it, a heat map of 3,600 features and
 * four weeks takes 170 MB of heap with 20 MB live.
 */
export function createGarbageCollector(every: number): () => void {
  let calls = 0;
  return () => {
    if (++calls % every === 0) Bun.gc(true);
  };
}

export async function* inPages(
  sql: Sql,
  text: string,
  values: readonly unknown[],
  checkpoint: () => void,
): AsyncGenerator<Row[]> {
  const name = `pages_${++last}`;
  checkpoint();
  const collectSometimes = createGarbageCollector(10);
  await sql.unsafe(`DECLARE ${name} NO SCROLL CURSOR FOR ${text}`, [...values]);
  for (;;) {
    checkpoint();
    const rows = (await sql.unsafe(`FETCH ${PAGE} FROM ${name}`).values()) as Row[];
    if (rows.length > 0) yield rows;
    collectSometimes();
    if (rows.length < PAGE) return;
  }
}
