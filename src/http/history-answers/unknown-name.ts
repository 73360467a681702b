import { closestNames } from "../../config/closest-word.ts";
import type { HistoryRead } from "../../store/history/read.ts";
import { knownNames } from "../../store/statistics/known-names.ts";

/** Names that a query gives, and those that the live picture knows. */
export interface NamesAsked {
  readonly daemons: readonly string[];
  readonly features: readonly string[];
  readonly live: { readonly daemons: readonly string[]; readonly features: readonly string[] };
}

export interface UnknownName {
  readonly what: "daemon" | "feature";
  readonly name: string;
  /** Nearest first. */
  readonly closest: readonly string[];
}

/** The first of the names that neither the live picture nor the stored history knows; null when all are known. */
export function unknownName(read: HistoryRead, { daemons, features, live }: NamesAsked): UnknownName | null {
  const stored = knownNames(read);
  const first = (what: UnknownName["what"], names: readonly string[], known: ReadonlySet<string>) => {
    const name = names.find((one) => !known.has(one));
    return name === undefined ? null : { what, name, closest: closestNames(name, known) };
  };
  return (
    first("daemon", daemons, new Set([...stored.daemons, ...live.daemons])) ??
    first("feature", features, new Set([...stored.features, ...live.features]))
  );
}
