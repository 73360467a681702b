import { deleteStep } from "../store/database/delete-step.ts";
import type { Store } from "../store/open/open.ts";
import { DAY_MS, dayOf, packedKey } from "./spans.ts";

/** How long history is kept. A day goes when all of it is older. */
export interface HistoryKeep {
  readonly samplesMs: number;
  readonly rollupsMs: number;
}

/** Deletes history that is older than it may be. */
export interface HistoryRetention {
  /** One step; answers how many rows it deleted. */
  step(now: number, keep: HistoryKeep): number;
}

export function createHistoryRetention(store: Store): HistoryRetention {
  const { sqlite } = store;
  const packed = (table: string) =>
    sqlite.query<null, [number, number]>(
      `DELETE FROM ${table} WHERE key IN (SELECT key FROM ${table} WHERE key < ? ORDER BY key LIMIT ?)`,
    );
  const samples = packed("sample_days");
  const hours = packed("rollup_hours");
  const days = packed("rollup_days");
  const sites = sqlite.query<null, [number, number]>(
    "DELETE FROM site_days WHERE day IN (SELECT day FROM site_days WHERE day < ? ORDER BY day LIMIT ?)",
  );
  const servers = sqlite.query<{ id: string }, []>("SELECT id FROM servers");
  const coverage = sqlite.query<null, [string, number, number]>(
    `DELETE FROM coverage WHERE server_id = ?1 AND from_at IN
       (SELECT from_at FROM coverage WHERE server_id = ?1 AND from_at < ?2 AND until_at <= ?2 ORDER BY from_at LIMIT ?3)`,
  );

  return {
    step(now, { samplesMs, rollupsMs }) {
      const firstSampleDay = dayOf(now - samplesMs);
      const firstRollupDay = dayOf(now - rollupsMs);
      return deleteStep(store, (limit) => {
        const deleted =
          samples.run(packedKey(firstSampleDay, 0), limit).changes ||
          sites.run(firstSampleDay, limit).changes ||
          hours.run(packedKey(firstRollupDay, 0), limit).changes ||
          days.run(packedKey(firstRollupDay, 0), limit).changes;
        if (deleted > 0) return deleted;
        let rows = 0;
        for (const { id } of servers.all()) {
          if (rows >= limit) break;
          rows += coverage.run(id, firstSampleDay * DAY_MS, limit).changes;
        }
        return rows;
      });
    },
  };
}
