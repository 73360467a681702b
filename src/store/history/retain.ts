import type { Store } from "../open.ts";
import { DAY_MS, dayOf, packedKey } from "./spans.ts";

/** Rows deleted in one transaction: a few milliseconds. */
const STEP_ROWS = 200;

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
  const servers = sqlite.query<{ id: string }, []>("SELECT id FROM servers");
  const coverage = sqlite.query<null, [string, number, number]>(
    `DELETE FROM coverage WHERE server_id = ?1 AND from_at IN
       (SELECT from_at FROM coverage WHERE server_id = ?1 AND from_at < ?2 AND until_at <= ?2 ORDER BY from_at LIMIT ?3)`,
  );

  return {
    step: (now, { samplesMs, rollupsMs }) =>
      store.transaction(() => {
        const firstSampleDay = dayOf(now - samplesMs);
        const firstRollupDay = dayOf(now - rollupsMs);
        const deleted =
          samples.run(packedKey(firstSampleDay, 0), STEP_ROWS).changes ||
          hours.run(packedKey(firstRollupDay, 0), STEP_ROWS).changes ||
          days.run(packedKey(firstRollupDay, 0), STEP_ROWS).changes;
        if (deleted > 0) return deleted;
        let rows = 0;
        for (const { id } of servers.all()) {
          if (rows >= STEP_ROWS) break;
          rows += coverage.run(id, firstSampleDay * DAY_MS, STEP_ROWS).changes;
        }
        return rows;
      }),
  };
}
