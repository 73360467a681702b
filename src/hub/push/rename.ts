import { type Pool, whole } from "../database/connect.ts";
import type { Batch } from "./batch.ts";

/** Tables that keep a site's former name: permissions to push, and published events. */
const AS_IT_WAS = ["sites", "api_keys", "events", "new_events"];

/**
 * Moves the data of a renamed site to its new name. The epoch, which is random and never sent out, proves
 * that it is the same site, so a stolen key cannot take another site's data. Returns false if the old name
 * was in use within `silentMs`: one of the two sites is then a copied machine.
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
    // Keep the data of a site that has already pushed under the new name.
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
    // Marks the rows as changed, for hubs to reload them.
    await tx`UPDATE servers SET changed = pg_current_xact_id(), changed_at = greatest(changed_at + 1, ${now}) WHERE site = ${site}`;
    await tx`SELECT pg_notify('licmond', 'push')`;
    return true;
  });
}
