import { type Alert, type AlertChange, alertRecord, isAtLeast } from "../domain/alerts.ts";
import type { Note, NoteFilter, NoteKind } from "./notify/note.ts";

/** Decides who is told of an alert, and remembers that they were. */
export interface Teller {
  /** What a change of the alert means for the targets. */
  onChange(alert: Alert, change: AlertChange): Told;
  /** What time brings: who was not told because of a silence that is over, and reminders. */
  onTime(alert: Alert, reminderMs: number): Told;
}

export interface Told {
  /** The alert with the targets noted that are told now. */
  readonly alert: Alert;
  readonly notes: readonly Note[];
}

export interface TellerDeps {
  readonly targets: () => readonly NoteFilter[];
  /** Ids of notes, increasing over restarts. */
  readonly nextId: () => number;
  readonly now: () => number;
  readonly inMaintenance: (server: string, at: number) => boolean;
}

export function createTeller({ targets, nextId, now, inMaintenance }: TellerDeps): Teller {
  /** Nobody is bothered with it now. Its end is told all the same to those who heard of its begin. */
  const isQuiet = ({ silencedUntil, server }: Alert, at: number) =>
    (silencedUntil !== null && silencedUntil > at) || (server !== null && inMaintenance(server, at));
  const wanting = ({ severity, rule }: Alert) =>
    targets().filter(
      (target) =>
        isAtLeast(severity, target.severity) && (target.rules === null || target.rules.includes(rule)),
    );

  const tell = (
    alert: Alert,
    to: readonly { readonly id: string; readonly kind: NoteKind }[],
    at: number,
  ): Told => {
    if (to.length === 0) return { alert, notes: [] };
    const told = { ...alert.told, ...Object.fromEntries(to.map(({ id }) => [id, at])) };
    const record = alertRecord(alert);
    return {
      alert: { ...alert, told },
      notes: to.map(({ id, kind }) => ({ id: nextId(), target: id, kind, at, alert: record })),
    };
  };

  return {
    onChange(alert, change) {
      const at = now();
      switch (change) {
        case "fired":
        case "raised": {
          // Who heard of it before hears of the worse when the silence is over.
          if (isQuiet(alert, at)) return { alert: { ...alert, told: overdue(alert.told) }, notes: [] };
          const kindFor = (id: string) => (Object.hasOwn(alert.told, id) ? "raised" : "fired");
          return tell(
            alert,
            wanting(alert).map(({ id }) => ({ id, kind: kindFor(id) })),
            at,
          );
        }
        case "resolved": {
          const heard = targets().filter(({ id }) => Object.hasOwn(alert.told, id));
          return tell(
            alert,
            heard.map(({ id }) => ({ id, kind: "resolved" })),
            at,
          );
        }
        case "lowered":
        case "acknowledged":
        case "silenced":
          return { alert, notes: [] };
      }
    },

    onTime(alert, reminderMs) {
      const at = now();
      if (isQuiet(alert, at)) return { alert, notes: [] };
      const due = wanting(alert).flatMap(({ id }): { id: string; kind: NoteKind }[] => {
        const last = alert.told[id];
        if (last === undefined) return [{ id, kind: "fired" }];
        // Also when it was told by a clock that was ahead.
        const isDue = reminderMs > 0 && alert.acknowledgedAt === null && Math.abs(at - last) >= reminderMs;
        return isDue ? [{ id, kind: "reminder" }] : [];
      });
      return tell(alert, due, at);
    },
  };
}

function overdue(told: Alert["told"]): Alert["told"] {
  return Object.fromEntries(Object.keys(told).map((id) => [id, 0]));
}
