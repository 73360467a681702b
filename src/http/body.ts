import type { Static, TObject } from "@sinclair/typebox";
import { ApiError } from "../domain/errors.ts";
import { fieldName, findProblem, type Schema } from "./schema-check.ts";

/** A JSON body: one TypeBox schema gives the check, the document and the static type. */
export interface BodyDefinition<T> {
  readonly schema: TObject;
  /** A body that is taken, for the OpenAPI document. */
  readonly example: unknown;
  /** True when the route does without a body. */
  readonly optional: boolean;
  /**
   * Reads, parses and checks. Throws BODY_TOO_LARGE, INVALID_JSON, MISSING_FIELD or INVALID_FIELD; no message
   * holds a value of the body. An absent body is checked as `{}`.
   */
  read(request: Request, maxBytes: number): Promise<T>;
}

export function jsonBody<S extends TObject>(schema: S, example: Static<S>): BodyDefinition<Static<S>> {
  const shape: Schema = schema as TObject;
  const optional = (schema.required ?? []).length === 0;
  return {
    schema,
    example,
    optional,
    async read(request, maxBytes) {
      const value = await readJson(request, maxBytes);
      const problem = findProblem(shape, value);
      if (problem === null) return value as Static<S>;
      const name = fieldName(problem.field);
      if (problem.kind === "missing") {
        throw new ApiError("MISSING_FIELD", `${name} is missing: it takes ${problem.takes}.`);
      }
      if (problem.kind === "unknown") {
        throw new ApiError("INVALID_FIELD", `${name} is not known here: the body takes ${problem.takes}.`);
      }
      throw new ApiError("INVALID_FIELD", `${name} must be ${problem.takes}.`);
    },
  };
}

async function readJson(request: Request, maxBytes: number): Promise<unknown> {
  const bytes = await readBytes(request, maxBytes);
  if (bytes.length === 0) return {};
  const type = request.headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (type !== "application/json" && !/^application\/[\w.-]+\+json$/.test(type)) {
    throw new ApiError("INVALID_JSON", "A body must be JSON and say so: Content-Type: application/json.");
  }
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    // The parser's own words quote the body.
    throw new ApiError("INVALID_JSON", "The body is not valid JSON in UTF-8.");
  }
}

/** The bytes of a body, at most `maxBytes`; empty when there is none. */
async function readBytes(request: Request, maxBytes: number): Promise<Uint8Array> {
  if (request.body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request.body) {
    length += chunk.byteLength;
    if (length > maxBytes) throw tooLarge(maxBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

export function tooLarge(maxBytes: number): ApiError {
  return new ApiError("BODY_TOO_LARGE", `A request body may have ${maxBytes} bytes at most.`, {
    // What is left of the body is not read: the connection cannot be used again.
    headers: { connection: "close" },
  });
}
