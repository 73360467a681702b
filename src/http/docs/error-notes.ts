import { ERROR_CODES, ERROR_STATUS, type ErrorCode } from "../../domain/errors.ts";

const MEANINGS: Readonly<Record<ErrorCode, string>> = {
  AUTH_MISSING: "No API key was sent.",
  AUTH_INVALID: "Unknown API key or code of a link.",
  AUTH_EXPIRED: "The API key has expired, or the sign-in has ended.",
  AUTH_REVOKED: "The API key was revoked.",
  AUTH_INSUFFICIENT: "The key's role does not permit this, or a page of another origin sent the request.",
  INVALID_JSON: "The body is not JSON, or has another Content-Type.",
  MISSING_FIELD: "A field of the body is missing.",
  INVALID_FIELD: "A field of the body is unknown or has an invalid value.",
  INVALID_QUERY: "A query parameter is unknown or invalid.",
  BODY_TOO_LARGE: "The body is larger than http.max_body_bytes.",
  NOT_FOUND: "Unknown path, server, key, sign-in or alert.",
  METHOD_NOT_ALLOWED: "The path does not support this method; see Allow.",
  ALREADY_EXISTS: "The name is in use.",
  CONFLICT: "The state of the resource does not allow it.",
  GONE: "The resource was deleted.",
  RATE_LIMIT_EXCEEDED: "Too many requests in a short time.",
  QUOTA_EXCEEDED: "The key's requests of this day or month are used up.",
  INTERNAL_ERROR: "An unexpected error; the log has it under the request id.",
  DATABASE_ERROR: "The database is busy, full, read-only or damaged.",
  UPSTREAM_ERROR: "All requested license servers failed.",
  SERVICE_UNAVAILABLE: "Too many streams, or the daemon is unhealthy.",
  TIMEOUT: "The license server did not answer in time.",
  LICENSE_SERVER_UNREACHABLE: "The tool cannot connect to the license server.",
  LICENSE_QUERY_FAILED: "The license server answered with an error, or the tool could not be started.",
  LICENSE_PARSE_ERROR: "The tool's output is not recognized.",
  COMMAND_EXECUTION_FAILED: "The command failed, possibly after part of its work.",
  COMMAND_TIMEOUT: "The command was killed at its timeout, possibly after part of its work.",
};

/** When to send the same request again. */
const RETRIES = {
  "retry-after": "after the seconds in `Retry-After`",
  backoff: "with growing pauses, starting with `Retry-After` seconds",
  "same-timeout": "at once, with the same timeout",
  delay: "after a while",
  "short-delay": "after a second or so",
  action: "only after a change",
} as const;
type Retry = keyof typeof RETRIES;

const RETRY_OF: Readonly<Partial<Record<ErrorCode, Retry>>> = {
  RATE_LIMIT_EXCEEDED: "retry-after",
  QUOTA_EXCEEDED: "retry-after",
  DATABASE_ERROR: "short-delay",
  UPSTREAM_ERROR: "delay",
  SERVICE_UNAVAILABLE: "backoff",
  TIMEOUT: "same-timeout",
  LICENSE_SERVER_UNREACHABLE: "delay",
};

export function retryOf(code: ErrorCode): Retry {
  return RETRY_OF[code] ?? "action";
}

/** Returns a Markdown table of all codes. */
export function errorTable(): string {
  const rows = ERROR_CODES.map(
    (code) => `| ${code} | ${ERROR_STATUS[code]} | ${MEANINGS[code]} | ${RETRIES[retryOf(code)]} |`,
  );
  return ["| code | status | meaning | retry |", "| --- | --- | --- | --- |", ...rows].join("\n");
}

export function errorExample(code: ErrorCode, error: string): object {
  const requestId = "019a9f3e-5b1c-7d24-9f5e-3c1d2b4a6f70";
  const timestamp = "2026-01-31T08:15:30.123Z";
  const message = MEANINGS[code];
  return { summary: message, value: { error, code, message, requestId, timestamp } };
}
