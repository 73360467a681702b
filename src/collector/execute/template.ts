/** What a template leaves open, in braces. */
const PLACEHOLDER = /\{([a-z_]+)\}/g;

/** Names of the placeholders of an argv template, each once. */
export function placeholdersOf(argv: readonly string[]): readonly string[] {
  return [
    ...new Set(argv.flatMap((element) => [...element.matchAll(PLACEHOLDER)].map(([, name = ""]) => name))),
  ];
}

/**
 * Fills in a template: each value stays within its element, whatever it holds, and what it holds is not read again.
 * Null when a placeholder has no value. The values have been checked (`argument.ts`).
 */
export function fill(argv: readonly string[], values: ReadonlyMap<string, string>): readonly string[] | null {
  if (!placeholdersOf(argv).every((name) => values.has(name))) return null;
  return argv.map((element) => element.replaceAll(PLACEHOLDER, (_, name: string) => values.get(name) ?? ""));
}
