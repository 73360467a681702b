import type { Static, TSchema } from "@sinclair/typebox";
import { escapeControls, maskSecrets } from "../domain/plain-text.ts";
import { closestWord } from "./closest-word.ts";
import { type Bounds, FORMS, type Form } from "./forms.ts";
import type { Finding, KeyPath } from "./problem.ts";
import { parseStart } from "./start-time.ts";

/** A value from which everything that is wrong has been left out. */
export type Partly<T> = T extends Date
  ? T
  : T extends readonly (infer Item)[]
    ? readonly (Item extends object ? Partly<Item> : Item)[]
    : T extends object
      ? { readonly [Key in keyof T]?: Partly<T[Key]> | undefined }
      : T;

/** What of JSON schema the config's schema uses, and the words of our own. */
interface Rule extends Bounds {
  readonly type?: string;
  readonly anyOf?: readonly Rule[];
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, Rule>>;
  readonly patternProperties?: Readonly<Record<string, Rule>>;
  readonly required?: readonly string[];
  readonly items?: Rule;
  readonly minItems?: number;
  readonly uniqueItems?: boolean;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly form?: Form;
  /** What the key takes, for messages. */
  readonly takes?: string;
  readonly secret?: boolean;
}

/**
 * Walks a value along a schema, tells every problem and returns what is right of it: a table without its wrong keys
 * (list positions stay), undefined when nothing is.
 */
export function checkValue<S extends TSchema>(
  schema: S,
  value: unknown,
  found: Finding[],
): Partly<Static<S>> | undefined;
export function checkValue(schema: Rule, value: unknown, found: Finding[]): unknown {
  return check(schema, value, [], found);
}

function check(rule: Rule, value: unknown, path: KeyPath, found: Finding[]): unknown {
  if (rule.anyOf !== undefined) {
    const branch = rule.anyOf.find((each) => typeOf(value) === each.type);
    if (branch !== undefined) return check(branch, value, path, found);
    return wrong(rule, value, path, found, rule.anyOf.map((each) => nameOf(each.type)).join(" or "));
  }
  if (rule.properties !== undefined) return checkTable(rule, rule.properties, value, path, found);
  if (rule.patternProperties !== undefined)
    return checkRecord(rule, rule.patternProperties, value, path, found);
  if (rule.items !== undefined) return checkList(rule, rule.items, value, path, found);
  const takes = problemOf(rule, value);
  return takes === null ? value : wrong(rule, value, path, found, rule.takes ?? takes);
}

function checkTable(
  rule: Rule,
  properties: Readonly<Record<string, Rule>>,
  value: unknown,
  path: KeyPath,
  found: Finding[],
): unknown {
  if (!isTable(value)) return wrong(rule, value, path, found, nameOf("object"));
  const known = Object.keys(properties);
  const right: [string, unknown][] = [];
  for (const [key, inner] of Object.entries(value)) {
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined;
    if (property === undefined) found.push({ path: [...path, key], message: unknownKey(key, known) });
    else right.push([key, check(property, inner, [...path, key], found)]);
  }
  for (const key of rule.required ?? []) {
    const property = properties[key];
    if (!Object.hasOwn(value, key) && property !== undefined)
      found.push({ path: [...path, key], message: `is missing: it takes ${takesOf(property)}` });
  }
  return Object.fromEntries(right);
}

function checkRecord(
  rule: Rule,
  patterns: Readonly<Record<string, Rule>>,
  value: unknown,
  path: KeyPath,
  found: Finding[],
): unknown {
  if (!isTable(value)) return wrong(rule, value, path, found, nameOf("object"));
  const right: [string, unknown][] = [];
  for (const [key, inner] of Object.entries(value)) {
    const property = Object.entries(patterns).find(([pattern]) => new RegExp(pattern).test(key))?.[1];
    if (property === undefined)
      found.push({
        path: [...path, key],
        message: "is no name: it takes letters, digits and _, no digit first",
      });
    else right.push([key, check(property, inner, [...path, key], found)]);
  }
  return Object.fromEntries(right);
}

function checkList(rule: Rule, items: Rule, value: unknown, path: KeyPath, found: Finding[]): unknown {
  if (!Array.isArray(value)) {
    const hint = items.type === "object" && isTable(value) ? `: write [[${path.join(".")}]]` : "";
    return wrong(rule, value, path, found, `a list of ${pluralOf(items.type)}${hint}`);
  }
  if (value.length < (rule.minItems ?? 0)) return wrong(rule, value, path, found, "a list that is not empty");
  const before = found.length;
  const right = value.map((inner: unknown, index) => check(items, inner, [...path, index], found));
  if (rule.uniqueItems === true && new Set(value).size < value.length)
    return wrong(rule, value, path, found, "a list in which nothing occurs twice");
  return items.properties === undefined && found.length > before ? undefined : right;
}

/** What a single value should be; null when it is that. */
function problemOf(rule: Rule, value: unknown): string | null {
  if (rule.type === "time") return isTime(value) ? null : takesOf(rule);
  if (rule.enum !== undefined) {
    if (typeof value === "string" && rule.enum.includes(value)) return null;
    const meant = typeof value === "string" ? closestWord(value, rule.enum) : null;
    return takesOf(rule) + (meant === null ? "" : ` (did you mean "${meant}"?)`);
  }
  switch (rule.type) {
    case "string": {
      if (typeof value !== "string") return takesOf(rule);
      if (rule.form !== undefined) return FORMS[rule.form](value, rule);
      const fits =
        (rule.pattern === undefined || new RegExp(rule.pattern).test(value)) &&
        value.length <= (rule.maxLength ?? Number.POSITIVE_INFINITY);
      return fits ? null : takesOf(rule);
    }
    case "boolean":
      return typeof value === "boolean" ? null : takesOf(rule);
    default: {
      const whole = rule.type === "integer";
      const fits =
        typeof value === "number" &&
        (whole ? Number.isSafeInteger(value) : Number.isFinite(value)) &&
        value >= (rule.minimum ?? Number.NEGATIVE_INFINITY) &&
        value <= (rule.maximum ?? Number.POSITIVE_INFINITY);
      return fits ? null : takesOf(rule);
    }
  }
}

/** What a key takes, in words. */
function takesOf(rule: Rule): string {
  if (rule.takes !== undefined) return rule.takes;
  if (rule.type === "time") return 'a date with a time, e.g. 2026-01-31T22:00:00 or "2026-01-31T22:00:00Z"';
  if (rule.enum !== undefined) return `one of ${rule.enum.join(", ")}`;
  // An empty text is none of these, so the form says what it takes.
  if (rule.form !== undefined) return FORMS[rule.form]("", rule) ?? nameOf("string");
  if (rule.maxLength !== undefined) return `a text of at most ${rule.maxLength} characters`;
  if (rule.minimum !== undefined && rule.maximum !== undefined) {
    const upTo = rule.maximum === Number.MAX_SAFE_INTEGER ? " or more" : ` to ${rule.maximum}`;
    return `${nameOf(rule.type)} from ${rule.minimum}${upTo}`.replace(
      / from (\d+) or more/,
      " of $1 or more",
    );
  }
  if (rule.items !== undefined) return `a list of ${pluralOf(rule.items.type)}`;
  return nameOf(rule.type);
}

function wrong(rule: Rule, value: unknown, path: KeyPath, found: Finding[], takes: string): undefined {
  found.push({ path, message: `takes ${takes}${mayShow(rule, value) ? `, not ${show(value)}` : ""}` });
  return undefined;
}

/** A wrong value may hold a secret where the key is one, and where a table or list may hold keys of any name. */
function mayShow(rule: Rule, value: unknown): boolean {
  const secret =
    rule.secret === true || rule.items?.secret === true || rule.anyOf?.some((each) => each.secret);
  return !secret && (typeof value !== "object" || value instanceof Date);
}

/** A value of the file, for a message: cut, control characters escaped, anything like a key masked. */
export function show(value: unknown): string {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "an invalid date" : value.toISOString();
  if (typeof value !== "string") return String(value);
  const masked = escapeControls(maskSecrets(value));
  return `"${masked.length > 100 ? `${masked.slice(0, 100)}…` : masked}"`;
}

function unknownKey(key: string, known: readonly string[]): string {
  const meant = closestWord(key, known);
  return `is no known key${meant === null ? "" : `, did you mean ${meant}?`} (known here: ${known.join(", ")})`;
}

export function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

function isTime(value: unknown): boolean {
  return (value instanceof Date || typeof value === "string") && parseStart(value) !== null;
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return "array";
  return isTable(value) ? "object" : typeof value;
}

function nameOf(type: string | undefined): string {
  const names: Readonly<Record<string, string>> = {
    string: "a text",
    integer: "a whole number",
    number: "a number",
    boolean: "true or false",
    array: "a list",
    object: "a table",
  };
  return names[type ?? ""] ?? "another value";
}

function pluralOf(type: string | undefined): string {
  const names: Readonly<Record<string, string>> = {
    string: "texts",
    integer: "whole numbers",
    number: "numbers",
    object: "tables",
  };
  return names[type ?? ""] ?? "values";
}
