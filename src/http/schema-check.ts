import { beginsWithDate } from "../domain/zone.ts";
import { shown } from "./shown.ts";

/** The part of JSON Schema that the API's schemas use, as TypeBox writes it and OpenAPI 3.0 reads it. */
export interface Schema {
  readonly [keyword: string]: unknown;
  readonly type?: string | undefined;
  readonly nullable?: boolean | undefined;
  readonly enum?: readonly unknown[] | undefined;
  readonly const?: unknown | undefined;
  readonly properties?: Readonly<Record<string, Schema>> | undefined;
  readonly patternProperties?: Readonly<Record<string, Schema>> | undefined;
  readonly required?: readonly string[] | undefined;
  readonly items?: Schema | undefined;
  readonly minItems?: number | undefined;
  readonly maxItems?: number | undefined;
  readonly minLength?: number | undefined;
  readonly maxLength?: number | undefined;
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
  readonly pattern?: string | undefined;
  readonly format?: string | undefined;
}

/** What is wrong with a value, by the path of the field (`servers[0]`; "" is the value itself). Never the value. */
export interface Problem {
  readonly kind: "missing" | "unknown" | "invalid";
  readonly field: string;
  /** What it takes. */
  readonly takes: string;
}

/**
 * The first problem of a JSON value, or null. Unknown fields are problems: a misspelt `expiresAt` must not make an
 * eternal key. Only own properties count, so `__proto__` and `constructor` are unknown fields like any other.
 */
export function findProblem(schema: Schema, value: unknown, field = ""): Problem | null {
  if (value === null && schema.nullable === true) return null;
  if (!fits(schema, value)) return { kind: "invalid", field, takes: takes(schema) };
  if (Array.isArray(value))
    return schema.items === undefined ? null : firstOfItems(schema.items, value, field);
  if (typeof value === "object" && value !== null) return firstOfFields(schema, value, field);
  return null;
}

/** What a schema takes, in words. */
export function takes(schema: Schema): string {
  const or = schema.nullable === true ? " or null" : "";
  if (schema.enum !== undefined) return `one of ${schema.enum.join(", ")}${or}`;
  if (schema.const !== undefined) return JSON.stringify(schema.const) + or;
  switch (schema.type) {
    case "integer":
      return `an integer${range(schema)}${or}`;
    case "number":
      return `a number${range(schema)}${or}`;
    case "boolean":
      return `true or false${or}`;
    case "array":
      return `a list${schema.minItems ? ` of at least ${schema.minItems}` : ""}${or}`;
    case "string":
      return `${text(schema)}${or}`;
    default:
      return `an object${or}`;
  }
}

function firstOfItems(items: Schema, value: readonly unknown[], field: string): Problem | null {
  for (const [index, item] of value.entries()) {
    const problem = findProblem(items, item, `${field}[${index}]`);
    if (problem !== null) return problem;
  }
  return null;
}

function firstOfFields(schema: Schema, value: object, field: string): Problem | null {
  const inside = (name: string) => (field === "" ? name : `${field}.${name}`);
  const known = schema.properties ?? {};
  for (const name of schema.required ?? []) {
    if (Object.hasOwn(value, name)) continue;
    return { kind: "missing", field: inside(name), takes: takes(known[name] ?? {}) };
  }
  const others = Object.values(schema.patternProperties ?? {})[0];
  for (const [name, content] of Object.entries(value)) {
    const its = Object.hasOwn(known, name) ? known[name] : others;
    if (its === undefined) {
      return { kind: "unknown", field: inside(name), takes: Object.keys(known).join(", ") || "no fields" };
    }
    const problem = findProblem(its, content, inside(name));
    if (problem !== null) return problem;
  }
  return null;
}

function fits(schema: Schema, value: unknown): boolean {
  if (schema.enum !== undefined && !schema.enum.includes(value)) return false;
  if (schema.const !== undefined && schema.const !== value) return false;
  switch (schema.type) {
    case "string":
      return typeof value === "string" && fitsText(schema, value);
    case "integer":
      return Number.isSafeInteger(value) && fitsRange(schema, value as number);
    case "number":
      return Number.isFinite(value) && fitsRange(schema, value as number);
    case "boolean":
      return typeof value === "boolean";
    case "array":
      return (
        Array.isArray(value) &&
        value.length >= (schema.minItems ?? 0) &&
        value.length <= (schema.maxItems ?? Infinity)
      );
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    default:
      return true;
  }
}

function fitsRange({ minimum = -Infinity, maximum = Infinity }: Schema, value: number): boolean {
  return value >= minimum && value <= maximum;
}

function fitsText(schema: Schema, value: string): boolean {
  const { minLength = 0, maxLength = Infinity, pattern, format } = schema;
  if (value.length < minLength || value.length > maxLength) return false;
  // JSON can escape half a surrogate pair, which UTF-8 (the store, logs, CSV) cannot hold.
  if (!value.isWellFormed()) return false;
  if (pattern !== undefined && !new RegExp(pattern, "u").test(value)) return false;
  if (format === "date-time") return isDateTime(value);
  if (format === "date") return /^\d{4}-\d\d-\d\d$/.test(value) && beginsWithDate(value);
  return true;
}

function isDateTime(value: string): boolean {
  return (
    /^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/.test(value) &&
    beginsWithDate(value) &&
    !Number.isNaN(Date.parse(value))
  );
}

function range({ minimum, maximum }: Schema): string {
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`;
  if (minimum !== undefined) return ` of at least ${minimum}`;
  return maximum === undefined ? "" : ` of at most ${maximum}`;
}

function text({ format, minLength, maxLength, pattern }: Schema): string {
  if (format === "date-time")
    return "a time in ISO 8601 with zone on a day that exists, e.g. 2026-12-31T00:00:00Z";
  if (format === "date") return "a date as YYYY-MM-DD";
  const length = maxLength === undefined ? "" : ` of ${minLength ?? 0} to ${maxLength} characters`;
  return `a text in valid Unicode${length}${pattern === undefined ? "" : ` that matches ${pattern}`}`;
}

/** A field's name as it may stand in a message: it came from the client. */
export function fieldName(field: string): string {
  return field === "" ? "The body" : `Field ${shown(field)}`;
}
