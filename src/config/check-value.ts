import type { Static, TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { escapeControls, maskSecrets } from "../domain/plain-text.ts";
import { type KeyPath, problemsOf, type SchemaProblem } from "../domain/schema-problems.ts";
import { closestWord } from "./closest-word.ts";
import type { Finding } from "./problem.ts";

/** A value from which everything that is wrong has been left out. */
export type Partly<T> = T extends Date
  ? T
  : T extends readonly (infer Item)[]
    ? readonly (Item extends object ? Partly<Item> : Item)[]
    : T extends object
      ? { readonly [Key in keyof T]?: Partly<T[Key]> | undefined }
      : T;

/**
 * Checks a value against a schema, finds every problem and returns what is right of it: a table without its wrong
 * keys (list positions stay), undefined when nothing is.
 */
export function checkValue<S extends TSchema>(
  schema: S,
  value: unknown,
  found: Finding[],
): Partly<Static<S>> | undefined {
  const problems = [
    ...problemsOf(Value.Errors(schema, value), value, "table"),
    ...datesAsTables(schema, value),
  ];
  found.push(...problems.map((problem) => ({ path: problem.path, message: messageOf(problem) })));
  const wrong = new Set(problems.map(({ path }) => JSON.stringify(path)));
  return without(value, [], wrong) as Partly<Static<S>> | undefined;
}

function messageOf({ kind, path, value, schema, takes }: SchemaProblem): string {
  if (kind === "missing") return `is missing: it takes ${takes}`;
  if (kind === "unknown") {
    if (schema.patternProperties !== undefined)
      return "is no name: it takes letters, digits and _, no digit first";
    const known = takes.split(", ");
    const key = String(path.at(-1));
    // Other monitors call a server's manager its type.
    const meant = key === "type" && known.includes("manager") ? "manager" : closestWord(key, known);
    return `is no known key${meant === null ? "" : `, did you mean ${meant}?`} (known here: ${takes})`;
  }
  if (isTable(value) && schema.items?.type === "object") return `takes ${takes}: write [[${path.join(".")}]]`;
  const meant =
    typeof value === "string" && schema.enum !== undefined ? closestWord(value, schema.enum) : null;
  const hint = meant === null ? "" : ` (did you mean "${meant}"?)`;
  return `takes ${takes}${hint}${mayShow(schema, value) ? `, not ${show(value)}` : ""}`;
}

/** A wrong value may hold a secret where the key is one, and where a table or list may hold keys of any name. */
function mayShow(schema: TSchema, value: unknown): boolean {
  const parts: readonly TSchema[] = [
    schema,
    ...(schema.items ? [schema.items] : []),
    ...(schema.anyOf ?? []),
  ];
  return parts.every(({ secret }) => secret !== true) && (typeof value !== "object" || value instanceof Date);
}

/** TypeBox takes a date of TOML, which is an object, for a table without keys. */
function datesAsTables(schema: TSchema, value: unknown, path: KeyPath = []): SchemaProblem[] {
  if (schema.type !== "object" && schema.type !== "array") return [];
  if (value instanceof Date) {
    return schema.type === "object" ? [{ kind: "wrong", path, value, schema, takes: "a table" }] : [];
  }
  return Object.entries(value ?? {}).flatMap(([key, inner]) => {
    const of =
      schema.items ?? (Object.hasOwn(schema.properties ?? {}, key) ? schema.properties[key] : undefined);
    return of === undefined
      ? []
      : datesAsTables(of, inner, [...path, Array.isArray(value) ? Number(key) : key]);
  });
}

/** The value without what is wrong. Tables keep their place in a list; a list of anything else is wrong as a whole. */
function without(value: unknown, path: KeyPath, wrong: ReadonlySet<string>): unknown {
  if (wrong.has(JSON.stringify(path))) return undefined;
  if (Array.isArray(value)) {
    const right = value.map((item, index) => without(item, [...path, index], wrong));
    return right.some((item, index) => item === undefined && !isTable(value[index])) ? undefined : right;
  }
  if (!isTable(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => {
      const right = without(inner, [...path, key], wrong);
      return right === undefined ? [] : [[key, right]];
    }),
  );
}

/** A value of the file, for a message: cut, control characters escaped, anything like a key masked. */
export function show(value: unknown): string {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "an invalid date" : value.toISOString();
  if (typeof value !== "string") return String(value);
  const masked = escapeControls(maskSecrets(value));
  return `"${masked.length > 100 ? `${masked.slice(0, 100)}…` : masked}"`;
}

export function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}
