import type { Clock } from "../domain/clock.ts";
import type { KeyRecord } from "../domain/keys.ts";
import type { Log, LogOf } from "../domain/log.ts";
import { systemTimers } from "../domain/timers.ts";
import { createMarks } from "../store/event-marks.ts";
import { createKeys, type Keys } from "../store/keys.ts";
import type { Store } from "../store/open.ts";
import { createQuotas, type Quotas } from "../store/quotas.ts";

/** Looks this often whether another process wrote: what it did to keys is told within 5 s. */
export const KEY_WATCH_MS = 2_000;

interface KeyWatch {
  /** The same keys; what is done through these is known here, and is the caller's to tell. */
  readonly keys: Keys;
  stop(): void;
}

interface KeyWatchDeps {
  readonly store: Store;
  readonly keys: Keys;
  /** Log of source `audit`. */
  readonly log: Log;
  readonly timers: {
    /** Calls `run` after `ms`; the answer calls it off. */
    after(ms: number, run: () => void): () => void;
  };
}

/**
 * The audit trail of what the command line does to keys beside the daemon, and did while none ran: a command has no
 * event ids to give, so the daemon finds it in the database. How far it has told is kept there too.
 */
export function createKeyWatch({ store, keys, log, timers }: KeyWatchDeps): KeyWatch {
  const marks = createMarks(store);
  /** Keys whose making was told, and which of them were told to be revoked. */
  const told = new Map<string, { readonly revoked: boolean }>();
  let version: number | null = null;
  let failing = false;

  const note = ({ id, revokedAt }: Pick<KeyRecord, "id" | "revokedAt">) =>
    told.set(id, { revoked: revokedAt !== null });
  const raise = (at: number) => {
    if (at > marks.get("keys_told")) store.transaction(() => marks.raise("keys_told", at));
  };

  function look(): void {
    const current = store.dataVersion();
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

  /** What was told before this start. */
  function recall(): void {
    const through = marks.get("keys_told");
    for (const { id, createdAt, revokedAt } of keys.list()) {
      if (createdAt <= through) told.set(id, { revoked: revokedAt !== null && revokedAt <= through });
    }
  }

  function attempt(work: () => void): void {
    try {
      work();
      failing = false;
    } catch (error) {
      // The next look finds what this one missed; once is enough to say so.
      if (!failing) log.warn("Changes to API keys cannot be looked for", { error: String(error) });
      failing = true;
    }
  }

  attempt(recall);
  attempt(look);
  let cancel = () => {};
  const wait = () => {
    cancel = timers.after(KEY_WATCH_MS, () => {
      attempt(look);
      wait();
    });
  };
  wait();

  return {
    keys: {
      ...keys,
      create(wanted) {
        const made = keys.create(wanted);
        if (made.outcome === "created") {
          note(made.key);
          attempt(() => raise(made.key.createdAt));
        }
        return made;
      },
      revoke(id) {
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

/** Uses of keys are written this often; a kill may forget the last ones. */
const KEY_FLUSH_MS = 10_000;
/** Requests counted for quotas are written this often: what `kill -9` may forget. */
const QUOTA_FLUSH_MS = 1_000;

/** Keys, what the command line does to them, and what they have used. */
interface KeyRoom {
  readonly keys: Keys;
  readonly quotas: Quotas;
  /** Writes what is not written yet; throws when the store does not take it. */
  stop(): void;
}

export function createKeyRoom(store: Store, clock: Clock, log: LogOf): KeyRoom {
  const watch = createKeyWatch({
    ...{ store, keys: createKeys({ store, clock }), log: log("audit"), timers: systemTimers },
  });
  const { keys } = watch;
  const quotas = createQuotas({ store, clock });
  const attempt = (message: string, work: () => void) => {
    let failing = false;
    return () => {
      try {
        work();
        failing = false;
      } catch (error) {
        // They stay noted, and the next time they are written: once is enough to say so.
        if (!failing)
          log("store").warn(message, { error: error instanceof Error ? error.message : String(error) });
        failing = true;
      }
    };
  };
  const timers = [
    setInterval(attempt("Uses of keys were not written", keys.flush), KEY_FLUSH_MS),
    setInterval(attempt("Requests counted for quotas were not written", quotas.flush), QUOTA_FLUSH_MS),
  ];
  return {
    keys,
    quotas,
    stop() {
      watch.stop();
      for (const timer of timers) clearInterval(timer);
      try {
        quotas.flush();
      } finally {
        keys.flush();
      }
    },
  };
}
