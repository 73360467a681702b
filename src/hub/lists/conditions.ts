import { type SortBy, sqlNullsLast } from "../../domain/order.ts";
import type { Sql } from "../database/connect.ts";

export type Conditions = ReturnType<typeof createConditions>;

/** Collects the conditions of a query with their values. Client input is never SQL text. */
export function createConditions() {
  const values: unknown[] = [];
  const all: string[] = [];
  const use = (value: unknown): string => `$${values.push(value)}`;
  return {
    values,
    use,
    add: (condition: string) => void all.push(condition),
    /** Matches one of these texts; null = any. The planner considers the contents of arrays. */
    oneOf(expression: string, list: readonly string[] | null | undefined): void {
      if (list != null) all.push(`${expression} = ANY(${use(list)}::text[])`);
    },
    /** Matches one of these server ids; null = any. */
    servers(alias: string | null, ids: readonly string[] | null): void {
      if (ids === null) return;
      const of = alias === null ? "" : `${alias}.`;
      const parts = ids.map(partsOf);
      const [sites, servers] = [0, 1].map((at) => [...new Set(parts.map((part) => part[at]))]);
      all.push(`${of}site = ANY(${use(sites)}::text[])`, `${of}server = ANY(${use(servers)}::text[])`);
      // With several sites, a server's id may exist at another site too.
      if (sites?.length !== 1) all.push(`${of}site || ':' || ${of}server = ANY(${use(ids)}::text[])`);
    },
    count: () => all.length,
    /** Returns a query for the number of rows; call it before adding values that it does not use. */
    counting(from: string, head = "") {
      const counted = [...values];
      return (sql: Sql) => sql.unsafe(`${head} SELECT count(*)::int AS total FROM ${from}`, counted);
    },
    page: ({ limit, offset }: Page) => `LIMIT ${use(limit)} OFFSET ${use(offset)}`,
    where: () => (all.length === 0 ? "true" : all.join(" AND ")),
  };
}

interface Page {
  readonly limit: number | null;
  readonly offset: number;
}

export async function readPage<Row>(
  sql: Sql,
  count: (sql: Sql) => Promise<readonly { readonly total: number }[]>,
  text: string,
  values: unknown[],
): Promise<{ readonly total: number; readonly rows: readonly Row[] }> {
  const [[first], rows] = await Promise.all([count(sql), sql.unsafe(text, values)]);
  return { total: first?.total ?? 0, rows };
}

/** Splits a server id of the hub; names of sites contain no colon. */
export function partsOf(id: string): [site: string, server: string] {
  const colon = id.indexOf(":");
  return [id.slice(0, colon), id.slice(colon + 1)];
}

export function orderBy<F extends string>(
  { field, descending }: SortBy<F>,
  expressions: Readonly<Record<F, string>>,
  ties: readonly string[],
): string {
  const direction = sqlNullsLast(descending);
  const first = expressions[field].split(" | ").map((expression) => `${expression} ${direction}`);
  return [...first, ...ties].join(", ");
}
