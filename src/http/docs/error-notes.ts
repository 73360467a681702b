import { ERROR_CODES, ERROR_STATUS, type ErrorCode } from "../../domain/errors.ts";

/**
 * When the same request may be sent again:
 * `retry-after` when the header says so; `backoff` with growing pauses; `same-timeout` at once, with the same
 * timeout; `delay` after a while; `short-delay` after a second or so; `action` not before something was changed.
 */
export type Retry = "retry-after" | "backoff" | "same-timeout" | "delay" | "short-delay" | "action";

export interface ErrorNote {
  readonly meaning: string;
  readonly retry: Retry;
}

/** What each code tells a client: in the OpenAPI document, as `x-retry` of a response and as examples. */
export const ERROR_NOTES: Readonly<Record<ErrorCode, ErrorNote>> = {
  AUTH_MISSING: { meaning: "No API key was sent.", retry: "action" },
  AUTH_INVALID: { meaning: "The API key is not known.", retry: "action" },
  AUTH_EXPIRED: { meaning: "The API key has expired.", retry: "action" },
  AUTH_REVOKED: { meaning: "The API key was revoked.", retry: "action" },
  AUTH_INSUFFICIENT: { meaning: "The key's role does not permit this.", retry: "action" },
  INVALID_JSON: { meaning: "The body is not JSON, or does not say that it is.", retry: "action" },
  MISSING_FIELD: { meaning: "A field of the body is missing.", retry: "action" },
  INVALID_FIELD: { meaning: "A field of the body is unknown, or its value not taken.", retry: "action" },
  INVALID_QUERY: { meaning: "A query parameter was not understood.", retry: "action" },
  BODY_TOO_LARGE: { meaning: "The body is larger than http.max_body_bytes.", retry: "action" },
  NOT_FOUND: { meaning: "There is no such path, server, key or alert.", retry: "action" },
  METHOD_NOT_ALLOWED: { meaning: "The path takes other methods: see Allow.", retry: "action" },
  ALREADY_EXISTS: { meaning: "An active one has this name.", retry: "action" },
  CONFLICT: { meaning: "The state of the resource does not allow it.", retry: "action" },
  GONE: { meaning: "It was deleted.", retry: "action" },
  RATE_LIMIT_EXCEEDED: { meaning: "Too many requests in a short time.", retry: "retry-after" },
  QUOTA_EXCEEDED: { meaning: "The key's requests of this day or month are used up.", retry: "retry-after" },
  INTERNAL_ERROR: {
    meaning: "An unexpected error; the log has it under the request id.",
    retry: "action",
  },
  DATABASE_ERROR: { meaning: "The database is busy, full, read-only or damaged.", retry: "short-delay" },
  UPSTREAM_ERROR: { meaning: "Every license server that was asked failed.", retry: "delay" },
  SERVICE_UNAVAILABLE: {
    meaning: "No room for another stream, or the daemon is not well.",
    retry: "backoff",
  },
  TIMEOUT: { meaning: "The license server did not answer in time.", retry: "same-timeout" },
  LICENSE_SERVER_UNREACHABLE: { meaning: "The tool cannot connect to the license server.", retry: "delay" },
  LICENSE_QUERY_FAILED: {
    meaning: "The license server answered with an error, or the tool could not be started.",
    retry: "action",
  },
  LICENSE_PARSE_ERROR: { meaning: "Nothing in the tool's output is known.", retry: "action" },
  COMMAND_EXECUTION_FAILED: {
    meaning: "The command failed. It may have done a part of its work.",
    retry: "action",
  },
  COMMAND_TIMEOUT: {
    meaning: "The command was ended at its timeout. It may have done a part of its work.",
    retry: "action",
  },
};

const RETRIES: Readonly<Record<Retry, string>> = {
  "retry-after": "after the seconds in `Retry-After`",
  backoff: "with growing pauses, the first of `Retry-After` seconds",
  "same-timeout": "at once, with the same timeout",
  delay: "after a while",
  "short-delay": "after a second or so",
  action: "not before something was changed",
};

/** Every code, as a table for people (Markdown). */
export function errorTable(): string {
  const rows = ERROR_CODES.map((code) => {
    const { meaning, retry } = ERROR_NOTES[code];
    return `| ${code} | ${ERROR_STATUS[code]} | ${meaning} | ${RETRIES[retry]} |`;
  });
  return ["| code | status | meaning | retry |", "| --- | --- | --- | --- |", ...rows].join("\n");
}

/** One error body a code, which the responses refer to. */
export function errorExamples(reasonOf: (status: number) => string): Record<string, object> {
  return Object.fromEntries(
    ERROR_CODES.map((code) => [
      code,
      {
        summary: ERROR_NOTES[code].meaning,
        value: {
          error: reasonOf(ERROR_STATUS[code]),
          code,
          message: ERROR_NOTES[code].meaning,
          requestId: "019a9f3e-5b1c-7d24-9f5e-3c1d2b4a6f70",
          timestamp: "2026-01-31T08:15:30.123Z",
        },
      },
    ]),
  );
}
