import type { TSchema } from "@sinclair/typebox";
import { escapeControls } from "../domain/plain-text.ts";
import { type KeyPath, printPath } from "../domain/schema-problems.ts";
import { isTable } from "./check-value.ts";
import { closestWord } from "./closest-word.ts";
import { ConfigFile } from "./schema.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

const OTHERS = ["LICMOND_CONFIG", "LICMOND_URL", "LICMOND_API_KEY"];

interface Scalar {
  readonly path: readonly string[];
  readonly type: string;
}

/** Settings outside of lists, by variable. For example, LICMOND_HTTP_PORT sets `http.port`. */
const ENVIRONMENT_VARIABLES: ReadonlyMap<string, Scalar> = new Map(scalarsOf(ConfigFile, []));

/**
 * Overrides settings with variables such as `LICMOND_HTTP_PORT=9000`. Ignores empty variables. Keeps texts
 * that are not valid numbers or booleans, which the check reports.
 */
export function overrideFromEnvironment(raw: unknown, environment: Environment) {
  const origins = new Map<string, string>();
  const warnings: string[] = [];
  let result = raw;
  for (const [name, text] of Object.entries(environment).sort()) {
    if (!name.startsWith("LICMOND_") || OTHERS.includes(name) || text === undefined || text === "") continue;
    const scalar = ENVIRONMENT_VARIABLES.get(name);
    if (scalar === undefined) {
      const meant = closestWord(name, [...ENVIRONMENT_VARIABLES.keys(), ...OTHERS]);
      warnings.push(
        `ignoring unknown variable ${escapeControls(name)}${meant ? `; did you mean ${meant}?` : ""}`,
      );
      continue;
    }
    origins.set(printPath(scalar.path), name);
    result = withValue(result, scalar.path, read(text, scalar.type));
  }
  return { raw: result, origins, warnings };
}

function withValue(table: unknown, path: KeyPath, value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  // Keep a value in place of a table, so that the check reports it.
  if (table !== undefined && !isTable(table)) return table;
  return { ...table, [key]: withValue(table?.[key], rest, value) };
}

function read(text: string, type: string): unknown {
  if (type === "boolean") return text === "true" ? true : text === "false" ? false : text;
  if (type === "integer" || type === "number") return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
  return text;
}

function scalarsOf(schema: TSchema, path: readonly string[]): [string, Scalar][] {
  return Object.entries<TSchema>(schema.properties ?? {}).flatMap(([key, inner]): [string, Scalar][] => {
    const here = [...path, key];
    if (inner.properties !== undefined) return scalarsOf(inner, here);
    if (!["string", "integer", "number", "boolean"].includes(inner.type)) return [];
    return [[`LICMOND_${here.join("_").toUpperCase()}`, { path: here, type: inner.type }]];
  });
}
