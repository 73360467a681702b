import { closestNames } from "../../config/closest-word.ts";
import type { Log } from "../../domain/log.ts";
import type { Clock } from "../../domain/time/clock.ts";
import { createHistoryClient, type HistoryClient, startWorkerOf } from "../../history/client.ts";
import type { QueryParams, QueryResult } from "../../history/serve.ts";
import type { Pseudonyms } from "../../http/anonymous/anonymous.ts";
import type { HttpDeps } from "../../http/deps.ts";
import type { HistoryAnswers } from "../../http/history-answers/answers.ts";
import { alertsAnswer, denialsAnswer, sessionsAnswer } from "../answers/stored-lists.ts";
import type { Pool } from "../database/connect.ts";
import type { Reads } from "../database/reads.ts";
import type { HubAnswers } from "./worker-answers.ts";

/** Maximum number of known names that are compared with an unknown name. */
const MAX_NAMES = 50_000;

export type HistoryWorker = HistoryClient<HubAnswers>;

export function createHistoryWorker(reads: Pick<Reads, "config">, clock: Clock, log: Log): HistoryWorker {
  return createHistoryClient({
    path: () => JSON.stringify(reads.config()),
    title: "the hub",
    clock,
    log,
    startWorker: () => startWorkerOf("hub-history"),
  });
}

/** Questions that PostgreSQL answers without the worker. */
type Listed = {
  readonly [Name in Exclude<keyof HistoryAnswers, keyof HubAnswers>]: (
    asked: QueryParams<HistoryAnswers, Name>,
  ) => Promise<QueryResult<HistoryAnswers, Name>>;
};

/** Answers history: PostgreSQL sorts and cuts the lists, the worker does the rest. */
export function createHubHistory(
  reads: Pick<Reads, "pool">,
  pseudonyms: Pseudonyms,
  worker: HistoryWorker,
): HttpDeps["history"] {
  const aliases = ({ anonymize }: { readonly anonymize: boolean }) => (anonymize ? pseudonyms : null);
  const listed: Listed = {
    unknownName: (asked) => unknownName(reads.pool(), asked),
    sessions: (asked) => sessionsAnswer(reads.pool(), asked, aliases(asked)),
    denials: (asked) => denialsAnswer(reads.pool(), asked, aliases(asked)),
    alerts: (asked) => alertsAnswer(reads.pool(), asked),
  };
  const query = (name: string, asked: never, options: object): Promise<unknown> =>
    name in listed
      ? listed[name as keyof Listed](asked)
      : worker.query(name as keyof HubAnswers, asked, options);
  return { query: query as HttpDeps["history"]["query"] };
}

/** Returns the first name of the query that is unknown; null if all are known. */
async function unknownName(
  pool: Pool,
  { daemons, features }: QueryParams<HistoryAnswers, "unknownName">,
): Promise<QueryResult<HistoryAnswers, "unknownName">> {
  const kinds = [
    { what: "daemon", column: "daemon", names: daemons },
    { what: "feature", column: "name", names: features },
  ] as const;
  for (const { what, column, names } of kinds) {
    for (const name of names) {
      const found = await pool.unsafe(
        `SELECT 1 FROM current_features WHERE ${column} = $1 UNION ALL
         SELECT 1 FROM history_features WHERE ${column} = $1 LIMIT 1`,
        [name],
      );
      if (found.length > 0) continue;
      const rows: { name: string }[] = await pool.unsafe(
        `SELECT DISTINCT ${column} AS name FROM current_features UNION
         SELECT DISTINCT ${column} FROM history_features LIMIT ${MAX_NAMES}`,
      );
      return { what, name, closest: closestNames(name, new Set(rows.map((row) => row.name))) };
    }
  }
  return null;
}
