import { type ApiDocument, type DocumentedParameter, dereferenced, type Operation } from "./document.ts";
import { around, type Chance, ENCODED, hostileJson, TEXTS } from "./hostile-values.ts";

/** A raw request. Texts have one byte per character (latin1). */
export interface HostileRequest {
  readonly method: string;
  /** Path and query, as sent. */
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array | null;
}

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"];
const HEADERS = [
  ...["X-Request-ID", "Accept", "If-None-Match", "Last-Event-ID", "Authorization", "X-API-Key", "Origin"],
  ...["X-Forwarded-For", "X-Forwarded-Proto", "Range", "Content-Type", "Content-Encoding", "Accept-Encoding"],
  ...["Upgrade", "Connection", "Cookie", "Access-Control-Request-Method", "Sec-WebSocket-Key", "TE", "Via"],
];
const TYPES = [
  ...["application/json", "application/json; charset=utf-16", "APPLICATION/JSON", "application/problem+json"],
  ...["text/plain", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded"],
  ...["", "/", "a".repeat(500)],
];
/** Names that are dangerous to merge into an object. */
const NAMES = "__proto__ __proto__[x] constructor[prototype][x] limit[] limit[0] a.b %00"
  .split(" ")
  .concat("");

/** Generates endless requests from the document. */
export function* hostileRequests(document: ApiDocument, chance: Chance): Generator<HostileRequest> {
  const operations = Object.entries(dereferenced(document).paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  for (;;) {
    const { method, path, operation } = chance.pick(operations);
    const body = method === "POST" || chance.below(10) === 0 ? bodyFor(operation, chance) : null;
    const headers = headersFor(operation, chance);
    if (body !== null && chance.below(5) > 0) headers.push(["Content-Type", "application/json"]);
    else if (body !== null) headers.push(["Content-Type", chance.pick(TYPES)]);
    yield {
      method: chance.below(12) === 0 ? chance.pick(METHODS) : method,
      target: pathFor(path, chance) + queryFor(operation, chance),
      headers,
      body,
    };
  }
}

function pathFor(template: string, chance: Chance): string {
  const path = template.replaceAll(/\{\w+\}/g, () => {
    const kind = chance.below(4);
    if (kind === 0) return "eda";
    return kind === 1 ? chance.pick(ENCODED) : escaped(chance.pick(TEXTS));
  });
  const twisted = [
    `${path}/`,
    `/${path}`,
    path.replace("/api", "/api/../api"),
    path + chance.pick(ENCODED),
    path.toUpperCase(),
    `${path}/${escaped(chance.pick(TEXTS))}`,
  ];
  return twisted[chance.below(40)] ?? path;
}

function queryFor({ parameters = [] }: Operation, chance: Chance): string {
  const known = parameters.filter((parameter) => parameter.in === "query");
  const parts: string[] = [];
  for (let n = chance.below(4); n > 0; n--) {
    if (known.length === 0 || chance.below(8) === 0) {
      parts.push(`${chance.pick(NAMES)}=${escaped(chance.pick(TEXTS))}`);
      continue;
    }
    const { name, schema } = chance.pick<DocumentedParameter>(known);
    const part = `${name}=${valueFor(schema, chance)}`;
    parts.push(part);
    if (chance.below(8) === 0) parts.push(part);
  }
  if (chance.below(100) === 0) parts.push("x=1&".repeat(2_000));
  if (parts.length === 0) return "";
  return `?${parts.join(chance.below(20) === 0 ? chance.pick([";", "&&", "?", "#"]) : "&")}`;
}

function valueFor(schema: DocumentedParameter["schema"], chance: Chance): string {
  const kind = chance.below(4);
  if (kind === 0) return chance.pick(ENCODED);
  return escaped(kind === 1 ? chance.pick(TEXTS) : around(schema, chance));
}

function headersFor({ parameters = [] }: Operation, chance: Chance): [string, string][] {
  const headers: [string, string][] = [];
  const own = parameters.filter((parameter) => parameter.in === "header");
  for (const { name } of own) if (chance.below(2) === 0) headers.push([name, inHeader(chance.pick(TEXTS))]);
  for (let n = chance.below(3); n > 0; n--)
    headers.push([chance.pick(HEADERS), inHeader(chance.pick(TEXTS))]);
  if (chance.below(200) === 0) for (let n = 0; n < 150; n++) headers.push([`X-${n}`, "v"]);
  return headers;
}

function bodyFor({ requestBody }: Operation, chance: Chance): Uint8Array {
  const { schema, example } = requestBody?.content["application/json"] ?? {};
  const fields = Object.keys(schema?.properties ?? { x: {} });
  const encode = (text: string) => new TextEncoder().encode(text);
  switch (chance.below(12)) {
    case 0:
      return encode(hostileJson(chance));
    case 1:
      return encode(JSON.stringify(example ?? {}).slice(0, -1 - chance.below(5)));
    case 2:
      return Uint8Array.from({ length: 1 + chance.below(40) }, () => chance.below(256));
    case 3:
      return encode(`\ufeff${JSON.stringify(example ?? {})}`);
    case 4:
      return encode(JSON.stringify({ filler: "x".repeat(chance.pick([900, 1_100, 60_000, 70_000])) }));
    case 5:
      return new Uint8Array();
    default: {
      // Take the example, but replace, remove, duplicate or add fields.
      const members = fields
        .filter(() => chance.below(4) > 0)
        .map((field) => {
          const given = (example as Record<string, unknown> | undefined)?.[field];
          const value =
            given !== undefined && chance.below(2) === 0 ? JSON.stringify(given) : hostileJson(chance);
          return `${JSON.stringify(field)}:${value}`;
        });
      if (chance.below(4) === 0) members.push(`${JSON.stringify(chance.pick(TEXTS))}:${hostileJson(chance)}`);
      if (chance.below(8) === 0 && members[0] !== undefined) members.push(members[0]);
      return encode(`{${members.join(",")}}`);
    }
  }
}

/** Escapes like browsers do. Lone surrogates become replacement characters. */
function escaped(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

/** Encodes one byte per character, and removes line ends and NUL, which would end the header. */
function inHeader(text: string): string {
  const bytes = new TextEncoder().encode(text.toWellFormed().slice(0, 4_000));
  return new TextDecoder("latin1")
    .decode(bytes)
    .replaceAll(/[\r\n\0]/g, " ")
    .trim();
}
