import type { TransactionSQL } from "bun";
import { type Backend, TooMuch, type ToWorker } from "../../history/serve.ts";
import { StoreError } from "../../store/database/store-error.ts";
import { isAway, openPool, type Pool, type Sql, sqlState } from "./connect.ts";

const CANCELED = "57014";

/** A transaction with a consistent snapshot, for one question. */
export interface Question {
  readonly sql: Sql;
  readonly now: number;
  /** Time before which ended sessions are deleted at the hub; 0 = none is deleted. */
  readonly keptFrom: number;
  readonly checkpoint: () => void;
}

export function postgresBackend(): Backend<Question> {
  let open: { readonly path: string; readonly pool: Pool } | null = null;
  const close = () => {
    void open?.pool.close({ timeout: 0 }).catch(() => {});
    open = null;
  };

  function poolAt(path: string): Pool {
    if (open?.path === path) return open.pool;
    close();
    open = { path, pool: openPool(JSON.parse(path), 1) };
    return open.pool;
  }

  async function once(
    { path, now, timeoutMs }: ToWorker,
    checkpoint: () => void,
    query: (question: Question) => unknown,
  ) {
    return poolAt(path).begin("ISOLATION LEVEL REPEATABLE READ READ ONLY", async (sql: TransactionSQL) => {
      // Cancel statements of disconnected clients. Disable JIT: with partitions, compiling takes longer than
      // the query.
      await sql.unsafe(
        `SET LOCAL jit = off; SET LOCAL client_connection_check_interval = '1s'; SET LOCAL statement_timeout = ${timeoutMs}`,
      );
      const [mark] = await sql`SELECT value FROM marks WHERE name = 'sessions_from'`;
      return query({ sql, now, keptFrom: Number(mark?.value ?? 0), checkpoint });
    });
  }

  return {
    async run(asked, checkpoint, query) {
      try {
        return await once(asked, checkpoint, query);
      } catch (error) {
        if (sqlState(error) === CANCELED) throw new TooMuch("The history query took too long");
        if (!isAway(error)) throw error;
        // Reconnect and retry once: after a failover, the first query of a connection fails.
        close();
        return once(asked, checkpoint, query);
      }
    },
    troubleOf(error) {
      if (!isAway(error)) return null;
      close();
      const fix = "See PostgreSQL's log.";
      return new StoreError("BUSY", "The hub's database is not responding", fix, error);
    },
  };
}
