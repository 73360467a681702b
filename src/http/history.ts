import type { Clock } from "../domain/clock.ts";
import { ApiError } from "../domain/errors.ts";
import type { Snapshot } from "../domain/picture.ts";
import { isZone } from "../domain/zone.ts";
import { type HistoryClient, HistoryTimeout } from "../store/history/client.ts";
import type { QueryName, QueryParams } from "../store/history/queries.ts";
import type { Asked } from "../store/statistics/open-sessions.ts";
import { type Answer, send } from "./answers/answer.ts";

import type { HistoryAnswers } from "./history-answers/answers.ts";
import { type Parameter, REFUSED } from "./query.ts";
import { checkRange } from "./query-time.ts";

/** History as the routes ask it: a worker makes the answers, the event loop never waits for the database. */
export type HistoryPort = Pick<HistoryClient<HistoryAnswers>, "query">;

/** A longer range is a slip of the keyboard. */
const MAX_RANGE_MS = 20 * 366 * 86_400_000;

/** Who waits for an answer. */
export interface Asker {
  readonly request: Request;
  /** The key that holds. */
  readonly caller: { readonly id: string } | null;
}

/** Asks for as long as the client waits. `check` sees the answer before it goes out, and may refuse it. */
export async function answerOf<Name extends Exclude<QueryName<HistoryAnswers>, "unknownName">>(
  history: HistoryPort,
  asker: Asker,
  name: Name,
  params: QueryParams<HistoryAnswers, Name>,
  check: (answer: ReturnType<HistoryAnswers[Name]>) => void = () => {},
): Promise<Response> {
  const answer = await askHistory(history, asker, name, params);
  check(answer);
  return send(asker.request, answer satisfies Answer);
}

/** Asks for as long as the client waits. Throws ApiError when it takes too long. */
export async function askHistory<Name extends QueryName<HistoryAnswers>>(
  history: HistoryPort,
  { request, caller }: Asker,
  name: Name,
  params: QueryParams<HistoryAnswers, Name>,
): Promise<ReturnType<HistoryAnswers[Name]>> {
  try {
    return await history.query(name, params, { who: caller?.id ?? "", signal: request.signal });
  } catch (error) {
    if (error instanceof HistoryTimeout)
      throw new ApiError("TIMEOUT", `${error.message}: ask for a shorter range or fewer features.`);
    throw error;
  }
}

/** What the worker cannot know by itself. */
export function askedNow(clock: Clock, { servers }: Snapshot): Asked {
  return {
    now: clock.now(),
    intervals: Object.fromEntries(servers.map(({ server }) => [server.id, server.intervalMs])),
  };
}

/** [start, end) of a query: up to now, and so long, unless told otherwise. Throws INVALID_QUERY. */
export function rangeOf(
  query: { readonly start: number | null; readonly end: number | null },
  now: number,
  lengthMs: number,
): { start: number; end: number } {
  const end = query.end ?? now;
  const start = query.start ?? end - lengthMs;
  checkRange(start, end);
  if (end - start <= MAX_RANGE_MS) return { start, end };
  throw new ApiError("INVALID_QUERY", 'Query parameters "start" and "end" lie more than 20 years apart.');
}

/** `timezone`: an IANA zone; absent = null. */
export function timezone(description: string): Parameter<string | null> {
  return {
    description: `${description} Default: the daemon's zone.`,
    schema: { type: "string" },
    example: "Europe/Berlin",
    repeatable: false,
    absent: null,
    takes: "an IANA time zone, e.g. Europe/Berlin",
    read: ([value = ""]) => (isZone(value) ? value : REFUSED),
  };
}
