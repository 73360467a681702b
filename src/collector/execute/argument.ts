/** Typed arguments of a command, as a request names them. */
export const ARGUMENTS = ["feature", "user", "host", "display", "handle"] as const;
export type ArgumentName = (typeof ARGUMENTS)[number];
export type Arguments = Readonly<Partial<Record<ArgumentName, string>>>;

export const MAX_ARGUMENT = 256;

/**
 * Why a value may not be handed to a program, or null. It goes for what license servers say too: a user who is called
 * `-all` must not become an option.
 */
export function argumentProblem(value: string): string | null {
  if (value.trim() === "") return "is empty";
  if (value.length > MAX_ARGUMENT) return `has more than ${MAX_ARGUMENT} characters`;
  // Half a surrogate pair has no bytes of its own: another character would be handed on.
  if (/[\p{Cc}\p{Cs}\u2028\u2029]/u.test(value)) return "has control characters";
  if (value.startsWith("-")) return "begins with a -, which makes it an option";
  return null;
}
