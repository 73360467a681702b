import type { ConfiguredCommand } from "../../config/config.ts";
import { ARGUMENTS, PLACEHOLDER, placeholdersOf } from "../../config/forms.ts";
import { maskSecrets } from "../../domain/plain-text.ts";
import { BUILT_IN_COMMANDS, type BuiltInCommand, type Manager } from "../../managers/manager.ts";

type ArgumentName = (typeof ARGUMENTS)[number];
export type Arguments = Readonly<Partial<Record<ArgumentName, string>>>;

export const MAX_ARGUMENT = 256;

/**
 * Returns why a value must not be passed to a program, or null. Values from license servers are checked
 * too: a user named `-all` must not become an option.
 */
export function argumentProblem(value: string): string | null {
  if (value.trim() === "") return "is empty";
  if (value.length > MAX_ARGUMENT) return `has more than ${MAX_ARGUMENT} characters`;
  // Half a surrogate pair cannot be encoded.
  if (/[\p{Cc}\p{Cs}\u2028\u2029]/u.test(value)) return "contains control characters";
  if (value.startsWith("-")) return "starts with -, like an option";
  return null;
}

/**
 * Fills in a template. Each value stays within its element, and placeholders in values are ignored. Returns
 * null if a value is missing. Expects values without an {@link argumentProblem}.
 */
export function fill(argv: readonly string[], values: ReadonlyMap<string, string>): readonly string[] | null {
  if (!placeholdersOf(argv).every((name) => values.has(name))) return null;
  return argv.map((element) => element.replaceAll(PLACEHOLDER, (_, name: string) => values.get(name) ?? ""));
}

/** Options with a secret value; `-z` is RLM's password. */
const SECRET_OPTION =
  /^(-z|--?(?:[a-z]+[-_])*(?:password|passwd|pass|pwd|secret|token|api[-_]?key))(=.*)?$/is;

/** Masks secrets in an argv. */
export function maskArgv(argv: readonly string[]): readonly string[] {
  return argv.map((element, index) => {
    const [, option, value] = SECRET_OPTION.exec(element) ?? [];
    if (option !== undefined && value !== undefined) return `${option}=***`;
    const before = SECRET_OPTION.exec(argv[index - 1] ?? "");
    if (before !== null && before[2] === undefined && !element.startsWith("-")) return "***";
    return maskSecrets(element);
  });
}

/** A built-in command, or a command of the config with its argv template. */
export type CatalogueEntry = {
  readonly role: "operator" | "admin";
  /** Default timeout. */
  readonly timeoutMs: number;
  readonly needsServer: boolean;
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

/** Returns all commands by name: built-in ones that at least one of `managers` has, and the config's. */
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
