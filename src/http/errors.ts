import type { TObject } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { ValidationError } from "elysia";
import { ApiError, type ErrorCode } from "../domain/errors.ts";
import type { Log } from "../domain/log.ts";
import type { ErrorBody } from "../domain/records.ts";
import { iso } from "../domain/time/clock.ts";
import { StoreError } from "../store/database/store-error.ts";
import { invalidBody } from "./body.ts";
import type { Exchange } from "./exchange.ts";
import { invalidQuery, type QueryDefinition, type Sent } from "./query.ts";

const REASONS: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  409: "Conflict",
  410: "Gone",
  413: "Content Too Large",
  429: "Too Many Requests",
  500: "Internal Server Error",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
};

/** Reason phrase of RFC 9110, for the field `error`. */
export function reasonOf(status: number): string {
  return REASONS[status] ?? "Error";
}

/** SQLite's words for a database that cannot do its work now (primary result codes, extended ones begin alike). */
const DATABASE_TROUBLE =
  /^SQLITE_(BUSY|LOCKED|FULL|READONLY|CORRUPT|NOTADB|IOERR|CANTOPEN|NOMEM|PROTOCOL|SCHEMA|ERROR)/;

/** As proxies count a request whose client went away before its answer; it is never sent. */
const CLIENT_GONE = 499;

/**
 * The one error body of whatever was thrown. Only an {@link ApiError} speaks for itself; anything else is logged with
 * the request's id and becomes DATABASE_ERROR or INTERNAL_ERROR, without its words.
 */
export function errorAnswer(
  known: ApiError,
  thrown: unknown,
  request: Request,
  exchange: Exchange | null,
  now: number,
  log: Log,
): Response {
  const of = { requestId: exchange?.id, method: request.method, path: exchange?.route?.path ?? null };
  if (request.signal.aborted && thrown instanceof DOMException && thrown.name === "AbortError") {
    log.debug("The client went away before its answer", of);
    return new Response(null, { status: CLIENT_GONE });
  }
  if (known.status >= 500 && known.cause !== undefined) {
    log.error("Request failed", { ...of, code: known.code, cause: describe(known.cause) });
  }
  const told = exchange?.caller?.anonymize === true ? withoutToolWords(known) : known;
  return errorResponse(told, exchange?.id ?? Bun.randomUUIDv7(), now);
}

/** The answer to an error: body and headers. */
function errorResponse(error: ApiError, requestId: string, now: number): Response {
  const body: ErrorBody = {
    error: reasonOf(error.status),
    code: error.code,
    message: error.message,
    ...(error.details !== undefined && { details: error.details }),
    requestId,
    timestamp: iso(now),
  };
  const headers = new Headers(error.headers);
  headers.set("content-type", "application/json; charset=utf-8");
  headers.set("x-request-id", requestId);
  if (error.retryAfterSeconds !== undefined) headers.set("retry-after", String(error.retryAfterSeconds));
  return new Response(JSON.stringify(body), { status: error.status, headers });
}

/** Paths of the host and the tool's own words are not for anonymized keys. */
function withoutToolWords(error: ApiError): ApiError {
  if (error.details === undefined || !/^(LICENSE|COMMAND|TIMEOUT|UPSTREAM)/.test(error.code)) return error;
  const { code, message, retryAfterSeconds, headers } = error;
  return new ApiError(code, message, { retryAfterSeconds, headers });
}

export function apiErrorOf(code: unknown, error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  // Its own message holds every value that was sent, keys too.
  if (error instanceof ValidationError) return invalidRequest(error);
  // The gate answers unknown paths; this is a path that only the router refuses, e.g. by its encoding.
  if (code === "NOT_FOUND")
    return new ApiError("NOT_FOUND", "There is no such path; /swagger lists what there is.");
  const [told, message]: [ErrorCode, string] = isDatabaseTrouble(error)
    ? ["DATABASE_ERROR", isDamage(error) ? DAMAGED : TRY_AGAIN]
    : [
        "INTERNAL_ERROR",
        "Something went wrong inside licmond. The log has the reason under this request id.",
      ];
  return new ApiError(told, message, { cause: error });
}

/** What TypeBox found wrong with a query or a body, in the contract's words. */
function invalidRequest({ type, validator, value }: ValidationError): ApiError {
  const { schema } = validator as { readonly schema: TObject };
  return type === "query"
    ? invalidQuery(schema.properties as QueryDefinition["parameters"], value as Sent)
    : invalidBody(Value.Errors(schema, value), value);
}

const TRY_AGAIN = "The database could not do this now. Try again shortly; the log has the reason.";
const DAMAGED =
  "The database is damaged where this had to be read. A restart of licmond moves it aside, or a backup is restored; the log says more.";

function isDamage(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof StoreError && at.code === "CORRUPT") return true;
    if ("code" in at && typeof at.code === "string" && /^SQLITE_(CORRUPT|NOTADB)/.test(at.code)) return true;
  }
  return false;
}

/** drizzle wraps what SQLite throws, so the cause is looked at too. */
function isDatabaseTrouble(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof StoreError) return true;
  const code = "code" in error ? error.code : undefined;
  if (typeof code === "string" && DATABASE_TROUBLE.test(code)) return true;
  return error.cause !== undefined && isDatabaseTrouble(error.cause);
}

/** For the log alone: where it happened. Keys are masked by the logger's own rule too. */
function describe(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  return cause.stack ?? `${cause.name}: ${cause.message}`;
}
