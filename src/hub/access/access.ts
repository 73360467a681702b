import type { Config } from "../../config/config.ts";
import { messageOf } from "../../domain/error-code.ts";
import { ApiError } from "../../domain/errors.ts";
import type { Log } from "../../domain/log.ts";
import { type Clock, repeat } from "../../domain/time/clock.ts";
import { keylessHolds, kindOf, socketCallerOf } from "../../http/without-key.ts";
import { StoreError } from "../../store/database/store-error.ts";
import { isAway, type Pool } from "../database/connect.ts";
import { createHubKeys } from "./keys.ts";
import { createHubQuotas } from "./quotas.ts";
import { createHubSignIns } from "./sign-ins.ts";

/** Interval at which uses of keys and sign-ins are written; a killed hub loses the last ones. */
const FLUSH_MS = 10_000;
const AWAY_SECONDS = 5;

/** Authenticates keys and sign-ins, which all hubs of a database share. */
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
    /** Loads changes by other hubs and the command line. */
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
    /** Writes pending uses. */
    async stop(): Promise<void> {
      end();
      await flush();
    },
  };
}

/** Wraps work that is retried: logs only the first of several failures. */
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

/** Converts an error of an unavailable, full or read-only database to an API error; null for other errors. */
export function databaseTrouble(error: unknown): ApiError | null {
  // The history worker reports such errors as StoreError.
  if (!isAway(error) && !(error instanceof StoreError)) return null;
  return new ApiError("SERVICE_UNAVAILABLE", "The hub's database is not available.", {
    retryAfterSeconds: AWAY_SECONDS,
    cause: error,
  });
}
