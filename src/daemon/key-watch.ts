import type { KeyRecord } from "../domain/keys.ts";
import type { Log } from "../domain/log.ts";
import { createMarks } from "../store/event-marks.ts";
import type { Keys } from "../store/keys.ts";
import type { Store } from "../store/open.ts";

/** Looks this often whether another process wrote: what it did to keys is told within 5 s. */
export const KEY_WATCH_MS = 2_000;

export interface KeyWatch {
  /** The same keys; what is done through these is known here, and is the caller's to tell. */
  readonly keys: Keys;
  stop(): void;
}

export interface KeyWatchDeps {
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
