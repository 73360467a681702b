import type { Question } from "../database/transaction.ts";

/** Maximum number of rows in memory, because PostgreSQL's client buffers whole answers. */
const PAGE = 5_000;

export type Row = (string | number | null)[];

/** Reads rows as arrays. */
export async function readRows<R = Row>(
  { sql, checkpoint }: Pick<Question, "sql" | "checkpoint">,
  text: string,
  values: readonly unknown[],
): Promise<R[]> {
  checkpoint();
  return (await sql.unsafe(text, [...values]).values()) as R[];
}

let last = 0;

/**
 * Returns a function that collects garbage at every n-th call. Without it, a heat map of 3,600 features
 * over four weeks needs 170 MB of heap for 20 MB of live data.
 */
export function createGarbageCollector(every: number): () => void {
  let calls = 0;
  return () => {
    if (++calls % every === 0) Bun.gc(true);
  };
}

export async function* inPages(
  question: Pick<Question, "sql" | "checkpoint">,
  text: string,
  values: readonly unknown[],
): AsyncGenerator<Row[]> {
  const name = `pages_${++last}`;
  const collectSometimes = createGarbageCollector(10);
  question.checkpoint();
  await question.sql.unsafe(`DECLARE ${name} NO SCROLL CURSOR FOR ${text}`, [...values]);
  for (;;) {
    const rows = await readRows(question, `FETCH ${PAGE} FROM ${name}`, []);
    if (rows.length > 0) yield rows;
    collectSometimes();
    if (rows.length < PAGE) return;
  }
}
