import type { Static, TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { escapeControls, maskSecrets } from "../domain/plain-text.ts";
import { type KeyPath, problemsOf, type SchemaProblem } from "../domain/schema-problems.ts";
import { closestWord } from "./closest-word.ts";
import type { Finding } from "./problem.ts";

/** A value without its invalid parts. */
export type Partly<T> = T extends Date
  ? T
  : T extends readonly (infer Item)[]
    ? readonly (Item extends object ? Partly<Item> : Item)[]
    : T extends object
      ? { readonly [Key in keyof T]?: Partly<T[Key]> | undefined }
      : T;

/**
 * Checks a value against a schema. Adds all problems to `found` and returns the valid part: tables lose
 * their invalid keys, and list positions stay. Returns undefined if nothing is valid.
 */
export function checkValue<S extends TSchema>(
  schema: S,
  value: unknown,
  found: Finding[],
): Partly<Static<S>> | undefined {
  const problems = [...problemsOf(Value.Errors(schema, value), value, "table")];
  // To TypeBox, a TOML date is a table without keys.
  for (const part of partsOf(schema, value))
    if (part.value instanceof Date && part.schema.type === "object")
      problems.push({ kind: "wrong", ...part, takes: "a table" });
  found.push(...problems.map((problem) => ({ path: problem.path, message: messageOf(problem) })));
  const wrong = new Set(problems.map(({ path }) => JSON.stringify(path)));
  return without(value, [], wrong) as Partly<Static<S>> | undefined;
}

function messageOf({ kind, path, value, schema, takes }: SchemaProblem): string {
  if (kind === "missing") return `is required: ${takes}`;
  if (kind === "unknown") {
    if (schema.patternProperties !== undefined)
      return "is an invalid name: must be letters, digits and _, not starting with a digit";
    const known = takes.split(", ");
    const key = String(path.at(-1));
    // In other monitors, the key for a server's manager is `type`.
    const meant = key === "type" && known.includes("manager") ? "manager" : closestWord(key, known);
    return `unknown key "${key}"${meant === null ? "" : `; did you mean "${meant}"?`} (known keys: ${takes})`;
  }
  if (isTable(value) && schema.items?.type === "object")
    return `must be ${takes}: write [[${path.join(".")}]]`;
  const meant =
    typeof value === "string" && schema.enum !== undefined ? closestWord(value, schema.enum) : null;
  const hint = meant === null ? "" : ` (did you mean "${meant}"?)`;
  return `must be ${takes}${hint}${mayShow(schema, value) ? `, not ${show(value)}` : ""}`;
}

/**
 * Reports whether a message may quote a value. Keys may be secrets, and tables and lists may hold any keys.
 */
function mayShow(schema: TSchema, value: unknown): boolean {
  const parts: readonly TSchema[] = [
    schema,
    ...(schema.items ? [schema.items] : []),
    ...(schema.anyOf ?? []),
  ];
  return parts.every(({ secret }) => secret !== true) && (typeof value !== "object" || value instanceof Date);
}

/** Yields a value and its parts, each with its schema and path. */
export function* partsOf(schema: TSchema, value: unknown, path: KeyPath = []): Generator<Part> {
  yield { schema, value, path };
  if (value instanceof Date || typeof value !== "object") return;
  for (const [key, inner] of Object.entries(value ?? {})) {
    const of =
      schema.items ?? (Object.hasOwn(schema.properties ?? {}, key) ? schema.properties[key] : undefined);
    if (of !== undefined) yield* partsOf(of, inner, [...path, Array.isArray(value) ? Number(key) : key]);
  }
}

type Part = Pick<SchemaProblem, "schema" | "value" | "path">;

/**
 * Removes the invalid parts of a value. Invalid tables in a list leave a gap, so that positions stay. A
 * list of other values is invalid as a whole.
 */
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

/** Formats a value for a message: shortened, control characters escaped, keys masked. */
export function show(value: unknown): string {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "an invalid date" : value.toISOString();
  if (typeof value !== "string") return String(value);
  const masked = escapeControls(maskSecrets(value));
  return `"${masked.length > 100 ? `${masked.slice(0, 100)}…` : masked}"`;
}

export function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}
