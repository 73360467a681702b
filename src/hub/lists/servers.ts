import type { ServerPicture } from "../../domain/picture.ts";
import { markStale } from "../../domain/polls/apply-poll.ts";
import { serverAt } from "../../domain/server.ts";
import { serverRecord } from "../../http/records.ts";
import type { Sql } from "../database/connect.ts";
import { createConditions, partsOf } from "./conditions.ts";
import type { Directory } from "./directory.ts";
import { featureOf } from "./features-and-users.ts";

export function serverRecords(directory: Directory, heads: readonly ServerPicture[]) {
  return heads.map((head) => {
    const record = serverRecord(head);
    const [sums] = directory.sums([record.id]);
    if (head.collectedAt === null || sums === undefined) return record;
    const { features, checkouts, total, used } = sums;
    return { ...record, counts: { features, checkouts, total, used } };
  });
}

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
