import { ApiError } from "../domain/errors.ts";
import { textRule } from "../domain/text-types.ts";
import { isZone } from "../domain/time/zone.ts";
import type { SnapshotFor } from "./anonymous/view.ts";
import { askedServers } from "./answers/asked-servers.ts";
import { chooseFormat } from "./answers/format.ts";
import type { HttpDeps } from "./deps.ts";
import type { Exchange } from "./exchange.ts";
import type { Asker } from "./history.ts";
import { type Parameter, single } from "./parameters.ts";
import { checkRange, openRange } from "./query-time.ts";

/** A longer range is a slip of the keyboard. */
const MAX_RANGE_MS = 20 * 366 * 86_400_000;

/** What a query over history may name, as Elysia hands it over. */
interface HistoryQuery {
  readonly server?: readonly string[];
  readonly daemon?: readonly string[];
  readonly feature?: readonly string[];
  readonly user?: readonly string[];
  readonly host?: readonly string[];
  readonly start?: string;
  readonly end?: string;
  readonly timezone?: string;
  readonly limit?: number;
  readonly offset?: number;
  readonly format?: "json" | "csv";
  readonly bom?: boolean;
}

/** A request for history, as its route gets it. */
interface Asking {
  readonly request: Request;
  readonly exchange: Exchange;
  readonly query: HistoryQuery;
}

type ReadRange<R> = (start: string | undefined, end: string | undefined, now: number) => R;

/**
 * Reads the query of a route over history. Throws INVALID_QUERY for its range, then NOT_FOUND for names that neither
 * the live picture nor history knows.
 */
export function createHistoryReader(
  { history, clock, settings, live }: Pick<HttpDeps, "history" | "clock" | "settings" | "live">,
  snapshotFor: SnapshotFor,
) {
  return async <R extends object>({ request, exchange, query }: Asking, rangeOf: ReadRange<R>) => {
    const now = clock.now();
    const { server = null, daemon = null, feature = null, user = null, host = null } = query;
    const range = rangeOf(query.start, query.end, now);
    const asker: Asker = { request, caller: exchange.caller };
    return {
      asker,
      /** The servers that the query is about, in the order of the config. */
      servers: await askedServers(history, asker, snapshotFor(exchange), query),
      /** What the worker must know. */
      asked: {
        now,
        intervals: Object.fromEntries(
          live.snapshot().servers.map(({ server: { id, intervalMs } }) => [id, intervalMs]),
        ),
        ...range,
        filter: { servers: server, daemons: daemon, features: feature, users: user, hosts: host },
        timezone: query.timezone ?? settings().timezone,
        limit: query.limit ?? 100,
        offset: query.offset ?? 0,
        format: chooseFormat(query, request.headers.get("accept")),
        anonymize: exchange.caller?.anonymize === true,
      },
    };
  };
}

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
  return single(ZONE, {
    type: "string",
    description: `${description} Default: the daemon's zone.`,
    example: "Europe/Berlin",
  });
}
