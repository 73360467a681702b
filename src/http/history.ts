import { ApiError } from "../domain/errors.ts";
import type { Snapshot } from "../domain/picture.ts";
import { textRule } from "../domain/text-types.ts";
import { isZone } from "../domain/time/zone.ts";
import { HistoryTimeout } from "../history/client.ts";
import type { QueryName, QueryParams, QueryResult } from "../history/serve.ts";
import { formatOf, send } from "./answers/answer.ts";
import type { HttpDeps } from "./deps.ts";
import type { Exchange } from "./exchange.ts";
import type { HistoryAnswers } from "./history-answers/answers.ts";
import {
  type NAMED,
  type Parameter,
  type PEOPLE,
  type STORED_LIST,
  single,
  storedPage,
  type Values,
} from "./query.ts";
import { checkRange, openRange } from "./query-time.ts";
import { askedServers, type Named, type SnapshotFor } from "./snapshot.ts";

/** A request that history answers, as its route gets it. */
interface Asking {
  readonly request: Request;
  readonly exchange: Pick<Exchange, "caller">;
}

/** What a query over history may name. */
type HistoryQuery = Values<
  typeof NAMED & typeof PEOPLE & typeof STORED_LIST & Record<"start" | "end" | "timezone", Parameter<string>>
>;

type ReadRange<R> = (start: string | undefined, end: string | undefined, now: number) => R;

/** History as routes ask it: for as long as the client waits, and TIMEOUT when an answer takes too long. */
export function createHistoryReader(
  { history, clock, settings, live }: Pick<HttpDeps, "history" | "clock" | "settings" | "live">,
  snapshotFor: SnapshotFor,
) {
  async function ask<Name extends QueryName<HistoryAnswers>>(
    { request, exchange: { caller } }: Asking,
    name: Name,
    params: QueryParams<HistoryAnswers, Name>,
  ): Promise<QueryResult<HistoryAnswers, Name>> {
    try {
      return await history.query(name, params, { who: caller?.id ?? "", signal: request.signal });
    } catch (error) {
      if (error instanceof HistoryTimeout)
        throw new ApiError("TIMEOUT", `${error.message}: ask for a shorter range or fewer features.`);
      throw error;
    }
  }

  /** The servers that a query is about, see {@link askedServers}. */
  function servers(asking: Asking, snapshot: Snapshot, query: Named) {
    return askedServers(snapshot, query, (names) => ask(asking, "unknownName", names));
  }

  return {
    servers,
    /** Has history answer. `check` sees the answer before it goes out, and may refuse it. */
    async answer<Name extends Exclude<QueryName<HistoryAnswers>, "unknownName">>(
      asking: Asking,
      name: Name,
      params: QueryParams<HistoryAnswers, Name>,
      check: (answer: QueryResult<HistoryAnswers, Name>) => void = () => {},
    ): Promise<Response> {
      const answer = await ask(asking, name, params);
      check(answer);
      return send(asking.request, answer);
    },
    /**
     * Reads a query over history: the servers that it is about, and what the worker must know. Throws INVALID_QUERY for
     * its range, then NOT_FOUND for names that neither the live picture nor history knows.
     */
    async read<R extends object>(asking: Asking, query: HistoryQuery, rangeOf: ReadRange<R>) {
      const { request, exchange } = asking;
      const now = clock.now();
      const { server = null, daemon = null, feature = null, user = null, host = null } = query;
      const range = rangeOf(query.start, query.end, now);
      return {
        servers: await servers(asking, snapshotFor(exchange), query),
        asked: {
          now,
          intervals: Object.fromEntries(
            live.snapshot().servers.map(({ server: { id, intervalMs } }) => [id, intervalMs]),
          ),
          ...range,
          filter: { servers: server, daemons: daemon, features: feature, users: user, hosts: host },
          timezone: query.timezone ?? settings().timezone,
          ...storedPage(query),
          format: formatOf(query, request),
          anonymize: exchange.caller?.anonymize === true,
        },
      };
    },
  };
}

/** A longer range is a slip of the keyboard. */
const MAX_RANGE_MS = 20 * 366 * 86_400_000;

/** A range that ends now and is so long, unless told otherwise. Throws INVALID_QUERY. */
export function rangeOfDays(days: number): ReadRange<{ start: number; end: number }> {
  return (from, to, now) => {
    const open = openRange(from, to, now);
    const end = open.end ?? now;
    const start = open.start ?? end - days * 86_400_000;
    checkRange(start, end);
    if (end - start <= MAX_RANGE_MS) return { start, end };
    throw new ApiError("INVALID_QUERY", 'Query parameters "start" and "end" lie more than 20 years apart.');
  };
}

const ZONE = textRule("an IANA time zone, e.g. Europe/Berlin", isZone);

/** `timezone`: an IANA zone. */
export function timezone(description: string): Parameter<string> {
  const said = `${description} Default: the daemon's zone.`;
  return single(ZONE, { type: "string", description: said, example: "Europe/Berlin" });
}
