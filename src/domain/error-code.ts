/** The system's code of an error, e.g. `ENOENT`; "unknown" when it has none. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown";
}
