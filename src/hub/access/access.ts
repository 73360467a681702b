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

/** Uses of keys and sign-ins are written this often; a kill may forget the last ones. */
const FLUSH_MS = 10_000;
const AWAY_SECONDS = 5;

/** Who may what at a hub: keys and sign-ins, the same at each hub of the database. */
export async function createHubAccess(pool: Pool, clock: Clock, log: Log) {
  const keys = await createHubKeys(pool, clock);
  const keyOf = (id: string) => socketCallerOf(id) ?? keys.get(id);
  const signIns = await createHubSignIns(pool, { keyOf, clock });
  const quotas = await createHubQuotas(pool, clock);
  const flush = sayingOnce(log, "Uses of keys and sign-ins were not written", async () => {
    await keys.flush();
    await signIns.flush();
    await quotas.renew();
  });
  const end = repeat(FLUSH_MS, () => void flush());

  return {
    keys,
    signIns,
    quotas,
    /** Brings what other hubs and the command line have changed. */
    async renew(): Promise<void> {
      await keys.renew();
      await signIns.renew();
      await quotas.renew();
    },
    /** Whether a key or a sign-in of this id holds, or a caller without one: what it opened may go on. */
    holds: (id: string, page: Config["page"]) =>
      kindOf(id) === "key" ? signIns.holds(id) || keys.get(id)?.state === "active" : keylessHolds(id, page),
    /** Writes what is not written yet. */
    async stop(): Promise<void> {
      end();
      await flush();
    },
  };
}

/** Runs work that is done again later: that it fails is said once, until it works again. */
function sayingOnce(log: Log, message: string, work: () => Promise<void>): () => Promise<void> {
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

/** What a database that is away, full or read-only is to clients; null for another error. */
export function databaseTrouble(error: unknown): ApiError | null {
  // The worker of history says it in words of the store.
  if (!isAway(error) && !(error instanceof StoreError)) return null;
  return new ApiError("SERVICE_UNAVAILABLE", "The hub's database does not take or answer anything now.", {
    retryAfterSeconds: AWAY_SECONDS,
    cause: error,
  });
}
