/** Returns the system error code, e.g. `ENOENT`, or "unknown". */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown";
}

/** Returns the message of an error without its class name. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
