import type { ServerPicture } from "../../domain/picture.ts";
import type { Expiry } from "../../domain/reading.ts";
import type { ExpirationRecord } from "../../domain/records.ts";
import { serverAt } from "../../domain/server.ts";
import { daysLeft } from "../../domain/stats/calendar.ts";
import type { PoolExpiry } from "../../domain/summary.ts";
import { DAY_MS } from "../../domain/time/clock.ts";
import type { OpenRange } from "../../http/query-time.ts";
import { expirationRecords } from "../../http/records.ts";
import { fromRow, type Pool } from "../database/connect.ts";
import { createConditions, type ListAsked, orderBy, partsOf, readPage } from "./conditions.ts";

type Asked = ListAsked<"expirations", keyof ExpirationRecord> &
  OpenRange & { readonly days: number | null; readonly permanent: boolean };

/** Returns a page of expiring pools. `heads` are the chosen servers. */
export async function expirationPage(pool: Pool, asked: Asked, heads: readonly ServerPicture[], now: number) {
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
    // Time zones differ by a day at most, so only pools that expire in the days between need the server's
    // zone.
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
  const sort = asked.sort ?? { field: "expiresAt", descending: false };
  const ties = "p.site, p.server, p.daemon, p.feature, p.pool";
  const order = orderBy(sort, "p", { daysLeft: "p.expires_on" }, ties);
  const from = `current_pools p WHERE ${conditions.where()}`;
  const count = conditions.counting(from);
  const text = `SELECT * FROM ${from} ORDER BY ${order} ${conditions.page(asked)}`;
  const { rows, total } = await readPage<Row>(pool, count, text, conditions.values);
  return { total, rows: expirationRecords(rows.map(poolExpiry), heads, now) };
}

/** Returns the pools that expire first. `servers` is null for all servers. */
export async function expiringPools(
  pool: Pool,
  servers: readonly string[] | null,
  limit: number,
): Promise<PoolExpiry[]> {
  const conditions = createConditions();
  conditions.servers("p", servers);
  const rows: Row[] = await pool.unsafe(
    `SELECT * FROM current_pools p WHERE expires_at IS NOT NULL AND ${conditions.where()}
     ORDER BY expires_at, site, server, daemon, feature, pool LIMIT ${limit}`,
    conditions.values,
  );
  return rows.map(poolExpiry);
}

function lastDay(zone: string, days: number, now: number): string {
  // `daysLeft` of 1970-01-01 is the negated number of days since then.
  const epoch = { expiresOn: "1970-01-01", expiresAt: 0, permanent: false };
  const today = -(daysLeft(epoch, zone, now) ?? 0);
  return new Date((today + days) * DAY_MS).toISOString().slice(0, 10);
}

type Row = Readonly<Record<string, unknown>> & { readonly site: string };

function poolExpiry({ site, ...row }: Row): PoolExpiry {
  const { expiresOn, expiresAt, permanent, ...pool } = fromRow<PoolExpiry & Expiry>(row, [
    "total",
    "expiresAt",
  ]);
  return { ...pool, server: serverAt(site, pool.server), expiry: { expiresOn, expiresAt, permanent } };
}
