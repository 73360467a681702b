/** Response headers that many answers have, described once. The routes refer to them by name. */
export const HEADERS = {
  "X-Request-ID": {
    description: "Id of the request: the client's own (1–128 of A–Z a–z 0–9 . _ -), else a UUIDv7",
    schema: { type: "string" },
  },
  "RateLimit-Limit": {
    description: "Requests at once, after a rest",
    schema: { type: "integer", minimum: 0 },
  },
  "RateLimit-Remaining": {
    description: "Requests that are left now",
    schema: { type: "integer", minimum: 0 },
  },
  "RateLimit-Reset": {
    description: "Seconds until the limit is whole again",
    schema: { type: "integer", minimum: 0 },
  },
  "Retry-After": {
    description: "Seconds to wait before the next try",
    schema: { type: "integer", minimum: 1 },
  },
  "WWW-Authenticate": { description: "`Bearer`", schema: { type: "string" } },
} as const;
