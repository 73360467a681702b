import type { SortBy } from "../../domain/order.ts";
import type { ServerPicture } from "../../domain/picture.ts";
import { serverAt } from "../../domain/server.ts";

import type { UserKind } from "../../domain/words.ts";
import type { UserSort } from "../../http/lists/lists.ts";
import { userRecords } from "../../http/records.ts";
import { type Pool, whole } from "../database/connect.ts";
import { createConditions, orderBy } from "./conditions.ts";
import { bare, collectedAtOf, countAll, featureOf, isSilent, stateOf, withSilence } from "./features.ts";

const KEY = "site, server, daemon, feature, kind, place";
const WITH_SERVER = "JOIN servers s ON s.site = r.site AND s.server = r.server";

/** Sorts that need the server's time. */
const BY_SERVERS: readonly UserSort[] = ["collectedAt", "durationSeconds"];

export interface UsersAsked {
  readonly servers: readonly string[] | null;
  readonly daemon?: readonly string[];
  readonly feature?: readonly string[];
  readonly user?: readonly string[];
  readonly host?: readonly string[];
  readonly kind?: readonly UserKind[];
  readonly search?: string;
  readonly sort: SortBy<UserSort>;
  readonly limit: number;
  readonly offset: number;
  readonly anonymize: boolean;
}

interface Row {
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
  asked: UsersAsked,
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
  const identity = [
    "r.site",
    "r.server",
    "r.daemon",
    "r.feature",
    "r.kind",
    user,
    host,
    "r.handle",
    "r.place",
  ];
  const isFew = [asked.servers, asked.feature, asked.user, asked.host].some((named) => named != null);
  const order = orderBy(asked.sort, sortsOf(user, host, isFew), identity);
  const counted = [...conditions.values];
  const isAll = conditions.count() === ofServers;
  const where = conditions.where();
  const rows = `current_rows r ${BY_SERVERS.includes(asked.sort.field) ? WITH_SERVER : ""}`;
  const page = `LIMIT ${use(asked.limit)} OFFSET ${use(asked.offset)}`;
  const [[{ total }], found] = await Promise.all([
    isAll
      ? countAll(pool, "listed", asked.servers)
      : pool.unsafe(`${head} SELECT count(*)::int AS total FROM current_rows r WHERE ${where}`, counted),
    pool.unsafe(
      `${head} SELECT r.site, r.server, r.kind, r.body AS row, f.body AS feature, s.collected_at AS server_at,
         ${isSilent("r")} AS silent, (SELECT o.id FROM open_sessions o JOIN sites t USING (site)
           WHERE o.site = r.site AND o.epoch = t.epoch_no AND o.site_id = r.session) AS session
       FROM (SELECT ${KEY.replaceAll(/\w+/g, "r.$&")} FROM ${rows} WHERE ${where} ORDER BY ${order} ${page}) keys
       JOIN current_rows r USING (${KEY}) ${WITH_SERVER} JOIN current_features f
         ON f.site = r.site AND f.server = r.server AND f.daemon = r.daemon AND f.name = r.feature ORDER BY ${order}`,
      conditions.values,
    ),
  ]);
  return { total: total as number, rows: (found as Row[]).flatMap((row) => recordOf(row, hide)) };
}

const LIST_OF = {
  checkout: "checkouts",
  reservation: "reservations",
  queued: "queue",
  assigned: "assigned",
} as const;

function recordOf(
  { site, server, kind, row, session, feature, server_at, silent }: Row,
  hide: (of: ServerPicture) => ServerPicture,
) {
  const picture = { ...featureOf(feature, whole(server_at), silent), [LIST_OF[kind]]: [JSON.parse(row)] };
  const [shown = picture] = hide(bare(picture)).features;
  const place = { id: serverAt(site, server), site };
  return userRecords(place, shown).map((record) => ({ ...record, session: whole(session) }));
}

function sortsOf(user: string, host: string, isFew: boolean): Record<UserSort, string> {
  return {
    site: "r.site",
    kind: "r.kind",
    session: "r.session",
    server: "r.site | r.server",
    daemon: "r.daemon",
    feature: "r.feature",
    user,
    host,
    // Displays and qualifiers never leave a site.
    display: "NULL::text",
    qualifier: "NULL::text",
    version: "r.version",
    count: "r.count",
    handle: "r.handle",
    pid: "r.pid",
    // The expression keeps PostgreSQL from scanning the index on the start for a few rows.
    startedAt: isFew ? "r.started_at + 0" : "r.started_at",
    firstSeenAt: "r.first_seen_at",
    durationSeconds: `greatest(0, (${collectedAtOf("r")} - r.began_at) / 1000)`,
    lingerSeconds: "r.linger_seconds",
    borrowed: "r.borrowed",
    state: stateOf("r"),
    collectedAt: collectedAtOf("r"),
  };
}
