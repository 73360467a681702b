import { sortedBy } from "../../domain/order.ts";
import type { FeaturePicture, ServerPicture } from "../../domain/picture.ts";
import { ExpirationRecord, FeatureRecord, ServerRecord, UserRecord } from "../../domain/records.ts";
import { poolExpiries } from "../../domain/summary.ts";
import { formOf, send, valueAnswer } from "../answers/answer.ts";
import { type ListKind, listAnswer } from "../answers/list.ts";
import { type Exchange, requirePermission } from "../exchange.ts";
import { serverJson } from "../picture.ts";
import { openRange } from "../query-time.ts";
import { expirationRecords, featureRecord, serverRecord, summaryRecord, userRecords } from "../records.ts";
import { expiryFilter } from "../routes/calendar.ts";
import type { RouteDeps } from "../routes/deps.ts";
import { forcePoll } from "../routes/rescan.ts";
import { checkManagers } from "../routes/servers.ts";
import { byLabels, type Join, knownServer, namedServers, perPicture } from "../snapshot.ts";
import type { ListQuery, Lists } from "./lists.ts";

const FEATURES: ListKind<FeatureRecord> = {
  plural: "features",
  record: FeatureRecord,
  identity: ["server", "daemon", "name"],
};
/** Order in which the longest holders come first. */
const BY_START = { field: "startedAt", descending: false } as const;
const USERS: ListKind<UserRecord> = {
  plural: "users",
  record: UserRecord,
  identity: ["server", "daemon", "feature", "kind", "user", "host", "display", "handle"],
  sort: BY_START,
};
const SERVERS: ListKind<ServerRecord> = { plural: "servers", record: ServerRecord, identity: ["id"] };
const EXPIRATIONS: ListKind<ExpirationRecord> = {
  plural: "expirations",
  record: ExpirationRecord,
  identity: ["server", "daemon", "feature", "pool"],
};

/**
 * Answers lists from the live picture. Answers to queries without filters are joined from parts that are
 * cached per server.
 */
export function createLiveLists(deps: RouteDeps): Lists {
  const { alerts, snapshotFor, answers, pictures, reader } = deps;
  const recordOf = perPicture(serverRecord);
  const licensesOf = perPicture((picture) => {
    const features = picture.features.map((feature) => featureRecord(picture.server, feature));
    return JSON.stringify({ ...serverRecord(picture), features });
  });
  const featuresOf = perPicture(({ server, features }) => {
    const records = features.map((feature) => featureRecord(server, feature));
    return JSON.stringify(records).slice(1, -1);
  });
  const makePart = (hasRows: boolean) =>
    perPicture((picture) => serverJson(picture, pictures.numberOf(picture.server.id), hasRows));
  const [partOf, countsOf] = [makePart(true), makePart(false)];

  async function asked(exchange: Exchange, query: ListQuery<"features"> | ListQuery<"users">) {
    const snapshot = snapshotFor(exchange);
    const servers = await reader.servers(exchange, snapshot, query);
    return { snapshot, servers, form: formOf(query, exchange) };
  }

  return {
    ofSites: false,
    async licenses(exchange, query) {
      const { server: named = null, refresh } = byLabels(snapshotFor(exchange), query);
      if (refresh === true) {
        requirePermission(exchange, "refresh", "refresh=true");
        exchange.listener?.timeout(exchange.request, 0);
        await forcePoll(deps, exchange, named);
      }
      const snapshot = snapshotFor(exchange);
      const servers = namedServers(snapshot, named);
      const counts = alerts.counts(named);
      const make = (join: Join) => {
        const summary = JSON.stringify(summaryRecord({ ...snapshot, servers }, counts));
        return join('{"servers":[', servers.map(licensesOf), `],"summary":${summary}}`);
      };
      return answers.respond(exchange, snapshot, "json", make, JSON.stringify(counts));
    },

    async features(exchange, query) {
      const { snapshot, servers, form } = await asked(exchange, query);
      return answers.respond(exchange, snapshot, form.format, (join) => {
        if (form.format === "json" && isPlain(query)) {
          const total = servers.reduce((sum, { features }) => sum + features.length, 0);
          return join('{"features":[', servers.map(featuresOf), listEnd(total));
        }
        const matched = servers.flatMap(({ server, features }) =>
          features
            .filter((feature) => isWanted(feature, query))
            .map((feature) => featureRecord(server, feature)),
        );
        return listAnswer(FEATURES, matched, query, form);
      });
    },

    async users(exchange, query) {
      const { snapshot, servers, form } = await asked(exchange, query);
      return answers.respond(exchange, snapshot, form.format, (join) => {
        if (form.format === "json" && isPlain(query)) {
          const rows = rowsByStart(servers);
          return join('{"users":[', rows, listEnd(rows.length));
        }
        const isAsked = userFilter(query);
        const matched = servers.flatMap(({ server, features }) =>
          features
            .filter(({ name }) => query.feature?.includes(name) ?? true)
            .flatMap((feature) => userRecords(server, feature).filter(isAsked)),
        );
        return listAnswer(USERS, matched, query, form);
      });
    },

    servers(exchange, query) {
      const form = formOf(query, exchange);
      const snapshot = snapshotFor(exchange);
      const servers = namedServers(snapshot, query.server, query.label);
      checkManagers(query.manager, snapshot);
      return answers.respond(exchange, snapshot, form.format, () => {
        const matched = servers
          .map(recordOf)
          .filter(
            ({ manager, status, state }) =>
              (query.manager?.includes(manager) ?? true) &&
              (query.status?.includes(status) ?? true) &&
              (query.state?.includes(state) ?? true),
          );
        return listAnswer(SERVERS, matched, query, form);
      });
    },

    server(exchange, id) {
      const snapshot = snapshotFor(exchange);
      const picture = knownServer(snapshot, id);
      return answers.respond(exchange, snapshot, "json", () => valueAnswer(recordOf(picture)));
    },

    async expirations(exchange, query) {
      const { servers, asked: range } = await reader.read(exchange, query, openRange);
      const { days = Infinity, sort } = query;
      const found = poolExpiries(servers, query.permanent === true).filter(expiryFilter(range));
      const rows = expirationRecords(found, servers, range.now).filter(
        ({ daysLeft }) => (daysLeft ?? Infinity) <= days,
      );
      const { limit, offset } = range;
      const page = { limit, offset, ...(sort !== undefined && { sort }) };
      return send(exchange.request, listAnswer(EXPIRATIONS, rows, page, range));
    },

    summary(exchange, query) {
      const snapshot = snapshotFor(exchange);
      const { server: named = null } = byLabels(snapshot, query);
      const servers = namedServers(snapshot, named);
      const counts = alerts.counts(named);
      const make = () => valueAnswer(summaryRecord({ ...snapshot, servers }, counts));
      return answers.respond(exchange, snapshot, "json", make, JSON.stringify(counts));
    },

    picture(exchange, query) {
      const snapshot = snapshotFor(exchange);
      const servers = namedServers(snapshot, query.server ?? null);
      const countsOnly = exchange.caller?.countsOnly === true;
      return answers.respond(
        exchange,
        snapshot,
        "json",
        (join) => join('{"servers":[', servers.map(countsOnly ? countsOf : partOf), "]}"),
        countsOnly ? "counts" : "",
      );
    },

    featuresNamed: (servers, name, daemon) =>
      servers.flatMap(({ server, features }) =>
        features
          .filter((each) => each.name === name && (daemon === undefined || each.daemon === daemon))
          .map((each) => featureRecord(server, each)),
      ),

    expiries: (servers) => poolExpiries(servers),
  };
}

const listEnd = (total: number) => `],"total":${total},"limit":null,"offset":0}`;

/** Reports whether a query has no filter, order or page. */
function isPlain({ format: _, bom: __, ...rest }: ListQuery<"features"> | ListQuery<"users">): boolean {
  return Object.keys(rest).length === 0;
}

function isWanted({ name, daemon, state, utilization }: FeaturePicture, query: ListQuery<"features">) {
  const { search, min_utilization: least } = query;
  return (
    (query.daemon?.includes(daemon) ?? true) &&
    (query.feature?.includes(name) ?? true) &&
    (query.state?.includes(state) ?? true) &&
    (search === undefined || name.toLowerCase().includes(search.toLowerCase())) &&
    (least === undefined || (utilization !== null && utilization >= least))
  );
}

function userFilter({ daemon, user, host, search, kind }: ListQuery<"users">): (row: UserRecord) => boolean {
  const hosts = host && new Set(host.map((name) => name.toLowerCase()));
  const part = search && lowerAscii(search);
  return (row) =>
    (daemon?.includes(row.daemon) ?? true) &&
    (user === undefined || (row.user !== null && user.includes(row.user))) &&
    (hosts === undefined || (row.host !== null && hosts.has(row.host.toLowerCase()))) &&
    (part === undefined ||
      [row.user, row.host].some((name) => name !== null && lowerAscii(name).includes(part))) &&
    (kind?.includes(row.kind) ?? true);
}

/** Lowers A to Z only, as a hub's `lower(… COLLATE "C")` does. */
const lowerAscii = (text: string) => text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());

const rowsOf = perPicture(({ server, features }) => {
  const records = features.flatMap((feature) => userRecords(server, feature));
  return sortedBy(records, BY_START, ...USERS.identity).map((record) => ({
    start: record.startedAt === null ? Infinity : Date.parse(record.startedAt),
    text: JSON.stringify(record),
  }));
});

/**
 * Returns the serialized rows of all servers, sorted by start. The rows of each server are sorted and cached with its
 * picture, so a poll rebuilds only one server's rows. Servers in id order and a stable sort keep ties in identity order.
 */
function rowsByStart(servers: readonly ServerPicture[]): readonly string[] {
  const byId = servers.toSorted((a, b) => (a.server.id < b.server.id ? -1 : 1));
  const sorted = byId.flatMap(rowsOf).sort((a, b) => (a.start === b.start ? 0 : a.start - b.start));
  return sorted.map(({ text }) => text);
}
