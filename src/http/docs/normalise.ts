/**
 * What @elysiajs/swagger 1.3.1 makes of TypeBox schemas, turned into valid OpenAPI 3.0.3: JSON Schema words that
 * 3.0 has not are rewritten, and schemas that are components are referred to instead of repeated.
 * Pure: takes and gives plain JSON.
 */
export function normalise(document: Json, components: Readonly<Record<string, unknown>>): Json {
  const schemas = Object.fromEntries(
    Object.entries(components).map(([name, schema]) => [name, schemaOf(plain(schema))]),
  );
  const names = new Map(Object.entries(schemas).map(([name, schema]) => [JSON.stringify(schema), name]));
  const paths = entriesOf(plain(document.paths)).map(([path, item]) => [path, pathItem(item)] as const);
  const referring = (value: unknown): unknown => refer(value, names);
  const inside = Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, referInside(schema, names)]),
  );
  return {
    ...(plain(document) as Json),
    paths: referring(Object.fromEntries(paths.sort(([a], [b]) => (a < b ? -1 : 1)))),
    components: { ...objectOf(plain(document.components)), schemas: inside },
  };
}

export type Json = Readonly<Record<string, unknown>>;

function pathItem(item: unknown): Json {
  return Object.fromEntries(
    entriesOf(item).map(([method, operation]) => [method, operationOf(objectOf(operation))]),
  );
}

function operationOf(operation: Json): Json {
  const {
    parameters,
    requestBody: _,
    "x-request-body": requestBody,
    responses,
    operationId,
    ...rest
  } = operation;
  return {
    ...rest,
    // Made of the path, dashes and all: generators of clients want names.
    operationId: String(operationId).replaceAll(/[^A-Za-z0-9]+(.)/g, (_, next: string) => next.toUpperCase()),
    ...(Array.isArray(parameters) && {
      parameters: parameters.map((one) => {
        const parameter = objectOf(one);
        return { ...parameter, schema: schemaOf(parameter.schema) };
      }),
    }),
    ...(requestBody !== undefined && { requestBody: withContent(objectOf(requestBody)) }),
    responses: Object.fromEntries(
      entriesOf(responses).map(([status, response]) => [status, withContent(objectOf(response))]),
    ),
  };
}

/** A response or request body with the schemas of its content types. */
function withContent(holder: Json): Json {
  if (holder.content === undefined) return holder;
  const content = entriesOf(holder.content).map(([type, media]) => {
    const { schema, ...rest } = objectOf(media);
    return [type, { ...rest, schema: schemaOf(schema) }] as const;
  });
  return { ...holder, content: Object.fromEntries(content) };
}

/** JSON Schema as TypeBox writes it → the dialect of OpenAPI 3.0. */
function schemaOf(schema: unknown): Json {
  const {
    $id: _,
    const: constant,
    examples,
    patternProperties,
    properties,
    items,
    ...rest
  } = objectOf(schema);
  const result: Record<string, unknown> = { ...rest };
  if (constant !== undefined) result.enum = [constant];
  if (Array.isArray(examples)) result.example = examples[0];
  if (patternProperties !== undefined) {
    result.additionalProperties = schemaOf(entriesOf(patternProperties)[0]?.[1] ?? {});
  }
  if (properties !== undefined) {
    result.properties = Object.fromEntries(entriesOf(properties).map(([name, one]) => [name, schemaOf(one)]));
  }
  for (const word of ["oneOf", "anyOf", "allOf"] as const) {
    const choices = result[word];
    if (Array.isArray(choices)) result[word] = choices.map(schemaOf);
  }
  if (items !== undefined) result.items = schemaOf(items);
  // 3.0.3 wants null in the list of a nullable enumeration (OAI proposal "Clarify nullable").
  if (result.nullable === true && Array.isArray(result.enum)) result.enum = [...result.enum, null];
  return result;
}

function refer(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((one) => refer(one, names));
  if (typeof value !== "object" || value === null) return value;
  const name = names.get(JSON.stringify(value));
  if (name !== undefined) return { $ref: `#/components/schemas/${name}` };
  return referInside(value, names);
}

function referInside(value: object, names: ReadonlyMap<string, string>): Json {
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, refer(one, names)]));
}

/** Without what JSON has not: symbols and undefined. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

function objectOf(value: unknown): Json {
  return typeof value === "object" && value !== null ? (value as Json) : {};
}

function entriesOf(value: unknown): [string, unknown][] {
  return Object.entries(objectOf(value));
}
