import { heldMessage } from "../../domain/alerts.ts";
import { HOUR_MS, iso, MINUTE_MS } from "../../domain/time/clock.ts";
import type { LinkTo } from "./link.ts";
import type { Note, NotedAlert } from "./note.ts";

/** Notes that are made up, one of each kind, for `licmond notify --test`: `server` is one of the config, if it has one. */
export function sampleNotes(
  server: { readonly id: string; readonly name: string },
  anonymize: boolean,
  linkTo: LinkTo,
  at: number,
): readonly Note[] {
  const began = at - 20 * MINUTE_MS;
  const place = { server: server.id, daemon: "vendord", feature: "example" };
  const alert: NotedAlert = {
    id: 1,
    rule: "seats",
    severity: "warning",
    state: "firing",
    ...place,
    serverName: server.name,
    message: "92 % of the seats of example are in use (23 of 25)",
    value: 92,
    threshold: 90,
    peakValue: 92,
    startedAt: iso(began),
    firedAt: iso(began + 15 * MINUTE_MS),
    resolvedAt: null,
    durationSeconds: 20 * 60,
    acknowledged: false,
    acknowledgedAt: null,
    acknowledgedBy: null,
    comment: null,
    silencedUntil: null,
    holders: anonymize
      ? []
      : [
          { user: "ada", host: "ws01", seats: 4, since: iso(at - 8 * HOUR_MS) },
          { user: "ben", host: "ws02", seats: 1, since: iso(at - 30 * HOUR_MS) },
          { user: "cy", host: "ws03", seats: 1, since: iso(at - 2 * HOUR_MS) },
        ],
    link: linkTo(place),
  };
  const full: NotedAlert = {
    ...alert,
    severity: "critical",
    message:
      "All 25 seats of example are in use; requests for 3 seats wait; 2 requests denied since it began",
    value: 100,
    threshold: 100,
    peakValue: 100,
  };
  const held: NotedAlert = {
    ...alert,
    id: 2,
    rule: "held_too_long",
    message: heldMessage(anonymize ? null : "ben on ws02", "example", 30, 24),
    value: 30,
    threshold: 24,
    peakValue: 30,
    startedAt: iso(at - 6 * HOUR_MS),
  };
  const over = { ...full, state: "resolved" as const, resolvedAt: iso(at), holders: [] };
  const note = (id: number, kind: Note["kind"], about: NotedAlert): Note => {
    return { id, target: "test", kind, at, alert: about };
  };
  return [
    note(1, "fired", alert),
    note(2, "raised", full),
    note(3, "reminder", held),
    note(4, "resolved", over),
  ];
}
