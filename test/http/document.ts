import { findProblem, type Problem, type Schema } from "../../src/http/schema-check.ts";

/** The served OpenAPI document, read without trust in the code that made it. */
export interface ApiDocument {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

export interface Operation {
  readonly summary: string;
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly security: readonly unknown[];
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: Schema }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly responses: Readonly<
    Record<
      string,
      {
        readonly description: string;
        readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
      }
    >
  >;
}

/** What is wrong with an answer according to the document; null when nothing is. */
export function problemOf(
  document: ApiDocument,
  method: string,
  path: string,
  status: number,
  body: unknown,
): Problem | null {
  const schema =
    document.paths[path]?.[method.toLowerCase()]?.responses[status]?.content?.["application/json"]?.schema;
  if (schema === undefined)
    return { kind: "unknown", field: `${method} ${path} ${status}`, takes: "a documented answer" };
  return findProblem(resolve(document, schema), body);
}

/** References followed, and `additionalProperties` in the spelling of the check. */
export function resolve(document: ApiDocument, schema: Schema): Schema {
  const reference = schema.$ref;
  if (typeof reference === "string") {
    const found = document.components.schemas[reference.replace("#/components/schemas/", "")];
    if (found === undefined) throw new Error(`${reference} leads nowhere`);
    return resolve(document, found);
  }
  const { properties, items, additionalProperties } = schema;
  return {
    ...schema,
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, one]) => [name, resolve(document, one)]),
      ),
    }),
    ...(items && { items: resolve(document, items) }),
    ...(typeof additionalProperties === "object" &&
      additionalProperties !== null && {
        patternProperties: { "": resolve(document, additionalProperties as Schema) },
      }),
  };
}
