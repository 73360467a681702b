/** The system's code of an error, e.g. `ENOENT`; "unknown" when it has none. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown";
}

/** What an error says, without its kind: the form in which messages and log fields quote errors. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
