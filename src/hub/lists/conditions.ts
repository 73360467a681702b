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
    /** One of these texts; null or undefined = any. */
    oneOf(expression: string, list: readonly string[] | null | undefined): void {
      if (list == null) return;
      all.push(
        `${expression} IN (SELECT json_array_elements_text(${use(JSON.stringify(list))}::text::json))`,
      );
    },
    /** One of these servers, by their ids at the hub; null = any. */
    servers(alias: string | null, ids: readonly string[] | null): void {
      if (ids === null) return;
      const of = alias === null ? "" : `${alias}.`;
      const pairs = use(JSON.stringify(ids.map(partsOf)));
      all.push(
        `(${of}site, ${of}server) IN (SELECT p ->> 0, p ->> 1 FROM json_array_elements(${pairs}::text::json) AS p)`,
      );
    },
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
