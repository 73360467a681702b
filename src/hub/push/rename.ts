import { type Pool, whole } from "../database/connect.ts";
import type { Batch } from "./batch.ts";

/** Tables that keep the name that a site had: who may push for it, and what was published under it. */
const AS_IT_WAS = ["sites", "api_keys", "events", "new_events"];

/**
 * Gives a site that has another name than before what the hub has of its old one. That it is the same site its epoch
 * proves, which is random and in no answer: a stolen key of one site cannot take what is another's. False while the old one
 * was heard of within `silentMs`: of two, one has a copied machine.
 */
export async function takeOver(pool: Pool, { site, formerly, epoch }: Batch, now: number, silentMs: number) {
  if (formerly === undefined) return true;
  return pool.begin(async (tx) => {
    const rows: {
      site: string;
      epoch: string | null;
      last_push_at: string | null;
      stopped_at: string | null;
    }[] = await tx`SELECT * FROM sites WHERE site IN (${site}, ${formerly}) ORDER BY site FOR UPDATE`;
    const old = rows.find((row) => row.site === formerly);
    const own = rows.find((row) => row.site === site);
    // One that has facts of its own under the new name keeps these.
    if (old?.epoch !== epoch || (own !== undefined && own.epoch !== null)) return true;
    if (old.stopped_at === null && now - (whole(old.last_push_at) ?? 0) < silentMs) return false;
    await tx`DELETE FROM sites WHERE site = ${site}`;
    await tx`UPDATE sites SET site = ${site} WHERE site = ${formerly}`;
    const tables: { name: string }[] = await tx`
      SELECT c.relname AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'site'
      WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND pg_table_is_visible(c.oid)
        AND c.relname NOT IN ${tx(AS_IT_WAS)}`;
    for (const { name } of tables)
      await tx.unsafe(`UPDATE ${name} SET site = $1 WHERE site = $2`, [site, formerly]);
    // Hubs read what has changed.
    await tx`UPDATE servers SET changed = pg_current_xact_id(), changed_at = greatest(changed_at + 1, ${now}) WHERE site = ${site}`;
    await tx`SELECT pg_notify('licmond', 'push')`;
    return true;
  });
}
