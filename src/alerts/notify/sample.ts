import { alertRecord } from "../../domain/alerts.ts";
import { HOUR_MS, iso, MINUTE_MS } from "../../domain/time/clock.ts";
import type { Note, NoteKind } from "./note.ts";
import { overMessage } from "./over.ts";

const FULL =
  "All 25 seats of example are in use; requests for 3 seats wait; 2 requests denied since it began";
const NEARLY = "92 % of the seats of example are in use (23 of 25)";

/** Notes that are made up, one of each kind, for `licmond notify --test`: `server` is one of the config, if it has one. */
export function sampleNotes(
  server: { readonly id: string; readonly name: string },
  anonymize: boolean,
  at: number,
): readonly Note[] {
  const holder = (user: string, host: string, seats: number, hours: number) => {
    return { user, host, seats, since: iso(at - hours * HOUR_MS) };
  };
  const holders = [holder("ada", "ws01", 4, 8), holder("ben", "ws02", 1, 30), holder("cy", "ws03", 1, 2)];
  const about = { id: 1, rule: "seats", server: server.id, daemon: "vendord", feature: "example" } as const;
  const people = { acknowledgedAt: null, acknowledgedBy: null, comment: null, silencedUntil: null };
  const note = (id: number, kind: NoteKind, value: number): Note => {
    const isOver = kind === "resolved";
    const numbers = { value, peakValue: value, threshold: value < 100 ? 90 : 100 };
    const times = {
      startedAt: at - 20 * MINUTE_MS,
      firedAt: at - 5 * MINUTE_MS,
      resolvedAt: isOver ? at : null,
    };
    const severity = value < 100 ? "warning" : "critical";
    const what = {
      ...about,
      ...people,
      ...numbers,
      ...times,
      severity,
      message: value < 100 ? NEARLY : FULL,
    } as const;
    const alert = {
      ...alertRecord(what, at),
      serverName: server.name,
      holders: isOver || anonymize ? [] : holders,
    };
    return {
      id,
      target: "test",
      kind,
      at,
      alert: isOver ? { ...alert, message: overMessage(alert) } : alert,
    };
  };
  return [note(1, "fired", 92), note(2, "raised", 100), note(3, "reminder", 100), note(4, "resolved", 100)];
}
