import type { Config } from "../config/config.ts";
import { messageOf } from "../domain/error-code.ts";
import type { KeyRecord, NewKey } from "../domain/keys.ts";
import type { Log, LogOf } from "../domain/log.ts";
import { type Clock, MINUTE_MS, repeat, systemTimers, type Timers } from "../domain/time/clock.ts";
import { keylessHolds, kindOf, socketCallerOf } from "../http/without-key.ts";
import { createMarks } from "../store/events.ts";
import { createKeys, type Keys } from "../store/keys.ts";
import type { Store } from "../store/open/open.ts";
import { createQuotas } from "../store/quotas.ts";
import { createSignIns } from "../store/sign-ins.ts";

/** Interval at which changes by other processes are detected. Changes to keys must be logged within 5 s. */
export const KEY_WATCH_MS = 2_000;
/** Interval at which uses of keys are written. A kill may lose the uses of the last interval. */
const KEY_FLUSH_MS = 10_000;
/** Interval at which quota counts are written. `kill -9` may lose the counts of the last interval. */
const QUOTA_FLUSH_MS = 1_000;

export function createKeyService(store: Store, clock: Clock, log: LogOf) {
  const watch = createKeyWatch(store, createKeys({ store, clock }), log("audit"), systemTimers);
  const { keys } = watch;
  const quotas = createQuotas({ store, clock });
  const keyOf = (id: string) => socketCallerOf(id) ?? keys.get(id);
  const signIns = createSignIns({ state: store.state, keyOf, clock });
  const flushKeys = sayingOnce(log("store"), "Cannot write uses of keys");
  const flushSignIns = sayingOnce(log("store"), "Cannot write uses of sign-ins");
  const flushQuotas = sayingOnce(log("store"), "Cannot write quota counts");
  const ends = [
    repeat(KEY_FLUSH_MS, () => flushKeys(keys.flush)),
    repeat(MINUTE_MS, () => flushSignIns(signIns.flush)),
    repeat(QUOTA_FLUSH_MS, () => flushQuotas(quotas.flush)),
  ];
  return {
    keys,
    quotas,
    signIns,
    /** Reports whether a key, sign-in or keyless caller is still valid, so that its streams may continue. */
    holds: (id: string, page: Config["page"]) =>
      kindOf(id) === "key" ? signIns.holds(id) || keys.get(id)?.state === "active" : keylessHolds(id, page),
    stop() {
      watch.stop();
      for (const end of ends) end();
      try {
        quotas.flush();
      } finally {
        keys.flush();
        signIns.flush();
      }
    },
  };
}

/**
 * Writes an audit trail (`log`) of changes that commands make to keys, including changes made while no
 * daemon ran. Commands have no event ids, so the daemon finds their changes in the database, which also
 * stores how far the trail has been written.
 */
export function createKeyWatch({ state }: Pick<Store, "state">, keys: Keys, log: Log, timers: Timers) {
  const marks = createMarks(state);
  /** Keys whose creation was logged. `revoked` means that their revocation was logged, too. */
  const told = new Map<string, { readonly revoked: boolean }>();
  const attempt = sayingOnce(log, "Cannot look for changes to API keys");
  let version: number | null = null;
  let cancel = () => {};

  const note = ({ id, revokedAt }: Pick<KeyRecord, "id" | "revokedAt">) =>
    told.set(id, { revoked: revokedAt !== null });
  const raise = (at: number) => {
    if (at > marks.get("keys_told")) state.transaction(() => marks.raise("keys_told", at));
  };

  function look(): void {
    const current = state.dataVersion();
    if (current === version) return;
    let last = 0;
    for (const key of keys.list()) {
      const before = told.get(key.id);
      if (before === undefined) tell("API key created", key);
      if (key.revokedAt !== null && before?.revoked !== true) tell("API key revoked", key);
      note(key);
      last = Math.max(last, key.createdAt, key.revokedAt ?? 0);
    }
    raise(last);
    version = current;
  }

  function tell(message: string, { id, name, role, anonymize }: KeyRecord): void {
    log.info(message, { outcome: "ok", keyId: id, name, role, anonymize, by: null, via: "command line" });
  }

  function recall(): void {
    const through = marks.get("keys_told");
    for (const { id, createdAt, revokedAt } of keys.list()) {
      if (createdAt <= through) told.set(id, { revoked: revokedAt !== null && revokedAt <= through });
    }
  }

  function wait(): void {
    cancel = timers.after(KEY_WATCH_MS, () => {
      attempt(look);
      wait();
    });
  }

  attempt(recall);
  attempt(look);
  wait();
  return {
    /**
     * The key store for routes. Changes made through it are not logged again, because the caller logs them.
     */
    keys: {
      ...keys,
      create(wanted: NewKey) {
        const made = keys.create(wanted);
        if (made.outcome === "created") {
          note(made.key);
          attempt(() => raise(made.key.createdAt));
        }
        return made;
      },
      revoke(id: string) {
        const outcome = keys.revoke(id);
        if (outcome === "revoked") {
          told.set(id, { revoked: true });
          attempt(() => raise(keys.get(id)?.revokedAt ?? 0));
        }
        return outcome;
      },
    },
    stop: () => cancel(),
  };
}

/** Runs repeated work and logs a failure only once until it succeeds again. */
function sayingOnce(log: Log, message: string): (work: () => void) => void {
  let failing = false;
  return (work) => {
    try {
      work();
      failing = false;
    } catch (error) {
      if (!failing) log.warn(message, { error: messageOf(error) });
      failing = true;
    }
  };
}
