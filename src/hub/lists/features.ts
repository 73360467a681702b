import type { FeaturePicture, ServerPicture } from "../../domain/picture.ts";
import { staleFeature } from "../../domain/polls/feature-picture.ts";
import type { FeatureRecord } from "../../domain/records.ts";
import type { DataState } from "../../domain/words.ts";
import type { Sort } from "../../http/answers/list.ts";
import { featureRecord } from "../../http/records.ts";
import { type Pool, whole } from "../database/connect.ts";
import { NEVER } from "../push/picture-rows.ts";
import { SILENT_MS } from "../push/take-push.ts";
import { type Conditions, createConditions, orderBy } from "./conditions.ts";
import { serverAt } from "./directory.ts";

/** A feature with its server and site; `silent`: nothing was heard of its site. */
export const FEATURES_FROM =
  "current_features f JOIN servers s USING (site, server) JOIN sites t USING (site)";
/** Before a statement that asks whether a site is silent: from when on. A value of a statement must be named in it. */
export const withSilence = ({ use }: Conditions, now: number) =>
  `WITH asked AS (SELECT ${use(now - SILENT_MS)}::bigint AS silent)`;
export const SILENT = "(t.last_push_at < (SELECT silent FROM asked))";
/** What `staleFeature` makes of a state. */
export const STATE = `CASE WHEN ${SILENT} AND f.state <> 'failed' THEN 'stale' ELSE f.state END`;
export const COLLECTED_AT = `CASE f.collected_at WHEN ${NEVER} THEN NULL ELSE coalesce(f.collected_at, s.collected_at) END`;

export type FeatureSort = Exclude<keyof FeatureRecord, "pools">;

export interface FeaturesAsked {
  /** Ids at the hub; null = all. */
  readonly servers: readonly string[] | null;
  readonly daemon?: readonly string[];
  readonly feature?: readonly string[];
  readonly search?: string;
  readonly min_utilization?: number;
  readonly state?: readonly DataState[];
  readonly sort: Sort<FeatureSort> | null;
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

/** A page of features, as the daemon's own records, and how many there are. */
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
  oneOf("f.daemon", asked.daemon);
  oneOf("f.name", asked.feature);
  oneOf(STATE, asked.state);
  if (asked.search !== undefined) add(`strpos(f.lower_name, ${use(asked.search.toLowerCase())}) > 0`);
  if (asked.min_utilization !== undefined) add(`f.utilization >= ${use(asked.min_utilization)}`);
  const ties = ["f.site", "f.server", "f.daemon", "f.name"];
  const order = asked.sort === null ? "f.site, s.place, f.place" : orderBy(asked.sort, SORTS, ties);
  const from = `FROM ${FEATURES_FROM} WHERE ${conditions.where()}`;
  const counted = [...conditions.values];
  const page = `LIMIT ${use(asked.limit)} OFFSET ${use(asked.offset)}`;
  const [[{ total }], rows] = await Promise.all([
    pool.unsafe(`${head} SELECT count(*)::int AS total ${from}`, counted),
    pool.unsafe(
      `${head} SELECT site, server, f.body, f.assigned, s.collected_at AS server_at, ${SILENT} AS silent ${from} ORDER BY ${order} ${page}`,
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

/** A feature as it was pushed, without who holds its seats and to whom it is assigned. */
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

/**
 * What counts where counts of these features are added up, each set with its site and its server: a feature of seats, or a
 * seat group of a server (`domain/polls/seat-groups.ts`).
 */
export const seatSets = (where: string) => `
  SELECT site, server, total, used, unlimited FROM current_features f
  WHERE f.unit = 'seats' AND f.seat_group IS NULL AND ${where}
  UNION ALL
  SELECT site, server, CASE WHEN NOT bool_or(unlimited) THEN max(total) END, sum(used), bool_or(unlimited)
  FROM current_features f
  WHERE f.unit = 'seats' AND f.seat_group IS NOT NULL AND ${where}
  GROUP BY site, server, seat_group`;

/** A picture of nothing but a feature: what hides names in pictures can be asked about one. */
export function bare(feature: FeaturePicture): ServerPicture {
  return { ...NOTHING, features: [feature] };
}

// Only what names people is asked of it, and a feature stands in it.
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
  state: STATE,
  error: "f.error",
  collectedAt: COLLECTED_AT,
  unit: "f.unit",
  seatGroup: "f.seat_group",
  assigned: "f.assigned",
};
