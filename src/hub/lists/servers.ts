import type { ServerPicture } from "../../domain/picture.ts";
import { markStale } from "../../domain/polls/apply-poll.ts";
import { serverRecord } from "../../http/records.ts";
import { type Pool, type Sql, whole } from "../database/connect.ts";
import { createConditions, partsOf } from "./conditions.ts";
import { serverAt } from "./directory.ts";
import { featureOf, seatSets } from "./features.ts";

/** Sums over the features of servers, by the servers' ids. */
async function countsOf(pool: Pool, ids: readonly string[]) {
  const conditions = createConditions();
  conditions.servers("f", ids);
  const where = conditions.where();
  const rows = await pool.unsafe(
    `WITH sums AS (
       SELECT site, server, sum(total) AS total, sum(used) FILTER (WHERE NOT unlimited) AS used
       FROM (${seatSets(where)}) sets GROUP BY site, server), listed AS (
       SELECT site, server, count(*)::int AS features, sum(checkouts) AS checkouts
       FROM current_features f WHERE ${where} GROUP BY site, server)
     SELECT * FROM listed LEFT JOIN sums USING (site, server)`,
    conditions.values,
  );
  return new Map(
    rows.map((row: Record<string, unknown>) => [
      serverAt(row.site as string, row.server as string),
      {
        features: row.features as number,
        checkouts: whole(row.checkouts) ?? 0,
        total: whole(row.total),
        used: whole(row.used),
      },
    ]),
  );
}

/** Records of servers from their heads; what is counted over features comes from the database. */
export async function serverRecords(pool: Pool, heads: readonly ServerPicture[]) {
  const ids = heads.map(({ server }) => server.id);
  const counts = ids.length === 0 ? new Map() : await countsOf(pool, ids);
  return heads.map((head) => {
    const record = serverRecord(head);
    const known = head.collectedAt === null ? record.counts : (counts.get(record.id) ?? record.counts);
    return { ...record, counts: known };
  });
}

/** Pictures of these servers as they were pushed, with who holds seats. In the order of the heads. */
export async function wholePictures(
  pool: Sql,
  heads: readonly ServerPicture[],
  silent: (site: string) => boolean,
) {
  const ids = heads.map(({ server }) => server.id);
  const conditions = createConditions();
  conditions.servers("f", ids);
  const features = await pool.unsafe(
    `SELECT site, server, daemon, name, body, assigned FROM current_features f WHERE ${conditions.where()} ORDER BY site, server, place`,
    conditions.values,
  );
  const held = await pool.unsafe(
    `SELECT f.site, f.server, f.daemon, f.feature, f.kind, f.body, o.id AS session
     FROM current_rows f JOIN sites t USING (site)
     LEFT JOIN open_sessions o ON o.site = f.site AND o.epoch = t.epoch_no AND o.site_id = f.session
     WHERE ${conditions.where()} ORDER BY f.site, f.server, f.daemon, f.feature, f.kind, f.place`,
    conditions.values,
  );
  const rows = Map.groupBy(held as HeldRow[], ({ site, server, daemon, feature }) =>
    key(site, server, daemon, feature),
  );
  const byServer = Map.groupBy(features as FeatureRow[], ({ site, server }) => serverAt(site, server));
  return heads.map((head) => {
    const own = byServer.get(head.server.id) ?? [];
    const all = own.map(({ site, server, daemon, name, body, assigned }) => {
      const { assigned: people, ...lists } = listsOf(rows.get(key(site, server, daemon, name)) ?? []);
      const feature = { ...featureOf(body, head.collectedAt, false), ...lists };
      return assigned === null ? feature : { ...feature, assigned: people };
    });
    const picture = { ...head, features: all };
    return silent(partsOf(head.server.id)[0]) ? markStale(picture) : picture;
  });
}

interface FeatureRow {
  readonly site: string;
  readonly server: string;
  readonly daemon: string;
  readonly name: string;
  readonly body: string;
  readonly assigned: number | null;
}

interface HeldRow extends Omit<FeatureRow, "name" | "assigned"> {
  readonly feature: string;
  readonly kind: "checkout" | "reservation" | "queued" | "assigned" | "held";
  readonly session: string | null;
}

const key = (...parts: readonly string[]) => JSON.stringify(parts);

function listsOf(rows: readonly HeldRow[]) {
  const of = (kind: HeldRow["kind"]) =>
    rows.filter((row) => row.kind === kind).map(({ body }) => JSON.parse(body));
  const checkouts = rows
    .filter(({ kind }) => kind === "checkout")
    .map(({ body, session }) => {
      const { session: siteSession, ...checkout } = JSON.parse(body);
      return {
        ...checkout,
        ...(siteSession !== undefined && { siteSession }),
        ...(session !== null && { session: Number(session) }),
      };
    });
  return { checkouts, reservations: of("reservation"), queue: of("queued"), assigned: of("assigned") };
}
