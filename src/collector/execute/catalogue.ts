import type { ConfiguredCommand } from "../../config/config.ts";
import { ARGUMENTS, PLACEHOLDER, placeholdersOf } from "../../config/forms.ts";
import { maskSecrets } from "../../domain/plain-text.ts";
import { BUILT_IN_COMMANDS, type BuiltInCommand, type Manager } from "../../managers/manager.ts";

/** Arguments of a command, by their names in a request. */
type ArgumentName = (typeof ARGUMENTS)[number];
export type Arguments = Readonly<Partial<Record<ArgumentName, string>>>;

export const MAX_ARGUMENT = 256;

/**
 * Returns why a value must not be passed to a program, or null. Applies to values from license servers too: a user
 * named `-all` must not become an option.
 */
export function argumentProblem(value: string): string | null {
  if (value.trim() === "") return "is empty";
  if (value.length > MAX_ARGUMENT) return `has more than ${MAX_ARGUMENT} characters`;
  // Half a surrogate pair has no encoding; another character would be passed on.
  if (/[\p{Cc}\p{Cs}\u2028\u2029]/u.test(value)) return "contains control characters";
  if (value.startsWith("-")) return "starts with -, like an option";
  return null;
}

/**
 * Fills in a template. A value stays within its element, and placeholders in it are ignored. Returns null if a value
 * is missing. The values must have been checked with {@link argumentProblem}.
 */
export function fill(argv: readonly string[], values: ReadonlyMap<string, string>): readonly string[] | null {
  if (!placeholdersOf(argv).every((name) => values.has(name))) return null;
  return argv.map((element) => element.replaceAll(PLACEHOLDER, (_, name: string) => values.get(name) ?? ""));
}

/** Options with a secret value; `-z` is RLM's password. */
const SECRET_OPTION =
  /^(-z|--?(?:[a-z]+[-_])*(?:password|passwd|pass|pwd|secret|token|api[-_]?key))(=.*)?$/is;

/** Masks everything in an argv that looks like a secret. */
export function maskArgv(argv: readonly string[]): readonly string[] {
  return argv.map((element, index) => {
    const [, option, value] = SECRET_OPTION.exec(element) ?? [];
    if (option !== undefined && value !== undefined) return `${option}=***`;
    const before = SECRET_OPTION.exec(argv[index - 1] ?? "");
    if (before !== null && before[2] === undefined && !element.startsWith("-")) return "***";
    return maskSecrets(element);
  });
}

/** A command that can be executed: a built-in one, or one of the config with its argv template. */
export type CatalogueEntry = {
  /** Minimum role to run it. */
  readonly role: "operator" | "admin";
  /** Used if the request sets none. */
  readonly timeoutMs: number;
  readonly needsServer: boolean;
  /** Arguments that the command takes; others are rejected. */
  readonly takes: readonly ArgumentName[];
} & (
  | { readonly name: BuiltInCommand; readonly template: null }
  | { readonly name: string; readonly template: readonly string[] }
);

const BUILT_IN = {
  status: { role: "operator", timeoutMs: 30_000, takes: [] },
  // lmdiag tries every feature.
  diagnose: { role: "operator", timeoutMs: 120_000, takes: [] },
  reread: { role: "admin", timeoutMs: 60_000, takes: [] },
  remove: { role: "admin", timeoutMs: 60_000, takes: ARGUMENTS },
} as const satisfies Record<BuiltInCommand, Pick<CatalogueEntry, "role" | "timeoutMs" | "takes">>;

/**
 * Returns all commands by name: the built-in commands that at least one of `managers` has, and the config's.
 */
export function catalogueOf(
  configured: readonly ConfiguredCommand[],
  managers: readonly Pick<Manager, "commands">[],
): ReadonlyMap<string, CatalogueEntry> {
  const had = BUILT_IN_COMMANDS.filter((name) => managers.some(({ commands }) => name in commands));
  const builtIn = had.map((name): CatalogueEntry => {
    return { name, template: null, needsServer: true, ...BUILT_IN[name] };
  });
  const own = configured.map(({ name, argv: template, role, timeoutMs }): CatalogueEntry => {
    const open = placeholdersOf(template);
    const needsServer = open.includes("server") || open.includes("address");
    return { name, template, role, timeoutMs, needsServer, takes: ARGUMENTS.filter((a) => open.includes(a)) };
  });
  return new Map([...builtIn, ...own].map((entry) => [entry.name, entry]));
}
