import type { FeaturePicture, ServerPicture } from "../../domain/picture.ts";
import { staleFeature } from "../../domain/polls/feature-picture.ts";
import { serverAt } from "../../domain/server.ts";

import type { UserKind } from "../../domain/words.ts";
import type { FeatureSort, UserSort } from "../../http/lists/lists.ts";
import { featureRecord, userRecords } from "../../http/records.ts";
import { type Pool, type Sql, whole } from "../database/connect.ts";
import { NEVER } from "../push/picture-rows.ts";
import { SILENT_MS } from "../push/take-push.ts";
import { type Conditions, createConditions, type ListAsked, orderBy, readPage } from "./conditions.ts";

/**
 * Returns the WITH clause that selects silent sites. Add it only to statements that use it, because
 * PostgreSQL requires a statement to use each of its values.
 */
const withSilence = ({ use }: Conditions, now: number) =>
  `WITH silent AS (SELECT site FROM sites WHERE last_push_at < ${use(now - SILENT_MS)})`;
const isSilent = (of: "f" | "r") => `${of}.site IN (SELECT site FROM silent)`;
/** SQL equivalent of `staleFeature`. */
const stateOf = (of: "f" | "r") =>
  `CASE WHEN ${of}.state <> 'failed' AND ${isSilent(of)} THEN 'stale' ELSE ${of}.state END`;
const collectedAtOf = (of: "f" | "r") =>
  `CASE ${of}.collected_at WHEN ${NEVER} THEN NULL ELSE coalesce(${of}.collected_at, s.collected_at) END`;
const WITH_SERVER = "JOIN servers s USING (site, server)";
/** Sorts that need the table of servers. The sort null, the order of the license manager, is one of them. */
const BY_SERVERS: readonly (FeatureSort | null)[] = ["collectedAt", null];

interface Row {
  readonly site: string;
  readonly server: string;
  readonly body: string;
  readonly assigned: number | null;
  readonly server_at: string | null;
  readonly silent: boolean;
}

export async function featurePage(
  pool: Pool,
  asked: ListAsked<"features", FeatureSort>,
  now: number,
  hide: (of: ServerPicture) => ServerPicture,
) {
  const conditions = createConditions();
  const { use, add, oneOf } = conditions;
  const head = withSilence(conditions, now);
  conditions.servers("f", asked.servers);
  const ofServers = conditions.count();
  oneOf("f.daemon", asked.daemon);
  oneOf("f.name", asked.feature);
  oneOf(stateOf("f"), asked.state);
  if (asked.search !== undefined) add(`strpos(f.lower_name, ${use(asked.search.toLowerCase())}) > 0`);
  if (asked.min_utilization !== undefined) add(`f.utilization >= ${use(asked.min_utilization)}`);
  const own = { state: stateOf("f"), collectedAt: collectedAtOf("f") };
  const ties = "f.site, f.server, f.daemon, f.name";
  const order = asked.sort === null ? "f.site, s.place, f.place" : orderBy(asked.sort, "f", own, ties);
  const where = conditions.where();
  const isAll = conditions.count() === ofServers;
  const count = isAll
    ? countAll("features", asked.servers)
    : conditions.counting(`current_features f WHERE ${where}`, head);
  // Sort by keys alone, without joining servers, if the sort permits.
  const ordered = BY_SERVERS.includes(asked.sort?.field ?? null) ? WITH_SERVER : "";
  const { rows, total } = await readPage<Row>(
    pool,
    count,
    `${head} SELECT site, server, f.body, f.assigned, s.collected_at AS server_at, ${isSilent("f")} AS silent
     FROM (SELECT site, server, daemon, name FROM current_features f ${ordered} WHERE ${where}
       ORDER BY ${order} ${conditions.page(asked)}) keys
     JOIN current_features f USING (site, server, daemon, name) ${WITH_SERVER} ORDER BY ${order}`,
    conditions.values,
  );
  const records = rows.map(({ site, server, body, assigned, server_at, silent }) => {
    const feature = featureOf(body, whole(server_at), silent);
    const [shown = feature] = hide(bare(feature)).features;
    return { ...featureRecord({ id: serverAt(site, server), site }, shown), assigned };
  });
  return { total, rows: records };
}

/** Counts the features or people of these servers by adding totals that are stored per server. */
function countAll(column: "features" | "listed", servers: readonly string[] | null) {
  const { servers: oneOf, where, values } = createConditions();
  oneOf("s", servers);
  const text = `SELECT coalesce(sum(${column}), 0)::int AS total FROM servers s WHERE ${where()}`;
  return (sql: Sql) => sql.unsafe(text, values);
}

export function featureOf(body: string, serverAt: number | null, silent: boolean): FeaturePicture {
  const feature: FeaturePicture = {
    collectedAt: serverAt,
    checkouts: [],
    reservations: [],
    queue: [],
    ...JSON.parse(body),
  };
  return silent ? staleFeature(feature) : feature;
}

/** Wraps a feature in a stub picture for the anonymizer. */
function bare(feature: FeaturePicture): ServerPicture {
  return { ...NOTHING, features: [feature] };
}

// The anonymizer reads only these fields and the features.
const NOTHING = { members: [], daemons: [], error: null, unparsed: [] } as unknown as Omit<
  ServerPicture,
  "features"
>;

const KEY = "site, server, daemon, feature, kind, place";
const ROWS_WITH_SERVER = "JOIN servers s ON s.site = r.site AND s.server = r.server";

/** Sorts that need the server's time. */
const ROWS_BY_SERVERS: readonly UserSort[] = ["collectedAt", "durationSeconds"];

interface UserRow {
  readonly site: string;
  readonly server: string;
  readonly kind: UserKind;
  readonly row: string;
  readonly session: string | null;
  readonly feature: string;
  readonly server_at: string | null;
  readonly silent: boolean;
}

/** Returns a page of people and their number. `hide` replaces names with pseudonyms. */
export async function userPage(
  pool: Pool,
  asked: ListAsked<"users", UserSort> & { readonly anonymize: boolean },
  now: number,
  hide: (of: ServerPicture) => ServerPicture,
) {
  const conditions = createConditions();
  const { use, add, oneOf } = conditions;
  const head = withSilence(conditions, now);
  const [user, host] = asked.anonymize ? ["r.user_alias", "r.host_alias"] : ["r.user_name", "r.host"];
  conditions.servers("r", asked.servers);
  add("r.kind <> 'held'");
  const ofServers = conditions.count();
  oneOf("r.daemon", asked.daemon);
  oneOf("r.feature", asked.feature);
  oneOf("r.kind", asked.kind);
  oneOf(user, asked.user);
  oneOf(
    asked.anonymize ? host : "r.lower_host",
    asked.host?.map((name) => name.toLowerCase()),
  );
  if (asked.search !== undefined) {
    const part = `lower(${use(asked.search)}::text COLLATE "C")`;
    add(`(strpos(lower(${user}), ${part}) > 0 OR strpos(lower(${host}), ${part}) > 0)`);
  }
  const isFew = [asked.servers, asked.feature, asked.user, asked.host].some((named) => named != null);
  const sort = asked.sort ?? { field: "startedAt", descending: false };
  const own = {
    user,
    host,
    // Displays and qualifiers never leave a site.
    display: "NULL::text",
    qualifier: "NULL::text",
    // The expression `+ 0` keeps PostgreSQL from scanning the index on the start when only a few rows
    // match.
    startedAt: isFew ? "r.started_at + 0" : "r.started_at",
    durationSeconds: `greatest(0, (${collectedAtOf("r")} - r.began_at) / 1000)`,
    state: stateOf("r"),
    collectedAt: collectedAtOf("r"),
  };
  const ties = `r.site, r.server, r.daemon, r.feature, r.kind, ${user}, ${host}, r.handle, r.place`;
  const order = orderBy(sort, "r", own, ties);
  const where = conditions.where();
  const isAll = conditions.count() === ofServers;
  const count = isAll
    ? countAll("listed", asked.servers)
    : conditions.counting(`current_rows r WHERE ${where}`, head);
  const from = `current_rows r ${ROWS_BY_SERVERS.includes(sort.field) ? ROWS_WITH_SERVER : ""}`;
  const { rows, total } = await readPage<UserRow>(
    pool,
    count,
    `${head} SELECT r.site, r.server, r.kind, r.body AS row, f.body AS feature, s.collected_at AS server_at,
       ${isSilent("r")} AS silent, (SELECT o.id FROM open_sessions o JOIN sites t USING (site)
         WHERE o.site = r.site AND o.epoch = t.epoch_no AND o.site_id = r.session) AS session
     FROM (SELECT ${KEY.replaceAll(/\w+/g, "r.$&")} FROM ${from} WHERE ${where}
       ORDER BY ${order} ${conditions.page(asked)}) keys
     JOIN current_rows r USING (${KEY}) ${ROWS_WITH_SERVER} JOIN current_features f
       ON f.site = r.site AND f.server = r.server AND f.daemon = r.daemon AND f.name = r.feature ORDER BY ${order}`,
    conditions.values,
  );
  return { total, rows: rows.flatMap((row) => recordOf(row, hide)) };
}

const LIST_OF = {
  checkout: "checkouts",
  reservation: "reservations",
  queued: "queue",
  assigned: "assigned",
} as const;

function recordOf(
  { site, server, kind, row, session, feature, server_at, silent }: UserRow,
  hide: (of: ServerPicture) => ServerPicture,
) {
  const picture = { ...featureOf(feature, whole(server_at), silent), [LIST_OF[kind]]: [JSON.parse(row)] };
  const [shown = picture] = hide(bare(picture)).features;
  const place = { id: serverAt(site, server), site };
  return userRecords(place, shown).map((record) => ({ ...record, session: whole(session) }));
}
