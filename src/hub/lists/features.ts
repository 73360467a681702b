import type { SortBy } from "../../domain/order.ts";
import type { FeaturePicture, ServerPicture } from "../../domain/picture.ts";
import { staleFeature } from "../../domain/polls/feature-picture.ts";
import { serverAt } from "../../domain/server.ts";

import type { DataState } from "../../domain/words.ts";
import type { FeatureSort } from "../../http/lists/lists.ts";
import { featureRecord } from "../../http/records.ts";
import { type Pool, whole } from "../database/connect.ts";
import { NEVER } from "../push/picture-rows.ts";
import { SILENT_MS } from "../push/take-push.ts";
import { type Conditions, createConditions, orderBy } from "./conditions.ts";

/**
 * Returns the WITH clause that selects silent sites. PostgreSQL requires a statement to use each of its
 * values.
 */
export const withSilence = ({ use }: Conditions, now: number) =>
  `WITH silent AS (SELECT site FROM sites WHERE last_push_at < ${use(now - SILENT_MS)})`;
export const isSilent = (of: "f" | "r") => `${of}.site IN (SELECT site FROM silent)`;
/** SQL equivalent of `staleFeature`. */
export const stateOf = (of: "f" | "r") =>
  `CASE WHEN ${of}.state <> 'failed' AND ${isSilent(of)} THEN 'stale' ELSE ${of}.state END`;
export const collectedAtOf = (of: "f" | "r") =>
  `CASE ${of}.collected_at WHEN ${NEVER} THEN NULL ELSE coalesce(${of}.collected_at, s.collected_at) END`;
const WITH_SERVER = "JOIN servers s USING (site, server)";
/** Sorts that need the table of servers; null is the order of the license manager. */
const BY_SERVERS: readonly (FeatureSort | null)[] = ["collectedAt", null];

export interface FeaturesAsked {
  readonly servers: readonly string[] | null;
  readonly daemon?: readonly string[];
  readonly feature?: readonly string[];
  readonly search?: string;
  readonly min_utilization?: number;
  readonly state?: readonly DataState[];
  readonly sort: SortBy<FeatureSort> | null;
  readonly limit: number;
  readonly offset: number;
}

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
  asked: FeaturesAsked,
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
  const ties = ["f.site", "f.server", "f.daemon", "f.name"];
  const order = asked.sort === null ? "f.site, s.place, f.place" : orderBy(asked.sort, SORTS, ties);
  const counted = [...conditions.values];
  const page = `LIMIT ${use(asked.limit)} OFFSET ${use(asked.offset)}`;
  const where = conditions.where();
  // Sort keys only, and join afterwards if the sort permits.
  const ordered = BY_SERVERS.includes(asked.sort?.field ?? null) ? WITH_SERVER : "";
  const isAll = conditions.count() === ofServers;
  const [[{ total }], rows] = await Promise.all([
    isAll
      ? countAll(pool, "features", asked.servers)
      : pool.unsafe(`${head} SELECT count(*)::int AS total FROM current_features f WHERE ${where}`, counted),
    pool.unsafe(
      `${head} SELECT site, server, f.body, f.assigned, s.collected_at AS server_at, ${isSilent("f")} AS silent
       FROM (SELECT site, server, daemon, name FROM current_features f ${ordered} WHERE ${where} ORDER BY ${order} ${page}) keys
       JOIN current_features f USING (site, server, daemon, name) ${WITH_SERVER} ORDER BY ${order}`,
      conditions.values,
    ),
  ]);
  return {
    total: total as number,
    rows: (rows as Row[]).map(({ site, server, body, assigned, server_at, silent }) => {
      const feature = featureOf(body, whole(server_at), silent);
      const [shown = feature] = hide(bare(feature)).features;
      return { ...featureRecord({ id: serverAt(site, server), site }, shown), assigned };
    }),
  };
}

/** Counts the features or people of these servers from totals that are stored per server. */
export function countAll(pool: Pool, column: "features" | "listed", servers: readonly string[] | null) {
  const conditions = createConditions();
  conditions.servers("s", servers);
  return pool.unsafe(
    `SELECT coalesce(sum(${column}), 0)::int AS total FROM servers s WHERE ${conditions.where()}`,
    conditions.values,
  );
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
export function bare(feature: FeaturePicture): ServerPicture {
  return { ...NOTHING, features: [feature] };
}

// The anonymizer reads only these fields and the features.
const NOTHING = { members: [], daemons: [], error: null, unparsed: [] } as unknown as Omit<
  ServerPicture,
  "features"
>;

const SORTS: Readonly<Record<FeatureSort, string>> = {
  site: "f.site",
  server: "f.site | f.server",
  daemon: "f.daemon",
  name: "f.name",
  total: "f.total",
  used: "f.used",
  available: "f.available",
  reserved: "f.reserved",
  queued: "f.queued",
  unlimited: "f.unlimited",
  utilization: "f.utilization",
  shared: "f.shared",
  expiresOn: "f.expires_on",
  expiresAt: "f.expires_at",
  permanent: "f.permanent",
  state: stateOf("f"),
  error: "f.error",
  collectedAt: collectedAtOf("f"),
  unit: "f.unit",
  seatGroup: "f.seat_group",
  assigned: "f.assigned",
};
