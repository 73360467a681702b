import { Kind, type TObject, type TOptional, Type, TypeRegistry } from "@sinclair/typebox";
import { closestNames } from "../config/closest-word.ts";
import { ApiError } from "../domain/errors.ts";
import { RULE } from "../domain/text-types.ts";
import type { Parameter } from "./parameters.ts";
import { shown } from "./shown.ts";

type Parameters = Readonly<Record<string, Parameter<unknown>>>;

/** A query, declared once: Elysia validates with its schema, which the OpenAPI document shows too. */
export interface QueryDefinition<P extends Parameters = Parameters> {
  readonly parameters: P;
  readonly schema: TObject<{ [K in keyof P]: TOptional<P[K]> }>;
  /** Reads a query as sent, without `?`, where no route does. Throws INVALID_QUERY. */
  parse(query: string): QueryValues<P>;
}

type QueryValues<P extends Parameters> = {
  readonly [K in keyof P]: P[K] extends Parameter<infer T> ? T | null : never;
};
export type QueryOf<D> = D extends QueryDefinition<infer P> ? QueryValues<P> : never;

/** Values that have been read: Elysia decodes a query twice. */
class QueryRead {}
/** What was sent, by name: a text, or texts where a name was repeated. */
export type Sent = Readonly<Record<string, string | readonly string[]>>;

// A kind of its own: of a plain object TypeBox visits every parameter that the route knows, whether it was sent or
// not, four times a request (22 µs for a list), and compiles each (8 MB for all routes).
TypeRegistry.Set<TObject<Record<string, Parameter<unknown>>>>(
  "Query",
  ({ properties }, sent) => sent instanceof QueryRead || wrongIn(properties, sent as Sent) === null,
);

/** The first parameter that is not known, or not understood. */
function wrongIn(parameters: Parameters, sent: Sent): string | null {
  for (const name in sent) {
    if (!Object.hasOwn(parameters, name)) return name;
    if (parameters[name]?.[RULE].read(sent[name] ?? "") === undefined) return name;
  }
  return null;
}

function read(parameters: Parameters, sent: Sent | QueryRead): QueryRead {
  if (sent instanceof QueryRead) return sent;
  const values = Object.entries(sent).map(([name, value]) => [name, parameters[name]?.[RULE].read(value)]);
  return Object.assign(new QueryRead(), Object.fromEntries(values));
}

export function queryOf<const P extends Parameters>(parameters: P): QueryDefinition<P> {
  const known = Object.entries(parameters);
  const object = Type.Object(Object.fromEntries(known.map(([name, one]) => [name, Type.Optional(one)])), {
    additionalProperties: false,
  });
  const schema = Type.Transform({ ...object, [Kind]: "Query" })
    .Decode((sent): object => read(parameters, sent as Sent))
    .Encode((values) => ({ ...values }));
  const absent = Object.fromEntries(known.map(([name, { default: value = null }]) => [name, value]));
  return {
    parameters,
    // To the compiler it is the object that it is made of, whose properties have the types of their values.
    schema: schema as unknown as QueryDefinition<P>["schema"],
    parse(query) {
      const sent = sentValues(query, ["api_key"]);
      if (wrongIn(parameters, sent) !== null) throw invalidQuery(parameters, sent);
      return { ...absent, ...read(parameters, sent) } as QueryValues<P>;
    },
  };
}

/** Every value that was sent. `_` only defeats caches. */
export function sentValues(query: string, ignored: readonly string[]): Sent {
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
export function invalidQuery(parameters: Parameters, sent: Sent): ApiError {
  const name = wrongIn(parameters, sent) ?? "";
  const parameter = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
  if (parameter === undefined) {
    const [closest] = closestNames(name, Object.keys(parameters));
    const meant = closest === undefined ? "This path takes none." : `The closest one is ${shown(closest)}.`;
    return new ApiError("INVALID_QUERY", `Query parameter ${shown(name)} is not known here. ${meant}`);
  }
  const { takes } = parameter[RULE];
  const got = [sent[name] ?? ""].flat();
  const message =
    got.length > 1 && parameter.type !== "array"
      ? `is given ${got.length} times; it takes ${takes}, once.`
      : `got ${shown(got.join(","))}; it takes ${takes}.`;
  return new ApiError("INVALID_QUERY", `Query parameter "${name}" ${message}`);
}
