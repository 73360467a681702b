import type { Static } from "@sinclair/typebox";
import type { ServerPicture } from "../../domain/picture.ts";
import { ExpirationRecord, FeatureRecord, ServerRecord, UserRecord } from "../../domain/records.ts";
import type { PoolExpiry } from "../../domain/summary.ts";
import { DATA_STATES, SERVER_STATUSES, USER_KINDS } from "../../domain/words.ts";
import { MANAGERS } from "../../managers/registry.ts";
import { sortable } from "../answers/list.ts";
import type { Exchange } from "../exchange.ts";
import {
  decimal,
  flag,
  integer,
  LIVE_LIST,
  NAMED,
  names,
  PEOPLE,
  queryOf,
  STORED_LIST,
  sortBy,
  text,
  wordList,
} from "../query.ts";
import { endTime, startTime } from "../query-time.ts";

export const SITE = { site: names("Names of sites. An unknown name is answered with 404.", "muc") };

/** Throws NOT_FOUND for an unknown site. */
export type CheckSites = (names: readonly string[]) => void;

export type FeatureSort = Exclude<keyof FeatureRecord, "pools">;
export type UserSort = Exclude<keyof UserRecord, "reservedFor">;

/** Returns the queries of all lists. Only lists over several sites take `site`, and they always answer in pages. */
export function listQueries(ofSites: boolean) {
  const site = (ofSites ? SITE : {}) as typeof SITE;
  const named = { ...site, ...NAMED };
  const chosen = { ...site, server: NAMED.server, label: NAMED.label };
  const page = ofSites ? STORED_LIST : LIVE_LIST;
  const { limit, offset } = STORED_LIST;
  const sort = <F extends string>(fields: readonly F[]) =>
    sortBy((ofSites ? ["site", ...fields] : fields) as readonly F[]);
  return {
    licenses: queryOf({
      refresh: flag(
        "true polls first and waits, as POST /api/licenses/rescan does; needs the role operator.",
      ),
      ...chosen,
      ...((ofSites ? { limit, offset } : {}) as { limit: typeof limit; offset: typeof offset }),
    }),
    features: queryOf({
      ...named,
      search: text("Part of the name; case is ignored.", "schema"),
      min_utilization: decimal("Minimum utilization in percent.", { minimum: 0, maximum: 1_000_000 }),
      state: wordList(DATA_STATES, "How far the numbers can be trusted."),
      sort: sort<FeatureSort>(sortable<FeatureRecord>(FeatureRecord) as FeatureSort[]),
      ...page,
    }),
    users: queryOf({
      ...named,
      ...PEOPLE,
      search: text("Part of a user or host name; ASCII case is ignored.", "ada"),
      kind: wordList(USER_KINDS, "Checkouts, reservations, queue entries, assigned people."),
      sort: sort<UserSort>(sortable<UserRecord>(UserRecord) as UserSort[]),
      ...page,
    }),
    servers: queryOf({
      ...chosen,
      manager: names("Names of license managers as in the config.", MANAGERS[0] ?? ""),
      status: wordList(SERVER_STATUSES, "Reachability."),
      state: wordList(DATA_STATES, "Outcome of the last poll."),
      sort: sort(sortable<ServerRecord>(ServerRecord)),
      ...page,
    }),
    expirations: queryOf({
      ...named,
      start: startTime("Only licenses that expire at this time or later."),
      end: endTime("Only licenses that expire before this time; a bare date includes its day."),
      days: integer("Only licenses that expire within this number of days, and expired ones.", {
        minimum: 0,
        maximum: 36_500,
      }),
      permanent: flag("Also list pools that never expire, at the end. Default: false."),
      sort: sort(sortable<ExpirationRecord>(ExpirationRecord)),
      ...STORED_LIST,
    }),
    summary: queryOf(chosen),
    picture: queryOf({ ...site, server: NAMED.server }),
  };
}

type Queries = ReturnType<typeof listQueries>;
export type ListQuery<Name extends keyof Queries> = Static<Queries[Name]["schema"]>;

type Answered = Response | Promise<Response>;

/**
 * Answers questions about the current state. A daemon reads its live picture, a hub reads PostgreSQL.
 * Routes, schemas and documentation are the same for both.
 */
export interface Lists {
  /** Whether the answers cover several sites. */
  readonly ofSites: boolean;
  licenses(exchange: Exchange, query: ListQuery<"licenses">): Answered;
  features(exchange: Exchange, query: ListQuery<"features">): Answered;
  users(exchange: Exchange, query: ListQuery<"users">): Answered;
  servers(exchange: Exchange, query: ListQuery<"servers">): Answered;
  server(exchange: Exchange, id: string): Answered;
  expirations(exchange: Exchange, query: ListQuery<"expirations">): Answered;
  summary(exchange: Exchange, query: ListQuery<"summary">): Answered;
  picture(exchange: Exchange, query: ListQuery<"picture">): Answered;
  /** Returns the features of these servers with this name, and this daemon unless it is undefined. */
  featuresNamed(
    servers: readonly ServerPicture[],
    name: string,
    daemon: string | undefined,
  ): readonly FeatureRecord[] | Promise<readonly FeatureRecord[]>;
  /** Returns the expiring pools of these servers; pools of one feature keep their order. */
  expiries(servers: readonly ServerPicture[]): readonly PoolExpiry[] | Promise<readonly PoolExpiry[]>;
}
