import { ApiError } from "../domain/errors.ts";
import { shown } from "./shown.ts";

/**
 * Query parameters, declared once: the definition parses, refuses, describes itself to the OpenAPI document and
 * gives the static type. Every route reads its query by these rules; unknown parameters are ignored.
 */
export interface Parameter<T> {
  readonly description: string;
  /** OpenAPI schema of one value, or of the list. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** A value that is taken, for the OpenAPI document; a list's is a list. */
  readonly example: unknown;
  /** False: `a=1&a=2` is refused. */
  readonly repeatable: boolean;
  /** Value when the parameter is absent. */
  readonly absent: T;
  /** What it takes, for the message. */
  readonly takes: string;
  /** The value, or {@link REFUSED}. `values` has at least one element; `now` is epoch ms. */
  read(values: readonly string[], now: number): T | typeof REFUSED;
}

export const REFUSED = Symbol("refused");

type Parameters = Readonly<Record<string, Parameter<unknown>>>;
type Values<P extends Parameters> = { readonly [K in keyof P]: P[K] extends Parameter<infer T> ? T : never };

export interface QueryDefinition<T> {
  readonly parameters: Parameters;
  /** Takes the query as sent, without `?`; times like `-7d` count from `now` (epoch ms). Throws INVALID_QUERY. */
  parse(query: string, now?: number): T;
}

export type QueryOf<D> = D extends QueryDefinition<infer T> ? T : never;

export function queryOf<const P extends Parameters>(parameters: P): QueryDefinition<Values<P>> {
  const names = Object.keys(parameters);
  return {
    parameters,
    parse(query, now = Date.now()) {
      const sent = new URLSearchParams(query);
      const values: Record<string, unknown> = {};
      for (const name of names) {
        const parameter = parameters[name];
        if (parameter !== undefined) values[name] = readOne(name, parameter, sent.getAll(name), now);
      }
      return values as Values<P>;
    },
  };
}

function readOne(name: string, parameter: Parameter<unknown>, sent: readonly string[], now: number): unknown {
  if (sent.length === 0) return parameter.absent;
  if (sent.length > 1 && !parameter.repeatable) {
    throw new ApiError(
      "INVALID_QUERY",
      `Query parameter "${name}" is given ${sent.length} times; it takes ${parameter.takes}, once.`,
    );
  }
  const value = parameter.read(sent, now);
  if (value === REFUSED) throw refusal(name, sent.join(","), parameter.takes);
  return value;
}

/** The error for a parameter that was not understood. */
export function refusal(name: string, got: string, takes: string): ApiError {
  return new ApiError("INVALID_QUERY", `Query parameter "${name}" got ${shown(got)}; it takes ${takes}.`);
}
