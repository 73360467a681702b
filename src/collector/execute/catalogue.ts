import type { ConfiguredCommand } from "../../config/config.ts";
import { BUILT_IN_COMMANDS, type BuiltInCommand } from "../../managers/manager.ts";
import { ARGUMENTS, type ArgumentName } from "./argument.ts";
import { placeholdersOf } from "./template.ts";

/** One command that may be asked for. */
export type CatalogueEntry = BuiltInEntry | ConfiguredEntry;

interface Common {
  readonly name: string;
  /** Least role that may run it. */
  readonly role: "operator" | "admin";
  /** When the request names none. */
  readonly timeoutMs: number;
  readonly needsServer: boolean;
  /** Arguments it takes; any other is a mistake. */
  readonly takes: readonly ArgumentName[];
}

export interface BuiltInEntry extends Common {
  readonly kind: "built-in";
  readonly name: BuiltInCommand;
}

export interface ConfiguredEntry extends Common {
  readonly kind: "configured";
  readonly argv: readonly string[];
}

const BUILT_IN = {
  status: { role: "operator", timeoutMs: 30_000, takes: [] },
  // lmdiag tries every feature.
  diagnose: { role: "operator", timeoutMs: 120_000, takes: [] },
  reread: { role: "admin", timeoutMs: 60_000, takes: [] },
  remove: { role: "admin", timeoutMs: 60_000, takes: ARGUMENTS },
} as const satisfies Record<BuiltInCommand, Pick<Common, "role" | "timeoutMs" | "takes">>;

/** Every command by its name: the built-in ones, which act on a server through its manager, and the config's. */
export function catalogueOf(configured: readonly ConfiguredCommand[]): ReadonlyMap<string, CatalogueEntry> {
  const builtIn = BUILT_IN_COMMANDS.map(
    (name): CatalogueEntry => ({ kind: "built-in", name, needsServer: true, ...BUILT_IN[name] }),
  );
  const own = configured.map(({ name, argv, role, timeoutMs }): CatalogueEntry => {
    const open = placeholdersOf(argv);
    return {
      ...{ kind: "configured" as const, name, role, timeoutMs, argv },
      needsServer: open.includes("server") || open.includes("address"),
      takes: ARGUMENTS.filter((argument) => open.includes(argument)),
    };
  });
  return new Map([...builtIn, ...own].map((entry) => [entry.name, entry]));
}
