import type { TSchema } from "@sinclair/typebox";
import { type ValueError, ValueErrorType } from "@sinclair/typebox/errors";
import { takes } from "./text-types.ts";

/** Keys, and indices in lists: `["servers", 0, "interval"]`. */
export type KeyPath = readonly (string | number)[];

export interface SchemaProblem {
  readonly kind: "missing" | "unknown" | "wrong";
  readonly path: KeyPath;
  readonly value: unknown;
  /** The violated schema. For an unknown key, the schema of the object that has the key. */
  readonly schema: TSchema;
  /** The expected form. For an unknown key, the known keys. */
  readonly takes: string;
}

/**
 * Yields the problems that TypeBox found in `root`, one per place. `table` is the word for an object. Lazy: a
 * body of a few bytes can unpack to millions of wrong values, and an answer names only the first.
 */
export function* problemsOf(
  errors: Iterable<ValueError>,
  root: unknown,
  table: "table" | "object",
): Generator<SchemaProblem> {
  const found = new Set<string>();
  for (const error of errors) {
    // A missing value also has a wrong type; report only the first problem of a place.
    if (found.has(error.path)) continue;
    found.add(error.path);
    const branch = branchOf(error);
    if (branch === null) yield problemOf(error, root, table);
    else yield* problemsOf(branch, root, table);
  }
}

/** Returns the errors of the union branch that the value was meant for, or null. */
function branchOf(error: ValueError): Iterable<ValueError> | null {
  for (const errors of error.errors) {
    const first = errors.First();
    if (first && (first.path !== error.path || first.schema.type === typeof first.value))
      return withFirst(first, errors);
  }
  return null;
}

function* withFirst(first: ValueError, rest: Iterable<ValueError>): Generator<ValueError> {
  yield first;
  yield* rest;
}

function problemOf(
  { type, path, value, schema }: ValueError,
  root: unknown,
  table: "table" | "object",
): SchemaProblem {
  const of = { path: keyPath(path, root), value, schema };
  switch (type) {
    case ValueErrorType.ObjectRequiredProperty:
      return { ...of, kind: "missing", takes: takes(schema, table) };
    case ValueErrorType.ObjectAdditionalProperties:
      return { ...of, kind: "unknown", takes: Object.keys(schema.properties ?? {}).join(", ") };
    case ValueErrorType.ArrayMinItems:
      return { ...of, kind: "wrong", takes: "a non-empty list" };
    case ValueErrorType.ArrayMaxItems:
      return { ...of, kind: "wrong", takes: `a list of ${schema.maxItems} at most` };
    case ValueErrorType.ArrayUniqueItems:
      return { ...of, kind: "wrong", takes: "a list without duplicates" };
    default:
      return { ...of, kind: "wrong", takes: takes(schema, table) };
  }
}

/** Splits a JSON pointer (RFC 6901) into a path. */
function keyPath(pointer: string, root: unknown): KeyPath {
  let at: unknown = root;
  return pointer
    .split("/")
    .slice(1)
    .map((part) => {
      const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
      const isIndex = Array.isArray(at);
      at = typeof at === "object" && at !== null ? (at as Record<string, unknown>)[key] : undefined;
      return isIndex ? Number(key) : key;
    });
}

const BARE_KEY = /^[A-Za-z0-9_-]+$/;

/** Formats a path: `servers[0].labels."a b"`. List positions count from 0. */
export function printPath(path: KeyPath): string {
  return path
    .map((part, index) => {
      if (typeof part === "number") return `[${part}]`;
      return (index === 0 ? "" : ".") + (BARE_KEY.test(part) ? part : JSON.stringify(part));
    })
    .join("");
}
