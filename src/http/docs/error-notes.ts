import { ERROR_CODES, ERROR_STATUS, type ErrorCode } from "../../domain/errors.ts";

const MEANINGS: Readonly<Record<ErrorCode, string>> = {
  AUTH_MISSING: "No API key was sent.",
  AUTH_INVALID: "The API key, or the link's code, is not known.",
  AUTH_EXPIRED: "The API key has expired, or the sign-in has ended.",
  AUTH_REVOKED: "The API key was revoked.",
  AUTH_INSUFFICIENT: "The key's role does not permit this, or a page of another origin sent it.",
  INVALID_JSON: "The body is not JSON, or does not say that it is.",
  MISSING_FIELD: "A field of the body is missing.",
  INVALID_FIELD: "A field of the body is unknown, or its value not taken.",
  INVALID_QUERY: "A query parameter was not understood.",
  BODY_TOO_LARGE: "The body is larger than http.max_body_bytes.",
  NOT_FOUND: "Unknown path, server, key, sign-in or alert.",
  METHOD_NOT_ALLOWED: "The path takes other methods: see Allow.",
  ALREADY_EXISTS: "An active one has this name.",
  CONFLICT: "The state of the resource does not allow it.",
  GONE: "It was deleted.",
  RATE_LIMIT_EXCEEDED: "Too many requests in a short time.",
  QUOTA_EXCEEDED: "The key's requests of this day or month are used up.",
  INTERNAL_ERROR: "An unexpected error; the log has it under the request id.",
  DATABASE_ERROR: "The database is busy, full, read-only or damaged.",
  UPSTREAM_ERROR: "Every license server that was asked failed.",
  SERVICE_UNAVAILABLE: "No room for another stream, or the daemon is not well.",
  TIMEOUT: "The license server did not answer in time.",
  LICENSE_SERVER_UNREACHABLE: "The tool cannot connect to the license server.",
  LICENSE_QUERY_FAILED: "The license server answered with an error, or the tool could not be started.",
  LICENSE_PARSE_ERROR: "Nothing in the tool's output is known.",
  COMMAND_EXECUTION_FAILED: "The command failed. It may have done a part of its work.",
  COMMAND_TIMEOUT: "The command was ended at its timeout. It may have done a part of its work.",
};

/** When to send the same request again. */
const RETRIES = {
  "retry-after": "after the seconds in `Retry-After`",
  backoff: "with growing pauses, the first of `Retry-After` seconds",
  "same-timeout": "at once, with the same timeout",
  delay: "after a while",
  "short-delay": "after a second or so",
  action: "not before something was changed",
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
