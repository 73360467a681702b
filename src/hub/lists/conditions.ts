import { type SortBy, sqlNullsLast } from "../../domain/order.ts";
import type { ListQuery } from "../../http/lists/lists.ts";
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
    /**
     * Matches any of these texts; null means no condition. An array parameter lets the planner see its
     * contents.
     */
    oneOf(expression: string, list: readonly string[] | null | undefined): void {
      if (list != null) all.push(`${expression} = ANY(${use(list)}::text[])`);
    },
    /** Matches any of these server ids; null means no condition. */
    servers(alias: string | null, ids: readonly string[] | null): void {
      if (ids === null) return;
      const of = alias === null ? "" : `${alias}.`;
      const parts = ids.map(partsOf);
      const [sites, servers] = [0, 1].map((at) => [...new Set(parts.map((part) => part[at]))]);
      all.push(`${of}site = ANY(${use(sites)}::text[])`, `${of}server = ANY(${use(servers)}::text[])`);
      // With several sites, another site may have a server with the same id, so compare the pairs, too.
      if (sites?.length !== 1) all.push(`${of}site || ':' || ${of}server = ANY(${use(ids)}::text[])`);
    },
    count: () => all.length,
    /** Returns a query for the number of rows. Call this before adding values that the query does not use. */
    counting(from: string, head = "") {
      const counted = [...values];
      return (sql: Sql): Promise<Counted> =>
        sql.unsafe(`${head} SELECT count(*)::int AS total FROM ${from}`, counted);
    },
    page: ({ limit, offset }: Page) => `LIMIT ${use(limit)} OFFSET ${use(offset)}`,
    where: () => (all.length === 0 ? "true" : all.join(" AND ")),
  };
}

type Counted = readonly { readonly total: number }[];

interface Page {
  readonly limit: number | null;
  readonly offset: number;
}

export async function readPage<Row>(
  sql: Sql,
  count: (sql: Sql) => Promise<Counted>,
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

/**
 * Builds an ORDER BY of the columns of `alias`. A field has the name of its column, unless `own` has an
 * expression for the field. Only known fields may be passed.
 */
export function orderBy(
  { field, descending }: SortBy<string>,
  alias: string,
  own: Readonly<Record<string, string>>,
  ties: string,
): string {
  const column = field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const expressions =
    field === "server" ? [`${alias}.site`, `${alias}.server`] : [own[field] ?? `${alias}.${column}`];
  return [...expressions.map((one) => `${one} ${sqlNullsLast(descending)}`), ties].join(", ");
}

/** The parameters of a list, the page, and the ids of the servers; null = all servers. */
export type ListAsked<Name extends "features" | "users" | "expirations", Field extends string> = Omit<
  ListQuery<Name>,
  "sort" | "limit" | "offset" | "start" | "end" | "days" | "permanent"
> &
  Page & { readonly servers: readonly string[] | null; readonly sort: SortBy<Field> | null };
