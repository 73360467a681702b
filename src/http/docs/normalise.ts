import { mapped } from "./documented.ts";

/**
 * Turns the output of @elysiajs/swagger 1.3.1 into valid OpenAPI 3.0.3 that client generators accept: rewrites or drops
 * keywords that 3.0 lacks, and moves named schemas to `components.schemas`. A schema's name is its `title`; names of
 * vocabularies are in `words`.
 */
export function normalise(document: Json, words: Readonly<Record<string, readonly string[]>>): Json {
  const components = new Map<string, Json>();
  const schemaOf = schemasInto(
    components,
    new Map(Object.entries(words).map(([name, list]) => [JSON.stringify(list), name])),
  );
  const paths = Object.entries(objectOf(document.paths)).sort(([a], [b]) => (a < b ? -1 : 1));
  const made = paths.map(([path, item]) => [
    path,
    mapped(objectOf(item), (operation) => operationOf(objectOf(operation), schemaOf)),
  ]);
  const schemas = [...components].sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    ...document,
    paths: Object.fromEntries(made),
    components: { ...objectOf(document.components), schemas: Object.fromEntries(schemas) },
  };
}

export type Json = Readonly<Record<string, unknown>>;

function operationOf(operation: Json, schemaOf: SchemaOf): Json {
  // The plugin's own request body has no example, is always required, and lists wrong content types.
  const { requestBody: _, "x-request-body": body, parameters, responses, operationId, ...rest } = operation;
  return {
    ...rest,
    // Client generators need names without the dashes of the path.
    operationId: String(operationId).replaceAll(/[^A-Za-z0-9]+(.)/g, (_, next: string) => next.toUpperCase()),
    ...(Array.isArray(parameters) && {
      parameters: parameters.map((one: Json) => ({ ...one, schema: schemaOf(one.schema) })),
    }),
    ...(body !== undefined && { requestBody: withContent(objectOf(body), (one) => schemaOf(one, true)) }),
    responses: mapped(objectOf(responses), (response) =>
      withContent(objectOf(response), (one) => schemaOf(one)),
    ),
  };
}

function withContent(holder: Json, schemaOf: (schema: unknown) => Json): Json {
  if (holder.content === undefined) return holder;
  const content = mapped(objectOf(holder.content), (media) => ({
    ...objectOf(media),
    schema: schemaOf(objectOf(media).schema),
  }));
  return { ...holder, content };
}

/** Schema keywords that OpenAPI 3.0 shares. */
const KEPT: ReadonlySet<string> = new Set(
  [
    "type nullable enum required description format minimum maximum minLength maxLength minItems maxItems pattern",
    "example default additionalProperties",
  ].flatMap((line) => line.split(" ")),
);

/** Converts TypeBox's JSON Schema to OpenAPI 3.0. If `closed`, objects reject additional fields. */
type SchemaOf = (schema: unknown, closed?: boolean) => Json;

function schemasInto(components: Map<string, Json>, vocabularies: ReadonlyMap<string, string>): SchemaOf {
  function schemaOf(source: unknown, closed = false): Json {
    const schema = objectOf(source);
    const made: Record<string, unknown> = Object.fromEntries(
      Object.entries(schema).filter(([word]) => KEPT.has(word)),
    );
    if (schema.const !== undefined) made.enum = [schema.const];
    if (Array.isArray(schema.examples)) made.example = schema.examples[0];
    if (schema.patternProperties !== undefined) {
      const [others = {}] = Object.values(objectOf(schema.patternProperties));
      made.additionalProperties = schemaOf(others, closed);
    }
    if (schema.properties !== undefined) {
      made.properties = mapped(objectOf(schema.properties), (one) => schemaOf(one, closed));
      if (closed) made.additionalProperties = false;
    }
    for (const word of ["oneOf", "anyOf", "allOf"]) {
      const choices = schema[word];
      if (Array.isArray(choices)) made[word] = choices.map((one) => schemaOf(one, closed));
    }
    if (schema.items !== undefined) made.items = schemaOf(schema.items, closed);
    const name = schema.title ?? vocabularies.get(JSON.stringify(made.enum));
    // OpenAPI 3.0.3 requires null in a nullable enumeration (OAI proposal "Clarify nullable").
    if (made.nullable === true && Array.isArray(made.enum)) made.enum = [...made.enum, null];
    return typeof name === "string" ? reference(name, made, schema.title === undefined) : made;
  }

  /** OpenAPI 3.0 ignores keywords next to a reference, so wrap it to keep the description. */
  function reference(name: string, made: Json, isVocabulary: boolean): Json {
    const { description, example, default: absent, ...vocabulary } = made;
    const component = isVocabulary ? vocabulary : made;
    const known = components.get(name);
    if (known !== undefined && !Bun.deepEquals(known, component))
      throw new Error(`Two schemas of the API have the name ${name}`);
    components.set(name, component);
    const $ref = { $ref: `#/components/schemas/${name}` };
    const around = { description, example, default: absent };
    const words = isVocabulary ? Object.entries(around).filter(([, value]) => value !== undefined) : [];
    return words.length === 0 ? $ref : { ...Object.fromEntries(words), allOf: [$ref] };
  }

  return schemaOf;
}

function objectOf(value: unknown): Json {
  return typeof value === "object" && value !== null ? (value as Json) : {};
}
