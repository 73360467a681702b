import type { SortBy } from "../../domain/order.ts";
import type { ServerPicture } from "../../domain/picture.ts";
import type { ExpirationRecord } from "../../domain/records.ts";
import { serverAt } from "../../domain/server.ts";
import { daysLeft } from "../../domain/stats/calendar.ts";
import type { PoolExpiry } from "../../domain/summary.ts";
import { DAY_MS } from "../../domain/time/clock.ts";
import type { Unit } from "../../domain/words.ts";
import type { OpenRange } from "../../http/query-time.ts";
import { expirationRecords } from "../../http/records.ts";
import { type Pool, whole } from "../database/connect.ts";
import { createConditions, orderBy, partsOf } from "./conditions.ts";

export interface ExpirationsAsked extends OpenRange {
  readonly servers: readonly string[] | null;
  readonly daemon?: readonly string[];
  readonly feature?: readonly string[];
  readonly days: number | null;
  readonly permanent: boolean;
  readonly sort: SortBy<keyof ExpirationRecord> | null;
  readonly limit: number;
  readonly offset: number;
}

/** Returns a page of expiring pools. `heads`: the chosen servers. */
export async function expirationPage(
  pool: Pool,
  asked: ExpirationsAsked,
  heads: readonly ServerPicture[],
  now: number,
) {
  const conditions = createConditions();
  const { use, add, oneOf } = conditions;
  conditions.servers("p", asked.servers);
  oneOf("p.daemon", asked.daemon);
  oneOf("p.feature", asked.feature);
  add(asked.permanent ? "(p.expires_at IS NOT NULL OR p.permanent)" : "p.expires_at IS NOT NULL");
  if (asked.start !== null) add(`coalesce(p.expires_at >= ${use(asked.start)}, true)`);
  if (asked.end !== null) add(`p.expires_at < ${use(asked.end)}`);
  const { days } = asked;
  if (days !== null) {
    // Time zones differ by a day at most, so only the days between need the server's zone.
    const last = heads.map(({ server }) => [...partsOf(server.id), lastDay(server.timezone, days, now)]);
    const [first = "", end = ""] = [last.map(([, , day]) => day ?? "").sort()].flatMap((all) => [
      all[0],
      all.at(-1),
    ]);
    add(
      `(p.expires_on <= ${use(first)} OR p.expires_on <= ${use(end)} AND EXISTS (
         SELECT 1 FROM json_array_elements(${use(JSON.stringify(last))}::text::json) AS l
         WHERE l ->> 0 = p.site AND l ->> 1 = p.server AND p.expires_on <= l ->> 2))`,
    );
  }
  const ties = ["p.site", "p.server", "p.daemon", "p.feature", "p.pool"];
  const order = orderBy(asked.sort ?? { field: "expiresAt", descending: false }, SORTS, ties);
  const from = `FROM current_pools p WHERE ${conditions.where()}`;
  const counted = [...conditions.values];
  const page = `LIMIT ${use(asked.limit)} OFFSET ${use(asked.offset)}`;
  const [[{ total }], rows] = await Promise.all([
    pool.unsafe(`SELECT count(*)::int AS total ${from}`, counted),
    pool.unsafe(`SELECT * ${from} ORDER BY ${order} ${page}`, conditions.values),
  ]);
  const records = expirationRecords((rows as Record<string, unknown>[]).map(poolExpiry), heads, now);
  return { total: total as number, rows: records };
}

/** Returns the pools that expire first; null = of all servers. */
export async function expiringPools(
  pool: Pool,
  servers: readonly string[] | null,
  limit: number,
): Promise<PoolExpiry[]> {
  const conditions = createConditions();
  conditions.servers("p", servers);
  const rows: Record<string, unknown>[] = await pool.unsafe(
    `SELECT * FROM current_pools p WHERE expires_at IS NOT NULL AND ${conditions.where()}
     ORDER BY expires_at, site, server, daemon, feature, pool LIMIT ${limit}`,
    conditions.values,
  );
  return rows.map(poolExpiry);
}

function lastDay(zone: string, days: number, now: number): string {
  // The days left until 1970-01-01 give the number of today.
  const epoch = { expiresOn: "1970-01-01", expiresAt: 0, permanent: false };
  const today = -(daysLeft(epoch, zone, now) ?? 0);
  return new Date((today + days) * DAY_MS).toISOString().slice(0, 10);
}

const SORTS: Readonly<Record<keyof ExpirationRecord, string>> = {
  site: "p.site",
  server: "p.site | p.server",
  daemon: "p.daemon",
  feature: "p.feature",
  pool: "p.pool",
  total: "p.total",
  expiresOn: "p.expires_on",
  expiresAt: "p.expires_at",
  daysLeft: "p.expires_on",
  permanent: "p.permanent",
  unit: "p.unit",
  seatGroup: "p.seat_group",
};

function poolExpiry(row: Record<string, unknown>): PoolExpiry {
  return {
    server: serverAt(row.site as string, row.server as string),
    daemon: row.daemon as string,
    feature: row.feature as string,
    pool: row.pool as string,
    total: whole(row.total),
    expiry: {
      expiresOn: row.expires_on as string | null,
      expiresAt: whole(row.expires_at),
      permanent: row.permanent as boolean,
    },
    unit: row.unit as Unit,
    seatGroup: row.seat_group as string | null,
  };
}
