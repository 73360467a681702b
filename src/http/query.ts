import { type TObject, type TOptional, Type } from "@sinclair/typebox";
import { Value, type ValueError } from "@sinclair/typebox/value";
import { closestNames } from "../config/closest-word.ts";
import { ApiError } from "../domain/errors.ts";
import { problemsOf } from "../domain/schema-problems.ts";
import { ABSENT, type Parameter } from "./parameters.ts";
import { shown } from "./shown.ts";

type Parameters = Readonly<Record<string, Parameter<unknown, unknown>>>;

/** A query, declared once: Elysia validates with its schema, which the OpenAPI document shows too. */
export interface QueryDefinition<P extends Parameters> {
  readonly parameters: P;
  readonly schema: TObject<{ [K in keyof P]: TOptional<P[K]> }>;
  /** Reads a query as sent, without `?`, where no route does. Throws INVALID_QUERY. */
  parse(query: string): QueryValues<P>;
}

type QueryValues<P extends Parameters> = {
  readonly [K in keyof P]: P[K] extends Parameter<infer T, infer Absent> ? T | Absent : never;
};
export type QueryOf<D> = D extends QueryDefinition<infer P> ? QueryValues<P> : never;

export function queryOf<const P extends Parameters>(parameters: P): QueryDefinition<P> {
  const properties = Object.fromEntries(
    Object.entries(parameters).map(([name, parameter]) => [name, Type.Optional(parameter)]),
  );
  const schema: TObject = Type.Object(properties, { additionalProperties: false });
  const absent = Object.fromEntries(
    Object.entries(parameters).map(([name, { [ABSENT]: value }]) => [name, value]),
  );
  return {
    parameters,
    schema: schema as QueryDefinition<P>["schema"],
    parse(query) {
      const sent = sentValues(query, ["api_key"]);
      if (!Value.Check(schema, sent))
        throw invalidQuery(Value.Errors(schema, sent), sent, Object.keys(parameters));
      return { ...absent, ...Value.Decode(schema, sent) } as QueryValues<P>;
    },
  };
}

/** Every value that was sent, by name: a text, or a list where a name was repeated. `_` only defeats caches. */
export function sentValues(query: string, ignored: readonly string[]): Record<string, string | string[]> {
  const values: Record<string, string | string[]> = Object.create(null);
  if (query === "") return values;
  for (const [name, value] of new URLSearchParams(query)) {
    if (name === "_" || ignored.includes(name)) continue;
    const before = values[name];
    values[name] = before === undefined ? value : [before, value].flat();
  }
  return values;
}

/** The error for a query: the parameter, what it got and what it takes. */
export function invalidQuery(
  errors: Iterable<ValueError>,
  sent: unknown,
  known: readonly string[],
): ApiError {
  const [problem] = problemsOf(errors, sent, "object");
  const name = String(problem?.path[0]);
  const { value, takes = "", kind } = problem ?? {};
  if (kind === "unknown") {
    const [closest] = closestNames(name, known);
    const meant = closest === undefined ? "This path takes none." : `The closest one is ${shown(closest)}.`;
    return new ApiError("INVALID_QUERY", `Query parameter ${shown(name)} is not known here. ${meant}`);
  }
  if (Array.isArray(value) && problem?.schema.type !== "array") {
    return new ApiError(
      "INVALID_QUERY",
      `Query parameter "${name}" is given ${value.length} times; it takes ${takes}, once.`,
    );
  }
  return refusal(name, [value].flat().join(","), takes);
}

/** The error for a parameter that was not understood. */
export function refusal(name: string, got: string, takes: string): ApiError {
  return new ApiError("INVALID_QUERY", `Query parameter "${name}" got ${shown(got)}; it takes ${takes}.`);
}
