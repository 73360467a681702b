import type { TSchema } from "@sinclair/typebox";
import { type ValueError, ValueErrorType } from "@sinclair/typebox/errors";
import { takes } from "./text-types.ts";

/** Where a value stands: keys and, in lists, indices. `["servers", 0, "interval"]` */
export type KeyPath = readonly (string | number)[];

/** What is wrong with a value, in words that may be shown where the value may not. */
export interface SchemaProblem {
  readonly kind: "missing" | "unknown" | "wrong";
  readonly path: KeyPath;
  readonly value: unknown;
  /** The schema that it breaks; of an unknown key that of the object. */
  readonly schema: TSchema;
  /** What would be right; of an unknown key the keys that there are. */
  readonly takes: string;
}

/** The problems that TypeBox found in `root`, one a place, in its order. `table` is the word for an object. */
export function problemsOf(
  errors: Iterable<ValueError>,
  root: unknown,
  table: "table" | "object",
): SchemaProblem[] {
  const found = new Map<string, SchemaProblem>();
  for (const error of errors) {
    // A missing value breaks its type too: the first problem of a place is the one.
    if (found.has(error.path)) continue;
    const branch = error.errors
      .map((each) => [...each])
      .find(([first]) => first && (first.path !== error.path || first.schema.type === typeof first.value));
    if (branch === undefined) found.set(error.path, problemOf(error, root, table));
    else for (const each of problemsOf(branch, root, table)) found.set(each.path.join("/"), each);
  }
  return [...found.values()];
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
      return { ...of, kind: "wrong", takes: "a list that is not empty" };
    case ValueErrorType.ArrayUniqueItems:
      return { ...of, kind: "wrong", takes: "a list in which nothing occurs twice" };
    default:
      return { ...of, kind: "wrong", takes: takes(schema, table) };
  }
}

/** A JSON pointer (RFC 6901) as a path: what looks like a number is an index only in a list. */
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

/** `servers[0].labels."a b"`. List positions count from 0, as programs count them. */
export function printPath(path: KeyPath): string {
  return path
    .map((part, index) => {
      if (typeof part === "number") return `[${part}]`;
      return (index === 0 ? "" : ".") + (BARE_KEY.test(part) ? part : JSON.stringify(part));
    })
    .join("");
}
