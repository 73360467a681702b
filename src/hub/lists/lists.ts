import type { TSchema } from "@sinclair/typebox";
import { ApiError } from "../../domain/errors.ts";
import { type SortBy, sortedBy } from "../../domain/order.ts";
import type { ServerPicture } from "../../domain/picture.ts";
import { ExpirationRecord, FeatureRecord, ServerRecord, UserRecord } from "../../domain/records.ts";
import { encode, formOf, jsonAnswer, responseOf, send, valueAnswer } from "../../http/answers/answer.ts";
import { rowsAnswer, sortOf } from "../../http/answers/list.ts";
import { type Exchange, requirePermission } from "../../http/exchange.ts";
import type { Lists } from "../../http/lists/lists.ts";
import { serverJson } from "../../http/picture.ts";
import { storedPage } from "../../http/query.ts";
import { openRange } from "../../http/query-time.ts";
import { serverRecord } from "../../http/records.ts";
import type { RouteDeps } from "../../http/routes/deps.ts";
import { forcePoll } from "../../http/routes/rescan.ts";
import { checkManagers } from "../../http/routes/servers.ts";
import { knownServer } from "../../http/snapshot.ts";
import type { Pool } from "../database/connect.ts";
import type { Reads } from "../database/reads.ts";
import { numberedPictures } from "../streams/pictures.ts";
import { type Directory, serversIn } from "./directory.ts";
import { expirationPage, expiringPools } from "./expirations.ts";
import { featurePage, userPage } from "./features-and-users.ts";
import { serverRecords } from "./servers.ts";
import { fleetSummary } from "./summary.ts";

/** Maximum number of events in a calendar; the soonest are kept. */
const MAX_EXPIRIES = 20_000;
const MAX_NAMED = 100;

interface HubListsDeps {
  /** The primary, for reads that must be as new as the stream. */
  readonly pool: Pool;
  readonly reads: Pick<Reads, "pool">;
  readonly directory: Directory;
}

export function createHubLists(
  deps: Pick<
    RouteDeps,
    "audit" | "clock" | "collector" | "live" | "pictures" | "reader" | "settings" | "snapshotFor"
  >,
  { pool, reads, directory }: HubListsDeps,
): Lists {
  const { clock, snapshotFor, pictures, reader } = deps;
  const same = (picture: ServerPicture) => picture;
  const hideFrom = ({ caller }: Exchange) => (caller?.anonymize === true ? pictures.anonymous : same);

  function headsOf(exchange: Exchange, ids: readonly string[] | null): readonly ServerPicture[] {
    const { servers } = snapshotFor(exchange);
    if (ids === null) return servers;
    const wanted = new Set(ids);
    return servers.filter(({ server }) => wanted.has(server.id));
  }

  async function chosen(
    exchange: Exchange,
    query: Parameters<typeof serversIn>[1] & {
      readonly daemon?: readonly string[];
      readonly feature?: readonly string[];
    },
  ) {
    const ids = serversIn(directory, query);
    const { daemon = [], feature = [] } = query;
    await reader.servers(exchange, snapshotFor(exchange), { daemon, feature });
    return ids;
  }

  async function allFeatures(from: Pool, servers: readonly string[], exchange: Exchange) {
    if (servers.length === 0) return [];
    const all = { servers, sort: null, limit: 1_000_000, offset: 0 };
    return (await featurePage(from, all, clock.now(), hideFrom(exchange))).rows;
  }

  /** Answers a page of rows, in the form that the query asks for. */
  function rowsOf(
    exchange: Exchange,
    query: Parameters<typeof storedPage>[0] & Parameters<typeof formOf>[0],
    plural: string,
    record: TSchema,
    { rows, total }: { readonly rows: readonly object[]; readonly total: number },
  ) {
    const form = { ...storedPage(query), ...formOf(query, exchange) };
    return send(exchange.request, rowsAnswer(plural, record, rows, total, form));
  }

  return {
    ofSites: true,
    async licenses(exchange, query) {
      const { limit, offset } = storedPage(query);
      const ids = serversIn(directory, query);
      if (query.refresh === true) {
        requirePermission(exchange, "refresh", "refresh=true");
        exchange.listener?.timeout(exchange.request, 0);
        await forcePoll(deps, exchange, ids);
      }
      const heads = headsOf(exchange, ids);
      const page = heads.slice(offset, offset + limit);
      // Read from the primary: a replica may not have the results of this poll yet.
      const from = query.refresh === true ? pool : reads.pool();
      const pageIds = page.map(({ server }) => server.id);
      const records = serverRecords(directory, page);
      const [features, summary] = await Promise.all([
        allFeatures(from, pageIds, exchange),
        fleetSummary(from, directory, ids),
      ]);
      const byServer = Map.groupBy(features, ({ server }) => server);
      const servers = records.map((one) => ({ ...one, features: byServer.get(one.id) ?? [] }));
      return send(exchange.request, valueAnswer({ servers, total: heads.length, limit, offset, summary }));
    },

    async features(exchange, query) {
      const servers = await chosen(exchange, query);
      const asked = { ...query, ...storedPage(query), servers, sort: sortOf(query.sort) };
      const found = await featurePage(reads.pool(), asked, clock.now(), hideFrom(exchange));
      return rowsOf(exchange, query, "features", FeatureRecord, found);
    },

    async users(exchange, query) {
      const servers = await chosen(exchange, query);
      const anonymize = exchange.caller?.anonymize === true;
      const asked = { ...query, ...storedPage(query), servers, sort: sortOf(query.sort), anonymize };
      const found = await userPage(reads.pool(), asked, clock.now(), hideFrom(exchange));
      return rowsOf(exchange, query, "users", UserRecord, found);
    },

    servers(exchange, query) {
      const { limit, offset } = storedPage(query);
      checkManagers(query.manager, snapshotFor(exchange));
      const matched = headsOf(exchange, serversIn(directory, query)).filter(
        ({ server, status, state }) =>
          (query.manager?.includes(server.manager) ?? true) &&
          (query.status?.includes(status) ?? true) &&
          (query.state?.includes(state) ?? true),
      );
      const page = sorted(matched, sortOf(query.sort)).slice(offset, offset + limit);
      const found = { rows: serverRecords(directory, page), total: matched.length };
      return rowsOf(exchange, query, "servers", ServerRecord, found);
    },

    server(exchange, id) {
      const [one] = serverRecords(directory, [knownServer(snapshotFor(exchange), id)]);
      return responseOf(valueAnswer(one as ServerRecord));
    },

    async expirations(exchange, query) {
      const now = clock.now();
      const range = openRange(query.start, query.end, now);
      const servers = await chosen(exchange, query);
      const page = { ...storedPage(query), servers, sort: sortOf(query.sort) };
      const { days = null, permanent = false } = query;
      const asked = { ...query, ...page, ...range, days, permanent };
      const found = await expirationPage(reads.pool(), asked, headsOf(exchange, servers), now);
      return rowsOf(exchange, query, "expirations", ExpirationRecord, found);
    },

    async summary(_exchange, query) {
      return responseOf(
        valueAnswer(await fleetSummary(reads.pool(), directory, serversIn(directory, query))),
      );
    },

    async picture(exchange, query) {
      if (query.site === undefined && query.server === undefined)
        throw new ApiError(
          "INVALID_QUERY",
          "The picture of a whole fleet is too large for one answer: name site= or server=.",
        );
      const ids = serversIn(directory, query) ?? [];
      const whole = await numberedPictures(pool, ids, clock.now());
      const hasRows = exchange.caller?.countsOnly !== true;
      const hide = hideFrom(exchange);
      const parts = whole.map(({ number, picture }) => serverJson(hide(picture), number, hasRows));
      return send(exchange.request, jsonAnswer(encode(`{"servers":[${parts}]}`)));
    },

    async featuresNamed(servers, name, daemon) {
      const asked = {
        servers: servers.map(({ server }) => server.id),
        feature: [name],
        ...(daemon !== undefined && { daemon: [daemon] }),
        sort: null,
        limit: MAX_NAMED,
        offset: 0,
      };
      return (await featurePage(reads.pool(), asked, clock.now(), same)).rows;
    },

    expiries: (servers) =>
      expiringPools(
        reads.pool(),
        servers.map(({ server }) => server.id),
        MAX_EXPIRIES,
      ),
  };
}

function sorted(
  heads: readonly ServerPicture[],
  sort: SortBy<keyof ServerRecord> | null,
): readonly ServerPicture[] {
  if (sort === null) return heads;
  const byId = new Map(heads.map((head) => [head.server.id, head]));
  const records = sortedBy(heads.map(serverRecord), sort, "id");
  return records.flatMap(({ id }) => byId.get(id) ?? []);
}
