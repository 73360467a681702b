import type { Sort } from "../../http/answers/list.ts";

export type Conditions = ReturnType<typeof createConditions>;

/** The conditions of a query and the values that they name: what a client sent is never part of a statement's text. */
export function createConditions() {
  const values: unknown[] = [];
  const all: string[] = [];
  /** A value's name in the statement. */
  const use = (value: unknown): string => `$${values.push(value)}`;
  return {
    values,
    use,
    add: (condition: string) => void all.push(condition),
    /** One of these texts; null or undefined = any. As arrays: PostgreSQL plans by what is in them. */
    oneOf(expression: string, list: readonly string[] | null | undefined): void {
      if (list != null) all.push(`${expression} = ANY(${use(list)}::text[])`);
    },
    /** One of these servers, by their ids at the hub; null = any. */
    servers(alias: string | null, ids: readonly string[] | null): void {
      if (ids === null) return;
      const of = alias === null ? "" : `${alias}.`;
      const parts = ids.map(partsOf);
      const [sites, servers] = [0, 1].map((at) => [...new Set(parts.map((part) => part[at]))]);
      all.push(`${of}site = ANY(${use(sites)}::text[])`, `${of}server = ANY(${use(servers)}::text[])`);
      // Of several sites not each has each of these servers.
      if (sites?.length !== 1) all.push(`${of}site || ':' || ${of}server = ANY(${use(ids)}::text[])`);
    },
    /** How many there are so far. */
    count: () => all.length,
    where: () => (all.length === 0 ? "true" : all.join(" AND ")),
  };
}

/** Site and server of an id at the hub: no name of a site has a colon. */
export function partsOf(id: string): [site: string, server: string] {
  const colon = id.indexOf(":");
  return [id.slice(0, colon), id.slice(colon + 1)];
}

/** An ORDER BY: nulls last in either direction, ties by identity. `field` is one of those that have an expression. */
export function orderBy<F extends string>(
  { field, descending }: Sort<F>,
  expressions: Readonly<Record<F, string>>,
  ties: readonly string[],
): string {
  const direction = descending ? "DESC NULLS LAST" : "ASC NULLS LAST";
  const first = expressions[field].split(" | ").map((expression) => `${expression} ${direction}`);
  return [...first, ...ties].join(", ");
}
