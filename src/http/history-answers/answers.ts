import { closestNames } from "../../config/closest-word.ts";
import { knownNames } from "../../history/feature-counts.ts";
import type { Reader } from "../../history/reader.ts";
import { storedSecret } from "../../store/secrets.ts";
import { createPseudonyms, type Pseudonyms } from "../anonymous/pseudonyms.ts";
import { alertsAnswer, denialsAnswer, logStatsAnswer, logsAnswer, sessionsAnswer } from "./lists.ts";
import { efficiencyAnswer, heatmapAnswer, statsAnswer, usageAnswer } from "./statistics.ts";

/**
 * The questions that routes ask of history. Apart from `unknownName`, each makes a whole answer, to the last byte, in
 * the worker that reads it: an answer of a large site has megabytes, and the event loop only hands them on.
 */
export function historyAnswers(pseudonymsOf: (read: Reader) => Pseudonyms) {
  /** The answer for a caller that may see names, or under pseudonyms for one that may not. */
  const forAudience =
    <Asked, Made>(make: (read: Reader, asked: Asked, pseudonyms: Pseudonyms | null) => Made) =>
    (read: Reader, asked: Asked & { readonly anonymize: boolean }): Made =>
      make(read, asked, asked.anonymize ? pseudonymsOf(read) : null);
  return {
    unknownName,
    stats: statsAnswer,
    heatmap: heatmapAnswer,
    efficiency: efficiencyAnswer,
    sessions: forAudience(sessionsAnswer),
    usage: forAudience(usageAnswer),
    denials: forAudience(denialsAnswer),
    alerts: alertsAnswer,
    logs: logsAnswer,
    logStats: logStatsAnswer,
  };
}

export type HistoryAnswers = ReturnType<typeof historyAnswers>;

/** The installation's pseudonyms, made in the worker from the stored secret: the secret never crosses a thread. */
export function storedPseudonyms(): (read: Pick<Reader, "all">) => Pseudonyms {
  let made: Pseudonyms | null = null;
  return (read) => {
    if (made !== null) return made;
    const secret = storedSecret(read, "pseudonyms");
    // The daemon makes it before it listens. Without it no name may leave.
    if (secret === null) throw new Error("The secret of the pseudonyms is not there");
    made = createPseudonyms(secret);
    return made;
  };
}

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
function unknownName(read: Reader, { daemons, features, live }: NamesAsked): UnknownName | null {
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
