import type { TObject } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { InvertedStatusMap, ValidationError } from "elysia";
import { ApiError } from "../domain/errors.ts";
import type { Log } from "../domain/log.ts";
import type { ErrorBody } from "../domain/records.ts";
import { iso } from "../domain/time/clock.ts";
import { errorCode, StoreError } from "../store/database/store-error.ts";
import { invalidBody } from "./body.ts";
import type { Exchange } from "./exchange.ts";
import { invalidQuery, type QueryDefinition, type Sent } from "./query.ts";

/** Returns the reason phrase of RFC 9110. */
export function reasonOf(status: number): string {
  return status === 413 ? "Content Too Large" : InvertedStatusMap[status as keyof typeof InvertedStatusMap];
}

/** Status that is counted when the client disconnects before the answer. Never sent. */
const CLIENT_GONE = 499;

/**
 * Builds the error body for anything thrown. Only an {@link ApiError} shows its own message; other errors
 * are logged with the request's id and become DATABASE_ERROR or INTERNAL_ERROR.
 */
export function errorAnswer(
  known: ApiError,
  thrown: unknown,
  { request, id: requestId, route, caller }: Exchange,
  now: number,
  log: Log,
): Response {
  const of = { requestId, method: request.method, path: route?.path ?? null };
  if (request.signal.aborted && thrown instanceof DOMException && thrown.name === "AbortError") {
    log.debug("The client disconnected before its answer", of);
    return new Response(null, { status: CLIENT_GONE });
  }
  const { code, message, status, details, cause, retryAfterSeconds } = known;
  if (status >= 500 && cause !== undefined) {
    // Only logged.
    const trace = cause instanceof Error ? (cause.stack ?? String(cause)) : String(cause);
    log.error("Request failed", { ...of, code, cause: trace });
  }
  // Anonymized keys see neither paths of the host nor texts of a tool.
  const hidden = caller?.anonymize === true && /^(LICENSE|COMMAND|TIMEOUT|UPSTREAM)/.test(code);
  const body: ErrorBody = {
    error: reasonOf(status),
    code,
    message,
    ...(details !== undefined && !hidden && { details }),
    requestId,
    timestamp: iso(now),
  };
  const headers = new Headers(known.headers);
  headers.set("content-type", "application/json; charset=utf-8");
  headers.set("x-request-id", requestId);
  if (retryAfterSeconds !== undefined) headers.set("retry-after", String(retryAfterSeconds));
  return new Response(JSON.stringify(body), { status, headers });
}

export function apiErrorOf(code: unknown, error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  // Do not use Elysia's message, because it quotes all sent values, including keys.
  if (error instanceof ValidationError) return invalidRequest(error);
  // The gate has already answered unknown paths. Here, only the router refused the path, e.g. for its
  // encoding.
  if (code === "NOT_FOUND") return noSuchPath();
  const sqlite = errorCode(error) ?? "";
  if (!(error instanceof StoreError || DATABASE_TROUBLE.test(sqlite)))
    return new ApiError("INTERNAL_ERROR", UNEXPECTED, { cause: error });
  const isDamage = /^(SQLITE_)?(CORRUPT|NOTADB)/.test(sqlite);
  return new ApiError("DATABASE_ERROR", isDamage ? DAMAGED : TRY_AGAIN, { cause: error });
}

export function noSuchPath(): ApiError {
  return new ApiError("NOT_FOUND", "Unknown path; /swagger lists all paths.");
}

const UNEXPECTED = "Unexpected error in licmond. The log has the reason under this request id.";
const TRY_AGAIN = "The database is not available. Try again shortly; the log has the reason.";
const DAMAGED =
  "The database is damaged. Restart licmond, which moves a damaged file aside, or restore a backup; the log has details.";

/** Converts TypeBox's finding to the API's wording. */
function invalidRequest({ type, validator, value }: ValidationError): ApiError {
  const { schema } = validator as { readonly schema: TObject };
  return type === "query"
    ? invalidQuery(schema.properties as QueryDefinition["parameters"], value as Sent)
    : invalidBody(Value.Errors(schema, value), value);
}

/** Primary result codes of SQLite for a database that cannot work now. */
const DATABASE_TROUBLE =
  /^SQLITE_(BUSY|LOCKED|FULL|READONLY|CORRUPT|NOTADB|IOERR|CANTOPEN|NOMEM|PROTOCOL|SCHEMA|ERROR)/;
