/**
 * The error catalog. ApiError is the only error type whose message and details clients see; any other error
 * becomes INTERNAL_ERROR.
 */
export const ERROR_STATUS = {
  AUTH_MISSING: 401,
  AUTH_INVALID: 401,
  AUTH_EXPIRED: 401,
  AUTH_REVOKED: 401,
  AUTH_INSUFFICIENT: 403,
  INVALID_JSON: 400,
  MISSING_FIELD: 400,
  INVALID_FIELD: 400,
  INVALID_QUERY: 400,
  BODY_TOO_LARGE: 413,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  ALREADY_EXISTS: 409,
  CONFLICT: 409,
  GONE: 410,
  RATE_LIMIT_EXCEEDED: 429,
  QUOTA_EXCEEDED: 429,
  INTERNAL_ERROR: 500,
  DATABASE_ERROR: 500,
  UPSTREAM_ERROR: 502,
  SERVICE_UNAVAILABLE: 503,
  TIMEOUT: 504,
  LICENSE_SERVER_UNREACHABLE: 502,
  LICENSE_QUERY_FAILED: 500,
  LICENSE_PARSE_ERROR: 500,
  COMMAND_EXECUTION_FAILED: 500,
  COMMAND_TIMEOUT: 504,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

export const ERROR_CODES = Object.keys(ERROR_STATUS) as readonly ErrorCode[];

export type PollErrorCode = Extract<ErrorCode, `LICENSE_${string}` | "TIMEOUT">;

interface ErrorOptions {
  /** Text for the client. Must not contain a stack trace, SQL, a key or a value from a request body. */
  readonly details?: string | undefined;
  /** Value of the header `Retry-After`. */
  readonly retryAfterSeconds?: number | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Original error, which is logged but never sent. */
  readonly cause?: unknown;
}

export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly details: ErrorOptions["details"];
  readonly retryAfterSeconds: ErrorOptions["retryAfterSeconds"];
  readonly headers: NonNullable<ErrorOptions["headers"]>;

  constructor(
    readonly code: ErrorCode,
    message: string,
    { cause, details, retryAfterSeconds, headers = {} }: ErrorOptions = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.status = ERROR_STATUS[code];
    this.details = details;
    this.retryAfterSeconds = retryAfterSeconds;
    this.headers = headers;
  }
}
