import { type TProperties, Type } from "@sinclair/typebox";
import type { ValueError } from "@sinclair/typebox/value";
import { closestNames } from "../config/closest-word.ts";
import { ApiError } from "../domain/errors.ts";
import { printPath, problemsOf } from "../domain/schema-problems.ts";
import { shown } from "./query.ts";

/** Declares a body that rejects unknown fields: a misspelt `expiresAt` must not create an eternal key. */
export function fields<T extends TProperties>(properties: T, options: { description?: string } = {}) {
  return Type.Object(properties, { ...options, additionalProperties: false });
}

/** Parses a body while counting its bytes; an absent body is `{}`. Throws BODY_TOO_LARGE or INVALID_JSON. */
export async function readJson(request: Request, maxBytes: number): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request.body ?? []) {
    length += chunk.byteLength;
    if (length > maxBytes) throw tooLarge(maxBytes);
    chunks.push(chunk);
  }
  if (length === 0) return {};
  const type = request.headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (type !== "application/json" && !/^application\/[\w.-]+\+json$/.test(type)) {
    throw new ApiError("INVALID_JSON", "The body must be JSON with Content-Type: application/json.");
  }
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks)));
  } catch {
    // The parser's message quotes the body.
    throw new ApiError("INVALID_JSON", "The body is not valid JSON in UTF-8.");
  }
}

export function tooLarge(maxBytes: number): ApiError {
  return new ApiError("BODY_TOO_LARGE", `A request body may have ${maxBytes} bytes at most.`, {
    // The rest of the body stays unread, so the connection cannot be reused.
    headers: { connection: "close" },
  });
}

/** Describes a body that does not fit its schema, without quoting values. */
export function invalidBody(errors: Iterable<ValueError>, body: unknown): ApiError {
  const { value: problem } = problemsOf(errors, body, "object").next();
  const { kind, path = [], takes = "" } = problem ?? {};
  const name = path.length === 0 ? "The body" : `Field ${shown(printPath(path))}`;
  if (kind === "missing") return new ApiError("MISSING_FIELD", `${name} is missing: it must be ${takes}.`);
  if (kind === "unknown") {
    const [closest] = closestNames(String(path.at(-1)), takes.split(", ").filter(Boolean));
    const meant = closest === undefined ? "" : ` The closest one is ${shown(closest)}.`;
    const message = `${name} is unknown: the body accepts ${takes || "no fields"}.${meant}`;
    return new ApiError("INVALID_FIELD", message);
  }
  return new ApiError("INVALID_FIELD", `${name} must be ${takes}.`);
}
