import type { Executor } from "../../collector/execute/executor.ts";
import { ApiError } from "../../domain/errors.ts";
import type { ServerPicture, Snapshot } from "../../domain/picture.ts";
import { HistoryTimeout } from "../../history/client.ts";
import type { QueryName, QueryParams, QueryResult } from "../../history/serve.ts";
import { formOf, send } from "../answers/answer.ts";
import type { HttpDeps } from "../deps.ts";
import type { Audit, Exchange } from "../exchange.ts";
import type { HistoryAnswers } from "../history-answers/answers.ts";
import type { Limits } from "../limits.ts";
import {
  type NAMED,
  type Parameter,
  type PEOPLE,
  type STORED_LIST,
  shown,
  storedPage,
  type Values,
} from "../query.ts";
import type { ReadRange } from "../query-time.ts";
import type { RequestCounters } from "../request-counters.ts";
import {
  type Answers,
  byLabels,
  closestWords,
  createAnswers,
  createSnapshotFor,
  namedServers,
  perPicture,
  type SnapshotFor,
} from "../snapshot.ts";
import type { StreamsPort } from "../streams/broadcaster.ts";

export interface AppDeps extends HttpDeps {
  readonly execute: Executor;
  readonly streams: StreamsPort;
}

export interface RouteDeps extends AppDeps {
  readonly limits: Limits;
  readonly audit: Audit;
  readonly requests: RequestCounters;
  readonly snapshotFor: SnapshotFor;
  readonly answers: Answers;
  readonly reader: ReturnType<typeof createHistoryReader>;
}

export function createRouteDeps(
  deps: AppDeps,
  limits: Limits,
  audit: Audit,
  requests: RequestCounters,
): RouteDeps {
  const snapshotFor = createSnapshotFor(deps);
  const reader = createHistoryReader(deps, snapshotFor);
  // Inherit the dependencies instead of copying them, because in `licmond openapi` they are a proxy that
  // lists no names.
  const inherited: AppDeps = Object.create(deps);
  return Object.assign(inherited, { limits, audit, requests, snapshotFor, answers: createAnswers(), reader });
}

type HistoryQuery = Values<
  typeof NAMED & typeof PEOPLE & typeof STORED_LIST & Record<"start" | "end" | "timezone", Parameter<string>>
>;

const namesOf = perPicture(({ daemons, features }) => ({
  daemons: new Set([...daemons.map(({ name }) => name), ...features.map(({ daemon }) => daemon)]),
  features: new Set(features.map(({ name }) => name)),
}));

/** Asks history for as long as the client waits. Throws TIMEOUT for slow answers. */
function createHistoryReader(
  { history, clock, settings, live }: Pick<HttpDeps, "history" | "clock" | "settings" | "live">,
  snapshotFor: SnapshotFor,
) {
  async function ask<Name extends QueryName<HistoryAnswers>>(
    { request, caller }: Exchange,
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

  /**
   * Resolves the servers of a query, in the order of the config. Throws NOT_FOUND for a server, daemon or feature
   * that was never seen, because an empty list would hide a typo. A server that was never read may have any name.
   */
  async function servers(
    exchange: Exchange,
    snapshot: Snapshot,
    { server, label, daemon = [], feature = [] }: Values<typeof NAMED>,
  ): Promise<readonly ServerPicture[]> {
    const named = namedServers(snapshot, server, label);
    // Try the named servers first, because they usually have the names.
    const isUnknown = (kind: "daemons" | "features") => (name: string) =>
      ![named, snapshot.servers].some((list) => list.some((picture) => namesOf(picture)[kind].has(name)));
    const daemons = daemon.filter(isUnknown("daemons"));
    const features = feature.filter(isUnknown("features"));
    if (daemons.length + features.length === 0) return named;
    if (named.some(({ server: { enabled }, collectedAt }) => enabled && collectedAt === null)) return named;
    const live = snapshot.servers.map(namesOf);
    const unknown = await ask(exchange, "unknownName", {
      daemons,
      features,
      live: {
        daemons: live.flatMap((known) => [...known.daemons]),
        features: live.flatMap((known) => [...known.features]),
      },
    });
    if (unknown === null) return named;
    const { what, name, closest } = unknown;
    throw new ApiError(
      "NOT_FOUND",
      `No license server has or had a ${what} ${shown(name)}.${closestWords(closest)}`,
    );
  }

  return {
    servers,
    /** Answers from history. `check` may throw before the answer is sent. */
    async answer<Name extends Exclude<QueryName<HistoryAnswers>, "unknownName">>(
      exchange: Exchange,
      name: Name,
      params: QueryParams<HistoryAnswers, Name>,
      check: (answer: QueryResult<HistoryAnswers, Name>) => void = () => {},
    ): Promise<Response> {
      const answer = await ask(exchange, name, params);
      check(answer);
      return send(exchange.request, answer);
    },
    /**
     * Resolves a query to its servers and the worker's input. Throws INVALID_QUERY for its range, then NOT_FOUND for
     * unknown names.
     */
    async read<R extends object>(exchange: Exchange, query: HistoryQuery, rangeOf: ReadRange<R>) {
      const now = clock.now();
      const { daemon = null, feature = null, user = null, host = null } = query;
      const range = rangeOf(query.start, query.end, now);
      const snapshot = snapshotFor(exchange);
      return {
        servers: await servers(exchange, snapshot, query),
        asked: {
          now,
          intervals: Object.fromEntries(
            live.snapshot().servers.map(({ server: { id, intervalMs } }) => [id, intervalMs]),
          ),
          ...range,
          filter: {
            ...(exchange.sites !== undefined && { sites: exchange.sites }),
            servers: byLabels(snapshot, query).server ?? null,
            daemons: daemon,
            features: feature,
            users: user,
            hosts: host,
          },
          timezone: query.timezone ?? settings().timezone,
          ...storedPage(query),
          ...formOf(query, exchange),
          anonymize: exchange.caller?.anonymize === true,
        },
      };
    },
  };
}
