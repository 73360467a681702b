import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { ApiError } from "../../domain/errors.ts";
import { Picture } from "../../domain/live-picture.ts";
import type { ServerPicture } from "../../domain/picture.ts";
import { ExpirationRecord, FeatureRecord, ServerRecord, UserRecord } from "../../domain/records.ts";
import { FleetSummary } from "../../domain/service/sites.ts";
import { DATA_STATES, SERVER_STATUSES, USER_KINDS } from "../../domain/words.ts";
import { encode, formOf, jsonAnswer, send, valueAnswer } from "../../http/answers/answer.ts";
import { listDoc, ordered, rowsAnswer, type Sort, sortable, sortOf } from "../../http/answers/list.ts";
import { documented } from "../../http/docs/documented.ts";
import { type Exchange, gated, requirePermission } from "../../http/exchange.ts";
import { serverJson } from "../../http/picture.ts";
import {
  decimal,
  flag,
  integer,
  names,
  PEOPLE,
  queryOf,
  sortBy,
  storedPage,
  text,
  wordList,
} from "../../http/query.ts";
import { endTime, openRange, startTime } from "../../http/query-time.ts";
import { serverRecord } from "../../http/records.ts";
import type { RouteDeps } from "../../http/routes/deps.ts";
import { ServerWithFeatures } from "../../http/routes/licenses.ts";
import { forcePoll, POLL_ERRORS } from "../../http/routes/rescan.ts";
import { checkManagers } from "../../http/routes/servers.ts";
import { knownServer } from "../../http/snapshot.ts";
import type { Pool } from "../database/connect.ts";
import type { Reads } from "../database/reads.ts";
import type { Directory } from "../lists/directory.ts";
import { expirationPage } from "../lists/expirations.ts";
import { type FeatureSort, featurePage } from "../lists/features.ts";
import { NAMED_AT_HUB, PAGE, SITE, serversIn } from "../lists/scope.ts";
import { serverRecords } from "../lists/servers.ts";
import { fleetSummary } from "../lists/summary.ts";
import { type UserSort, userPage } from "../lists/users.ts";
import { numberedPictures } from "../streams/pictures.ts";

const Licenses = { ...listDoc("servers", ServerWithFeatures, "Servers", { summary: FleetSummary }) };

const FEATURES = queryOf({
  ...NAMED_AT_HUB,
  search: text("Part of the name, whatever the case.", "schema"),
  min_utilization: decimal("Least utilization in percent.", { minimum: 0, maximum: 1_000_000 }),
  state: wordList(DATA_STATES, "How far the numbers can be trusted."),
  sort: sortBy(["site", ...sortable<FeatureRecord>(FeatureRecord)] as readonly FeatureSort[]),
  ...PAGE,
});
const USERS = queryOf({
  ...NAMED_AT_HUB,
  ...PEOPLE,
  search: text("Part of the user or the host, whatever the case of a to z.", "ada"),
  kind: wordList(USER_KINDS, "Checkouts, reservations, queue entries, assigned people."),
  sort: sortBy(["site", ...sortable<UserRecord>(UserRecord)] as readonly UserSort[]),
  ...PAGE,
});
const SERVERS = queryOf({
  ...SITE,
  server: NAMED_AT_HUB.server,
  label: NAMED_AT_HUB.label,
  manager: names("Names of license managers, as the configs of the sites have them.", "flexnet"),
  status: wordList(SERVER_STATUSES, "Reachability."),
  state: wordList(DATA_STATES, "Outcome of the last poll."),
  sort: sortBy(["site", ...sortable<ServerRecord>(ServerRecord)]),
  ...PAGE,
});
const EXPIRATIONS = queryOf({
  ...NAMED_AT_HUB,
  start: startTime("Only what expires at this time or later."),
  end: endTime("Only what expires before this time; a bare date takes in its day."),
  days: integer("Only what expires within so many days, and what has expired.", {
    minimum: 0,
    maximum: 36_500,
  }),
  permanent: flag("Whether pools that never expire are listed too, at the end. Default: false."),
  sort: sortBy(["site", ...sortable<ExpirationRecord>(ExpirationRecord)]),
  ...PAGE,
});
const CHOSEN = { ...SITE, server: NAMED_AT_HUB.server, label: NAMED_AT_HUB.label };
const REFRESH = flag(
  "true polls first and waits, as POST /api/licenses/rescan does; needs the role operator.",
);
const LICENSES = queryOf({ refresh: REFRESH, ...CHOSEN, limit: PAGE.limit, offset: PAGE.offset });
const SUMMARY = queryOf(CHOSEN);
const PICTURE = queryOf({ ...SITE, server: NAMED_AT_HUB.server });
const ID = Type.Object({ id: Type.String({ description: "Id of the server", example: "muc:eda" }) });

interface ListDeps {
  /** What must be as new as the stream. */
  readonly pool: Pool;
  readonly reads: Pick<Reads, "pool">;
  readonly directory: Directory;
}

/** What the pictures of all sites say, asked of PostgreSQL: no list is in the hub's memory. */
export function listRoutes(
  deps: Pick<
    RouteDeps,
    "audit" | "clock" | "collector" | "live" | "pictures" | "reader" | "settings" | "snapshotFor"
  >,
  { pool, reads, directory }: ListDeps,
) {
  const { clock, snapshotFor, pictures, reader } = deps;
  const same = (picture: ServerPicture) => picture;
  const hideFrom = ({ caller }: Exchange) => (caller?.anonymize === true ? pictures.anonymous : same);
  /** The heads of some servers, null = all, as the caller may see them. */
  const headsOf = (exchange: Exchange, ids: readonly string[] | null) => {
    const { servers } = snapshotFor(exchange);
    if (ids === null) return servers;
    const wanted = new Set(ids);
    return servers.filter(({ server }) => wanted.has(server.id));
  };

  return new Elysia({ name: "routes/fleet-lists" })
    .use(gated)
    .get(
      "/api/licenses",
      async ({ request, exchange, query }) => {
        const { limit, offset } = storedPage(query);
        const ids = serversIn(directory, query);
        if (query.refresh === true) {
          requirePermission(exchange, "refresh", "refresh=true");
          exchange.listener?.timeout(request, 0);
          await forcePoll(deps, exchange, ids);
        }
        const heads = headsOf(exchange, ids);
        const page = heads.slice(offset, offset + limit);
        // What was just polled may not have reached a replica yet.
        const from = query.refresh === true ? pool : reads.pool();
        const records = serverRecords(directory, page);
        const [features, summary] = await Promise.all([
          pageFeatures(
            from,
            page.map(({ server }) => server.id),
            exchange,
          ),
          fleetSummary(from, directory, ids),
        ]);
        const byServer = Map.groupBy(features, ({ server }) => server);
        const servers = records.map((one) => ({ ...one, features: byServer.get(one.id) ?? [] }));
        return send(request, valueAnswer({ servers, total: heads.length, limit, offset, summary }));
      },
      documented("read", "Licenses", "Everything: servers, features, totals", {
        query: LICENSES,
        answers: {
          200: {
            description: "Servers with their features, and the totals of all that match",
            schema: Licenses.schema,
          },
        },
        errors: POLL_ERRORS,
      }),
    )
    .get(
      "/api/licenses/features",
      async ({ request, exchange, query }) => {
        const servers = serversIn(directory, query);
        await reader.servers(exchange, snapshotFor(exchange), {
          daemon: query.daemon ?? [],
          feature: query.feature ?? [],
        });
        const page = storedPage(query);
        const { total, rows } = await featurePage(
          reads.pool(),
          { ...query, ...page, servers, sort: sortOf(query.sort) },
          clock.now(),
          hideFrom(exchange),
        );
        return send(
          request,
          rowsAnswer("features", FeatureRecord, rows, total, { ...page, ...formOf(query, exchange) }),
        );
      },
      documented("read", "Licenses", "Features of all servers", {
        query: FEATURES,
        answers: { 200: listDoc("features", FeatureRecord, "Features") },
      }),
    )
    .get(
      "/api/licenses/users",
      async ({ request, exchange, query }) => {
        const servers = serversIn(directory, query);
        await reader.servers(exchange, snapshotFor(exchange), {
          daemon: query.daemon ?? [],
          feature: query.feature ?? [],
        });
        const page = storedPage(query);
        const sort = sortOf(query.sort) ?? { field: "startedAt", descending: false };
        const anonymize = exchange.caller?.anonymize === true;
        const { total, rows } = await userPage(
          reads.pool(),
          { ...query, ...page, servers, sort, anonymize },
          clock.now(),
          hideFrom(exchange),
        );
        return send(
          request,
          rowsAnswer("users", UserRecord, rows, total, { ...page, ...formOf(query, exchange) }),
        );
      },
      documented("holders", "Licenses", "Checkouts, reservations, queue entries and assigned people", {
        description: "Sorted by start unless told otherwise; rows whose start is not known come last.",
        query: USERS,
        answers: { 200: listDoc("users", UserRecord, "Users") },
      }),
    )
    .get(
      "/api/licenses/servers",
      async ({ request, exchange, query }) => {
        const { limit, offset } = storedPage(query);
        checkManagers(query.manager, snapshotFor(exchange));
        const matched = headsOf(exchange, serversIn(directory, query)).filter(
          ({ server, status, state }) =>
            (query.manager?.includes(server.manager) ?? true) &&
            (query.status?.includes(status) ?? true) &&
            (query.state?.includes(state) ?? true),
        );
        const page = sorted(matched, sortOf(query.sort)).slice(offset, offset + limit);
        const rows = serverRecords(directory, page);
        return send(
          request,
          rowsAnswer("servers", ServerRecord, rows, matched.length, {
            limit,
            offset,
            ...formOf(query, exchange),
          }),
        );
      },
      documented("read", "Licenses", "License servers", {
        query: SERVERS,
        answers: { 200: listDoc("servers", ServerRecord, "Servers") },
      }),
    )
    .get(
      "/api/licenses/servers/:id",
      async ({ exchange, params }) => {
        const [one] = serverRecords(directory, [knownServer(snapshotFor(exchange), params.id)]);
        return one as ServerRecord;
      },
      documented("read", "Licenses", "One license server", {
        params: ID,
        answers: { 200: { description: "Server", schema: ServerRecord } },
      }),
    )
    .get(
      "/api/licenses/summary",
      ({ query }) => fleetSummary(reads.pool(), directory, serversIn(directory, query)),
      documented("read", "Licenses", "Totals over all servers, or over those named", {
        query: SUMMARY,
        answers: { 200: { description: "Totals", schema: FleetSummary } },
      }),
    )
    .get(
      "/api/licenses/expirations",
      async ({ request, exchange, query }) => {
        const now = clock.now();
        const range = openRange(query.start, query.end, now);
        const servers = serversIn(directory, query);
        await reader.servers(exchange, snapshotFor(exchange), {
          daemon: query.daemon ?? [],
          feature: query.feature ?? [],
        });
        const page = storedPage(query);
        const { days = null, permanent = false } = query;
        const asked = { ...query, ...page, ...range, servers, days, permanent, sort: sortOf(query.sort) };
        const { total, rows } = await expirationPage(reads.pool(), asked, headsOf(exchange, servers), now);
        return send(
          request,
          rowsAnswer("expirations", ExpirationRecord, rows, total, { ...page, ...formOf(query, exchange) }),
        );
      },
      documented("read", "Licenses", "What expires when", {
        description:
          "Every pool that has a date, and with `permanent=true` those that never expire, the soonest first.",
        query: EXPIRATIONS,
        answers: { 200: listDoc("expirations", ExpirationRecord, "Expirations") },
      }),
    )
    .get(
      "/api/picture",
      async ({ request, exchange, query }) => {
        if (query.site === undefined && query.server === undefined)
          throw new ApiError(
            "INVALID_QUERY",
            "The picture of a whole fleet is too much for one answer: name site= or server=.",
          );
        const ids = serversIn(directory, query) ?? [];
        const whole = await numberedPictures(pool, ids, clock.now());
        const hasRows = exchange.caller?.countsOnly !== true;
        const hide = hideFrom(exchange);
        const parts = whole.map(({ number, picture }) => serverJson(hide(picture), number, hasRows));
        return send(request, jsonAnswer(encode(`{"servers":[${parts}]}`)));
      },
      documented("read", "Licenses", "Everything of a site or of some servers, slim", {
        query: PICTURE,
        answers: { 200: { description: "The picture", schema: Picture } },
        errors: ["INVALID_QUERY"],
      }),
    );

  async function pageFeatures(from: Pool, ids: readonly string[], exchange: Exchange) {
    if (ids.length === 0) return [];
    const all = { servers: ids, sort: null, limit: 1_000_000, offset: 0 };
    return (await featurePage(from, all, clock.now(), hideFrom(exchange))).rows;
  }
}

/** Heads in the order of one field of their records; as they came when none is named. */
function sorted(
  heads: readonly ServerPicture[],
  sort: Sort<keyof ServerRecord> | null,
): readonly ServerPicture[] {
  if (sort === null) return heads;
  const byId = new Map(heads.map((head) => [head.server.id, head]));
  const records = ordered(heads.map(serverRecord), sort, ["id"]);
  return records.flatMap(({ id }) => byId.get(id) ?? []);
}
