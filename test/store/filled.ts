import type { Alert } from "../../src/domain/alerts.ts";
import { createAlerts } from "../../src/store/alerts.ts";
import { createEvents } from "../../src/store/events.ts";
import { createKeys } from "../../src/store/keys.ts";
import type { Store } from "../../src/store/open/open.ts";
import { createQuotas } from "../../src/store/quotas.ts";
import { installationSecret } from "../../src/store/secrets.ts";
import { plainKey } from "./plain-key.ts";

const clock = { now: () => Date.now() };

export interface Filled {
  /** Keys as clients send them. The first one is revoked. */
  readonly keys: readonly string[];
  readonly secret: Uint8Array;
  readonly newestId: number;
}

const OPEN_ALERT: Alert = {
  id: 7,
  rule: "seats",
  severity: "warning",
  server: "eda",
  daemon: null,
  feature: null,
  detail: null,
  message: "nearly full",
  value: 1,
  threshold: 1,
  peakValue: 1,
  startedAt: 1,
  firedAt: 1,
  resolvedAt: null,
  acknowledgedAt: 5,
  acknowledgedBy: "ada",
  comment: "known",
  silencedUntil: 99,
  told: {},
};

/** Writes all precious data, and so many events that most pages contain events. */
export function fill(store: Store, { keys = 30, events = 500 } = {}): Filled {
  const repository = createKeys({ store, clock });
  const presented = Array.from({ length: keys }, (_, at) => {
    const made = repository.create(plainKey({ name: `key-${at}` }));
    if (made.outcome !== "created") throw new Error(made.outcome);
    if (at === 0) repository.revoke(made.key.id);
    return made.presented;
  });
  const secret = installationSecret(store);
  const quotas = createQuotas({ store, clock });
  quotas.take("k", { daily: 10, monthly: 10 });
  quotas.flush();
  store.state.write(() => createAlerts(store).write(OPEN_ALERT));
  const log = createEvents(store);
  const first = Date.now() - events;
  log.reserve(first + events);
  log.transaction(() => {
    for (let at = 1; at <= events; at++) {
      const id = first + at;
      const line = {
        type: "log",
        id: `log-${id}`,
        timestamp: new Date(id).toISOString(),
        level: "info",
        message: `Line ${at} of a store that has been at work for a while`,
        source: at === events ? "audit" : "system",
        metadata: {},
      } as const;
      log.insert(id, line, JSON.stringify(line));
    }
  });
  return { keys: presented, secret, newestId: first + events };
}
