import { Kind, type SchemaOptions, Type, TypeRegistry } from "@sinclair/typebox";

/**
 * TypeBox kinds for types that JSON Schema cannot express. Their own keywords are symbols, which JSON omits.
 */

export interface TextRule<T = string> {
  /** The expected form, as messages name it. */
  readonly takes: string;
  /** Returns undefined if the text is malformed. */
  read(text: string): T | undefined;
}

export const RULE = Symbol("rule");

TypeRegistry.Set<{ [RULE]: TextRule<unknown> }>(
  "Text",
  (schema, value) => typeof value === "string" && schema[RULE].read(value) !== undefined,
);

export function textRule(takes: string, fits: RegExp | ((text: string) => boolean)): TextRule {
  const test = fits instanceof RegExp ? (text: string) => fits.test(text) : fits;
  return { takes, read: (text) => (test(text) ? text : undefined) };
}

export function text(rule: TextRule<unknown>, options: SchemaOptions = {}) {
  return Type.Unsafe<string>({ [Kind]: "Text", type: "string", ...options, [RULE]: rule });
}

/** Rejects half a surrogate pair, which JSON can escape but UTF-8 (the store, logs, CSV) cannot hold. */
export function unicode(minLength: number, maxLength: number | null, description?: string) {
  const length = maxLength === null ? "" : ` of ${minLength} to ${maxLength} characters`;
  const rule = textRule(
    `a string in valid Unicode${length}`,
    (value) =>
      value.isWellFormed() && value.length >= minLength && value.length <= (maxLength ?? value.length),
  );
  return text(rule, {
    ...(minLength > 0 && { minLength }),
    ...(maxLength !== null && { maxLength }),
    ...(description !== undefined && { description }),
  });
}

/** The keywords of a TypeBox schema that are read here; TypeBox's own type does not declare them. */
export interface Schema {
  readonly [keyword: string]: unknown;
  readonly [RULE]?: Pick<TextRule<unknown>, "takes">;
  readonly type?: string | undefined;
  readonly nullable?: boolean | undefined;
  readonly enum?: readonly unknown[] | undefined;
  readonly anyOf?: readonly Schema[] | undefined;
  readonly properties?: Readonly<Record<string, Schema>> | undefined;
  readonly items?: Schema | undefined;
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
}

/** Describes the values that a schema accepts; `table` is the word for an object. */
export function takes(schema: Schema, table: "table" | "object"): string {
  return wordsFor(schema, table) + (schema.nullable === true ? " or null" : "");
}

function wordsFor(schema: Schema, table: "table" | "object"): string {
  const { [RULE]: rule, type, minimum, maximum, items, anyOf } = schema;
  if (rule !== undefined) return rule.takes;
  if (schema.enum !== undefined) return `one of ${schema.enum.join(", ")}`;
  if (anyOf !== undefined) return anyOf.map((each) => (each.items ? "a list" : "a string")).join(" or ");
  const name = nameOf(type, table);
  if (type === "array") return `a list of ${nameOf(items?.type, table)}s`;
  if (type === "boolean") return "true or false";
  if (minimum === undefined || type === "string") return `${name === "object" ? "an" : "a"} ${name}`;
  const open = maximum === undefined || maximum === Number.MAX_SAFE_INTEGER;
  return `a ${name} ${open ? `of ${minimum} or more` : `from ${minimum} to ${maximum}`}`;
}

function nameOf(type: string | undefined, table: "table" | "object"): string {
  if (type === "object") return table;
  return type === "integer" ? "whole number" : type === "number" ? "number" : "string";
}
