import type { Static } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { FeaturePicture, ServerPicture } from "../../domain/picture.ts";
import { FeatureRecord, UserRecord } from "../../domain/records.ts";
import { DATA_STATES, USER_KINDS } from "../../domain/words.ts";
import { formOf } from "../answers/answer.ts";
import { type ListKind, listAnswer, listDoc, NOT_MODIFIED, ordered, sortable } from "../answers/list.ts";
import { documented } from "../docs/documented.ts";
import { type Exchange, gated } from "../exchange.ts";
import { decimal, LIVE_LIST, NAMED, PEOPLE, queryOf, sortBy, text, wordList } from "../query.ts";
import { featureRecord, userRecords } from "../records.ts";
import { perPicture } from "../snapshot.ts";
import type { RouteDeps } from "./deps.ts";

const FEATURES: ListKind<FeatureRecord> = {
  plural: "features",
  record: FeatureRecord,
  identity: ["server", "daemon", "name"],
};
const FEATURE_QUERY = queryOf({
  ...NAMED,
  search: text("Part of the name, whatever the case.", "schema"),
  min_utilization: decimal("Least utilization in percent.", { minimum: 0, maximum: 1_000_000 }),
  state: wordList(DATA_STATES, "How far the numbers can be trusted."),
  sort: sortBy(sortable<FeatureRecord>(FeatureRecord)),
  ...LIVE_LIST,
});

/** The longest holders stand first; unknown starts come last. */
const BY_START = { field: "startedAt", descending: false } as const;
const USERS: ListKind<UserRecord> = {
  plural: "users",
  record: UserRecord,
  identity: ["server", "daemon", "feature", "kind", "user", "host", "display", "handle"],
  sort: BY_START,
};
const USER_QUERY = queryOf({
  ...NAMED,
  ...PEOPLE,
  kind: wordList(USER_KINDS, "Checkouts, reservations, queue entries, assigned people."),
  sort: sortBy(sortable<UserRecord>(UserRecord)),
  ...LIVE_LIST,
});

type FeatureQuery = Static<typeof FEATURE_QUERY.schema>;
type UserQuery = Static<typeof USER_QUERY.schema>;

/**
 * Features of all servers; and who holds their seats, for whom seats are kept, and who waits. A plain question is
 * answered from parts that are kept by server.
 */
export function seatRoutes({ reader, snapshotFor, answers }: RouteDeps) {
  const featuresOf = perPicture(({ server, features }) => {
    const records = features.map((feature) => featureRecord(server, feature));
    return JSON.stringify(records).slice(1, -1);
  });

  async function asked(exchange: Exchange, query: FeatureQuery | UserQuery) {
    const snapshot = snapshotFor(exchange);
    const servers = await reader.servers(exchange, snapshot, query);
    return { snapshot, servers, form: formOf(query, exchange) };
  }

  return new Elysia({ name: "routes/seats" })
    .use(gated)
    .get(
      "/api/licenses/features",
      async ({ exchange, query }) => {
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
      documented("read", "Licenses", "Features of all servers", {
        query: FEATURE_QUERY,
        answers: { 200: listDoc("features", FeatureRecord, "Features"), 304: NOT_MODIFIED },
      }),
    )
    .get(
      "/api/licenses/users",
      async ({ exchange, query }) => {
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
      documented("holders", "Licenses", "Checkouts, reservations, queue entries and assigned people", {
        description: "Sorted by start unless told otherwise; rows whose start is not known come last.",
        query: USER_QUERY,
        answers: { 200: listDoc("users", UserRecord, "Users"), 304: NOT_MODIFIED },
      }),
    );
}

const listEnd = (total: number) => `],"total":${total},"limit":null,"offset":0}`;

/** Whether a query asks for everything. */
function isPlain({ format: _, bom: __, ...narrowed }: FeatureQuery | UserQuery): boolean {
  return Object.keys(narrowed).length === 0;
}

function isWanted({ name, daemon, state, utilization }: FeaturePicture, query: FeatureQuery): boolean {
  const { search, min_utilization: least } = query;
  return (
    (query.daemon?.includes(daemon) ?? true) &&
    (query.feature?.includes(name) ?? true) &&
    (query.state?.includes(state) ?? true) &&
    (search === undefined || name.toLowerCase().includes(search.toLowerCase())) &&
    (least === undefined || (utilization !== null && utilization >= least))
  );
}

function userFilter({ daemon, user, host, kind }: UserQuery): (row: UserRecord) => boolean {
  const hosts = host && new Set(host.map((name) => name.toLowerCase()));
  return (row) =>
    (daemon?.includes(row.daemon) ?? true) &&
    (user === undefined || (row.user !== null && user.includes(row.user))) &&
    (hosts === undefined || (row.host !== null && hosts.has(row.host.toLowerCase()))) &&
    (kind?.includes(row.kind) ?? true);
}

/** Rows as they are kept: written out, with what they are sorted by. */
const rowsOf = perPicture(({ server, features }) => {
  const records = features.flatMap((feature) => userRecords(server, feature));
  return ordered(records, BY_START, USERS.identity).map((record) => ({
    // An unknown start puts the row last.
    start: record.startedAt === null ? Infinity : Date.parse(record.startedAt),
    text: JSON.stringify(record),
  }));
});

/**
 * All rows of all servers by start, written out. Each server's rows are sorted and kept with its picture, so that after
 * a poll only that server's are made again and the rest is merged: servers in the order of their ids and a stable sort
 * keep ties in the order of identity.
 */
function rowsByStart(servers: readonly ServerPicture[]): readonly string[] {
  const byId = servers.toSorted((a, b) => (a.server.id < b.server.id ? -1 : 1));
  const sorted = byId.flatMap(rowsOf).sort((a, b) => (a.start === b.start ? 0 : a.start - b.start));
  return sorted.map(({ text }) => text);
}
