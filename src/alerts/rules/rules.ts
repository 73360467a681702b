import { expiry } from "./expiry.ts";
import { queue, seatsExhausted, usage } from "./feature-rules.ts";
import { heldTooLong } from "./held.ts";
import type { NamedRule } from "./rule.ts";
import { daemonDown, serverDegraded, serverDown, stale } from "./server-rules.ts";

export const EXPIRY: NamedRule = { rule: "expiry", patience: "none", look: expiry };

/** What is looked at after each poll. The other rules compare with what was before, or look at no server. */
export const PICTURE_RULES: readonly NamedRule[] = [
  { rule: "server_down", patience: "poll", look: serverDown },
  { rule: "server_degraded", patience: "poll", look: serverDegraded },
  { rule: "daemon_down", patience: "poll", look: daemonDown },
  { rule: "stale", patience: "poll", look: stale },
  { rule: "usage", patience: "feature", look: usage },
  { rule: "seats_exhausted", patience: "feature", look: seatsExhausted },
  { rule: "queue", patience: "feature", look: queue },
  { rule: "held_too_long", patience: "none", look: heldTooLong },
  EXPIRY,
];
