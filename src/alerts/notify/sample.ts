import { type Alert, alertRecord, heldMessage } from "../../domain/alerts.ts";
import { HOUR_MS, iso, MINUTE_MS } from "../../domain/time/clock.ts";
import type { Note, NoteKind } from "./note.ts";
import { overMessage } from "./over.ts";

const NEW = {
  acknowledgedAt: null,
  acknowledgedBy: null,
  comment: null,
  silencedUntil: null,
  resolvedAt: null,
};
const FULL =
  "All 25 seats of example are in use; requests for 3 seats wait; 2 requests denied since it began";

/** Notes that are made up, one of each kind, for `licmond notify --test`: `server` is one of the config, if it has one. */
export function sampleNotes(
  server: { readonly id: string; readonly name: string },
  anonymize: boolean,
  at: number,
): readonly Note[] {
  const place = { server: server.id, daemon: "vendord", feature: "example", ...NEW };
  const holder = (user: string, host: string, seats: number, hours: number) => {
    return { user, host, seats, since: iso(at - hours * HOUR_MS) };
  };
  const holders = [holder("ada", "ws01", 4, 8), holder("ben", "ws02", 1, 30), holder("cy", "ws03", 1, 2)];
  const note = (kind: NoteKind, id: number, minutes: number, own: Sample): Note => {
    const times = { startedAt: at - minutes * MINUTE_MS, firedAt: at - 5 * MINUTE_MS };
    const record = alertRecord({ id, peakValue: own.value, ...place, ...times, ...own }, at);
    const isOver = kind === "resolved";
    const message = isOver ? overMessage(record) : record.message;
    const who = isOver || anonymize ? [] : holders;
    return {
      id,
      target: "test",
      kind,
      at,
      alert: { ...record, message, serverName: server.name, holders: who },
    };
  };
  const short = { rule: "seats", message: "92 % of the seats of example are in use (23 of 25)" } as const;
  const full = { rule: "seats", severity: "critical", message: FULL, value: 100, threshold: 100 } as const;
  const held = heldMessage(anonymize ? null : "ben on ws02", "example", 30, 24);
  return [
    note("fired", 1, 20, { ...short, severity: "warning", value: 92, threshold: 90 }),
    note("raised", 1, 20, full),
    note("reminder", 2, 360, {
      rule: "held_too_long",
      severity: "warning",
      message: held,
      value: 30,
      threshold: 24,
    }),
    note("resolved", 1, 20, { ...full, resolvedAt: at }),
  ];
}

type Sample = Pick<Alert, "rule" | "severity" | "message" | "value" | "threshold"> &
  Partial<Pick<Alert, "resolvedAt">>;
