import { closestNames } from "../../config/closest-word.ts";
import { ApiError } from "../../domain/errors.ts";
import type { Log } from "../../domain/log.ts";
import type { Clock } from "../../domain/time/clock.ts";
import { createHistoryClient, type HistoryClient, startWorkerOf } from "../../history/client.ts";
import type { QueryParams } from "../../history/serve.ts";
import type { Pseudonyms } from "../../http/anonymous/anonymous.ts";
import type { HttpDeps } from "../../http/deps.ts";
import type { Pool } from "../database/connect.ts";
import type { Reads } from "../database/reads.ts";
import type { HubAnswers } from "../history/answers.ts";
import { type AlertsAsked, alertsAnswer } from "./alerts.ts";
import { type DenialsAsked, denialsAnswer } from "./denials.ts";
import { type SessionsAsked, sessionsAnswer } from "./sessions.ts";

interface Audience {
  readonly anonymize: boolean;
}

interface NamesAsked {
  readonly daemons: readonly string[];
  readonly features: readonly string[];
}

/** Of names that are closest to a wrong one, so many are looked at. */
const MAX_NAMES = 50_000;

/** The worker that answers what is more than a list. */
export type HistoryWorker = HistoryClient<HubAnswers>;

/** Connects when it is first asked. */
export function createHistoryWorker(reads: Pick<Reads, "config">, clock: Clock, log: Log): HistoryWorker {
  const startWorker = () => startWorkerOf("hub-history");
  return createHistoryClient({
    path: () => JSON.stringify(reads.config()),
    title: "the hub",
    clock,
    log,
    startWorker,
  });
}

/**
 * The daemon's questions of history: lists as PostgreSQL sorts, cuts and counts them, the others by the worker. What is not
 * answered yet is said so.
 */
export function createHubHistory(
  reads: Pick<Reads, "pool">,
  pseudonyms: Pseudonyms,
  worker: HistoryWorker,
): HttpDeps["history"] {
  const aliases = ({ anonymize }: Audience) => (anonymize ? pseudonyms : null);
  const query = (name: string, asked: unknown, options: object): Promise<unknown> => {
    switch (name) {
      case "unknownName":
        return unknownName(reads.pool(), asked as NamesAsked);
      case "sessions":
        return sessionsAnswer(reads.pool(), asked as SessionsAsked, aliases(asked as Audience));
      case "denials":
        return denialsAnswer(reads.pool(), asked as DenialsAsked, aliases(asked as Audience));
      case "alerts":
        return alertsAnswer(reads.pool(), asked as AlertsAsked);
      case "stats":
      case "heatmap":
      case "efficiency":
      case "usage":
      case "waits":
      case "outages":
      case "people":
      case "logs":
      case "logStats":
        return worker.query(name, asked as QueryParams<HubAnswers, typeof name>, options);
      default:
        return Promise.reject(notThere(name));
    }
  };
  // The port ties each name to its parameters and its answer.
  return { query: query as HttpDeps["history"]["query"] };
}

function notThere(name: string): ApiError {
  return new ApiError("SERVICE_UNAVAILABLE", `A hub does not answer ${name} yet: ask the site.`, {
    retryAfterSeconds: 3600,
  });
}

/** The first of the names that neither the live pictures nor history know; null when all are known. */
async function unknownName(pool: Pool, { daemons, features }: NamesAsked) {
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
