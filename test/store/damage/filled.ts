import type { LogEvent } from "../../../src/domain/events.ts";
import { createEvents } from "../../../src/store/events.ts";
import { createKeys } from "../../../src/store/keys.ts";
import type { Store } from "../../../src/store/open.ts";
import { createQuotas } from "../../../src/store/quotas.ts";
import { installationSecret } from "../../../src/store/secrets.ts";
import { plainKey } from "../plain-key.ts";

const clock = { now: () => Date.now() };

export interface Filled {
  /** Keys as they are presented, the first of them revoked. */
  readonly keys: readonly string[];
  readonly secret: Uint8Array;
  /** Of the newest event. */
  readonly newestId: number;
}

/** Writes something of everything that has to survive, and enough events that most pages are theirs. */
export function fill(store: Store, { keys = 30, events = 500 } = {}): Filled {
  const repository = createKeys({ store, clock });
  const presented = Array.from({ length: keys }, (_, at) => {
    const made = repository.create(plainKey({ name: `key-${at}` }));
    if (made.outcome !== "created") throw new Error(made.outcome);
    if (at === 0) repository.revoke(made.key.id);
    return made.presented;
  });
  const secret = installationSecret(store, "pseudonyms");
  const quotas = createQuotas({ store, clock });
  quotas.take("k", { daily: 10, monthly: 10 });
  quotas.flush();
  store.sqlite.run(
    `INSERT INTO alerts (id, rule, severity, server, message, started_at, silenced_until, told)
     VALUES (7, 'usage', 'warning', 'eda', 'nearly full', 1, 99, '{}')`,
  );
  const log = createEvents(store);
  const first = Date.now() - events;
  log.reserve(first + events);
  log.transaction(() => {
    for (let at = 1; at <= events; at++) {
      const id = first + at;
      log.insert(id, logLine(id, at), JSON.stringify(logLine(id, at)));
    }
  });
  return { keys: presented, secret, newestId: first + events };
}

function logLine(id: number, at: number): LogEvent {
  return {
    type: "log",
    id: `log-${id}`,
    timestamp: new Date(id).toISOString(),
    level: "info",
    message: `Line ${at} of a store that has been at work for a while`,
    source: "system",
    metadata: { number: at },
  };
}
