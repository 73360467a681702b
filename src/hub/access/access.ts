import type { Config } from "../../config/config.ts";
import { messageOf } from "../../domain/error-code.ts";
import { ApiError } from "../../domain/errors.ts";
import type { Log } from "../../domain/log.ts";
import { type Clock, DAY_MS, repeat } from "../../domain/time/clock.ts";
import { keylessHolds, kindOf, socketCallerOf } from "../../http/without-key.ts";
import { StoreError } from "../../store/database/store-error.ts";
import { createQuotaBook, type QuotaLimits, type QuotaRefusal } from "../../store/quotas.ts";
import { isAway, type Pool } from "../database/connect.ts";
import { createHubKeys } from "./keys.ts";
import { createHubSignIns } from "./sign-ins.ts";

/**
 * Interval at which uses of keys and sign-ins are written. A killed hub loses the uses of the last
 * interval.
 */
const FLUSH_MS = 10_000;
const AWAY_SECONDS = 5;

export async function createHubAccess(pool: Pool, clock: Clock, log: Log) {
  const keys = await createHubKeys(pool, clock);
  const keyOf = (id: string) => socketCallerOf(id) ?? keys.get(id);
  const signIns = await createHubSignIns(pool, { keyOf, clock });
  const quotas = await createHubQuotas(pool, clock);
  const flush = retriedQuietly(log, "Cannot write uses of keys and sign-ins", async () => {
    await keys.flush();
    await signIns.flush();
    await quotas.renew();
  });
  const end = repeat(FLUSH_MS, () => void flush());

  return {
    keys,
    signIns,
    quotas,
    async renew(): Promise<void> {
      await keys.renew();
      await signIns.renew();
      await quotas.renew();
    },
    /**
     * Reports whether the key, sign-in or keyless caller with this id is still valid, so its streams may
     * continue.
     */
    holds: (id: string, page: Config["page"]) =>
      kindOf(id) === "key" ? signIns.holds(id) || keys.get(id)?.state === "active" : keylessHolds(id, page),
    async stop(): Promise<void> {
      end();
      await flush();
    },
  };
}

/** Wraps work that is retried; logs only the first of several failures. */
function retriedQuietly(log: Log, message: string, work: () => Promise<void>): () => Promise<void> {
  let failing = false;
  return async () => {
    try {
      await work();
      failing = false;
    } catch (error) {
      if (!failing) log.warn(message, { error: messageOf(error) });
      failing = true;
    }
  };
}

/**
 * Converts an error to an API error if the database is unavailable, full or read-only; returns null for
 * other errors.
 */
export function databaseTrouble(error: unknown): ApiError | null {
  // The history worker reports trouble with the database as StoreError.
  if (!isAway(error) && !(error instanceof StoreError)) return null;
  return new ApiError("SERVICE_UNAVAILABLE", "The hub's database is not available.", {
    retryAfterSeconds: AWAY_SECONDS,
    cause: error,
  });
}

/**
 * Counts requests of keys across all hubs: each hub counts in memory, and `renew` adds its counts to
 * PostgreSQL once a second. A key may exceed its quota by the requests that other hubs answer within that
 * second.
 */
export async function createHubQuotas(pool: Pool, clock: Clock) {
  const book = createQuotaBook(clock);
  let own = new Map<string, number>();

  async function renew(): Promise<void> {
    const sent = own;
    own = new Map();
    if (sent.size > 0) {
      await add(sent).catch((error) => {
        for (const [keyId, count] of sent) own.set(keyId, count + (own.get(keyId) ?? 0));
        throw error;
      });
    }
    const rows: Record<string, string>[] =
      await pool`SELECT * FROM quota_counts WHERE day_at >= ${book.outdated()}`;
    book.counters.clear();
    for (const { key_id: keyId = "", ...row } of rows) {
      const later = own.get(keyId) ?? 0;
      book.counters.set(keyId, {
        dayAt: Number(row.day_at),
        dayCount: Number(row.day_count) + later,
        monthAt: Number(row.month_at),
        monthCount: Number(row.month_count) + later,
      });
    }
  }

  async function add(counts: ReadonlyMap<string, number>): Promise<void> {
    const rows = [...counts].map(([key_id, count]) => {
      const { dayAt: day_at, monthAt: month_at } = book.current(key_id);
      return { key_id, day_at, month_at, count };
    });
    await pool.begin(async (tx) => {
      await tx`DELETE FROM quota_counts WHERE day_at < ${book.outdated()}`;
      await tx`
        INSERT INTO quota_counts AS q (key_id, day_at, day_count, month_at, month_count)
        SELECT key_id, day_at, count, month_at, count FROM json_to_recordset(${JSON.stringify(rows)}::text::json)
          AS r(key_id text, day_at bigint, month_at bigint, count bigint)
        ORDER BY key_id
        -- Of two hubs one is over midnight first.
        ON CONFLICT (key_id) DO UPDATE SET
          (day_at, day_count) = (SELECT
            CASE WHEN same THEN q.day_at ELSE excluded.day_at END,
            CASE WHEN same THEN q.day_count ELSE 0 END + excluded.day_count
            FROM (SELECT q.day_at - excluded.day_at BETWEEN 0 AND ${DAY_MS}) AS s(same)),
          (month_at, month_count) = (SELECT
            CASE WHEN same THEN q.month_at ELSE excluded.month_at END,
            CASE WHEN same THEN q.month_count ELSE 0 END + excluded.month_count
            FROM (SELECT q.month_at = excluded.month_at
              OR q.month_at > excluded.month_at AND q.day_at - excluded.day_at BETWEEN 0 AND ${DAY_MS}) AS s(same))`;
    });
  }

  await renew();
  return {
    renew,
    take(keyId: string, limits: QuotaLimits): QuotaRefusal | null {
      const refusal = book.take(keyId, limits);
      if (refusal === null) own.set(keyId, 1 + (own.get(keyId) ?? 0));
      return refusal;
    },
  };
}
