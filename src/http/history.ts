import { ApiError } from "../domain/errors.ts";
import { type HistoryClient, HistoryTimeout } from "../history/client.ts";
import type { QueryName, QueryParams } from "../history/protocol.ts";
import { type Answer, send } from "./answers/answer.ts";
import type { HistoryAnswers } from "./history-answers/answers.ts";

/** History as the routes ask it: a worker makes the answers, the event loop never waits for the database. */
export type HistoryPort = Pick<HistoryClient<HistoryAnswers>, "query">;

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
  check: (answer: Awaited<ReturnType<HistoryAnswers[Name]>>) => void = () => {},
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
): Promise<Awaited<ReturnType<HistoryAnswers[Name]>>> {
  try {
    return await history.query(name, params, { who: caller?.id ?? "", signal: request.signal });
  } catch (error) {
    if (error instanceof HistoryTimeout)
      throw new ApiError("TIMEOUT", `${error.message}: ask for a shorter range or fewer features.`);
    throw error;
  }
}
