import { type Alert, type AlertChange, alertRecord, isAtLeast } from "../domain/alerts.ts";
import type { InMaintenance } from "./maintenance.ts";
import type { Note, NoteFilter, NoteKind } from "./notify/note.ts";

/** Decides which targets get a note about an alert, and keeps that in the alert. Pure but for the ids of notes. */
export interface Notifier {
  /** What a change of the alert means for the targets. */
  onChange(alert: Alert, change: AlertChange): Notified;
  /** What time brings: reminders, and notes that a silence or a maintenance window held back. */
  onTime(alert: Alert, reminderMs: number): Notified;
}

export interface Notified {
  /** The alert with the targets that get a note now in `told`. */
  readonly alert: Alert;
  readonly notes: readonly Note[];
}

export interface NotifierDeps {
  readonly targets: () => readonly NoteFilter[];
  /** Ids of notes, increasing over restarts. */
  readonly nextId: () => number;
  readonly now: () => number;
  readonly inMaintenance: InMaintenance;
}

export function createNotifier({ targets, nextId, now, inMaintenance }: NotifierDeps): Notifier {
  /** No note about it now, but for its end, which goes to the targets that know of its begin. */
  const isQuiet = ({ silencedUntil, server }: Alert, at: number) =>
    (silencedUntil !== null && silencedUntil > at) || (server !== null && inMaintenance(server, at));

  const wants = ({ severity, rules }: NoteFilter, alert: Alert) =>
    isAtLeast(alert.severity, severity) && (rules === null || rules.includes(alert.rule));

  /** One note for each target that has a kind. */
  function notify(alert: Alert, at: number, kindFor: (target: NoteFilter) => NoteKind | null): Notified {
    const record = alertRecord(alert);
    const told = { ...alert.told };
    const notes: Note[] = [];
    for (const target of targets()) {
      const kind = kindFor(target);
      if (kind === null) continue;
      told[target.id] = at;
      notes.push({ id: nextId(), target: target.id, kind, at, alert: record });
    }
    return notes.length === 0 ? { alert, notes } : { alert: { ...alert, told }, notes };
  }

  return {
    onChange(alert, change) {
      const at = now();
      const knows = ({ id }: NoteFilter) => Object.hasOwn(alert.told, id);
      if (change === "resolved") return notify(alert, at, (target) => (knows(target) ? "resolved" : null));
      if (change !== "fired" && change !== "raised") return { alert, notes: [] };
      if (isQuiet(alert, at)) {
        // Targets that know of it get a reminder once it may be told.
        const told = Object.fromEntries(Object.keys(alert.told).map((id) => [id, 0]));
        return { alert: { ...alert, told }, notes: [] };
      }
      return notify(alert, at, (target) =>
        wants(target, alert) ? (knows(target) ? "raised" : "fired") : null,
      );
    },

    onTime(alert, reminderMs) {
      const at = now();
      if (isQuiet(alert, at)) return { alert, notes: [] };
      return notify(alert, at, (target) => {
        const last = alert.told[target.id];
        if (!wants(target, alert)) return null;
        if (last === undefined) return "fired";
        // Also when it was told by a clock that was ahead.
        const isDue = reminderMs > 0 && alert.acknowledgedAt === null && Math.abs(at - last) >= reminderMs;
        return isDue ? "reminder" : null;
      });
    },
  };
}
