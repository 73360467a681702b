import type { ConfiguredCommand } from "../../config/config.ts";
import { ARGUMENTS, PLACEHOLDER, placeholdersOf } from "../../config/forms.ts";
import { maskSecrets } from "../../domain/plain-text.ts";
import { BUILT_IN_COMMANDS, type BuiltInCommand, type Manager } from "../../managers/manager.ts";

/** Typed arguments of a command, as a request names them. */
type ArgumentName = (typeof ARGUMENTS)[number];
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

/**
 * Fills in a template: each value stays within its element, whatever it holds, and what it holds is not read again.
 * Null when a placeholder has no value. The values have been checked ({@link argumentProblem}).
 */
export function fill(argv: readonly string[], values: ReadonlyMap<string, string>): readonly string[] | null {
  if (!placeholdersOf(argv).every((name) => values.has(name))) return null;
  return argv.map((element) => element.replaceAll(PLACEHOLDER, (_, name: string) => values.get(name) ?? ""));
}

/** Options whose value is a secret: `-z` is RLM's password. */
const SECRET_OPTION =
  /^(-z|--?(?:[a-z]+[-_])*(?:password|passwd|pass|pwd|secret|token|api[-_]?key))(=.*)?$/is;

/** An argv as it may be shown: what looks like a secret is `***`, wherever the config's template has one. */
export function maskArgv(argv: readonly string[]): readonly string[] {
  return argv.map((element, index) => {
    const [, option, value] = SECRET_OPTION.exec(element) ?? [];
    if (option !== undefined && value !== undefined) return `${option}=***`;
    const before = SECRET_OPTION.exec(argv[index - 1] ?? "");
    if (before !== null && before[2] === undefined && !element.startsWith("-")) return "***";
    return maskSecrets(element);
  });
}

/** One command that may be asked for: a built-in one, or one of the config with its argv template. */
export type CatalogueEntry = {
  /** Least role that may run it. */
  readonly role: "operator" | "admin";
  /** When the request names none. */
  readonly timeoutMs: number;
  readonly needsServer: boolean;
  /** Arguments it takes; any other is a mistake. */
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
 * Every command by its name: the built-in ones that at least one of `managers` has, which act on a server through its
 * manager, and the config's.
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
