import { type Alert, type AlertChange, alertRecord, anonymousAlert } from "../domain/alerts.ts";
import type { Snapshot } from "../domain/picture.ts";
import { topHolders } from "./notify/holders.ts";
import type { LinkTo } from "./notify/link.ts";
import type { Note, NotedAlert, NoteFilter, NoteKind } from "./notify/note.ts";
import type { InMaintenance } from "./settings.ts";

/** An alert with the targets that get a note now in `told`, and these notes. */
interface Notified {
  readonly alert: Alert;
  readonly notes: readonly Note[];
}

export interface NotifierSettings {
  readonly inMaintenance: InMaintenance;
  readonly targets: readonly NoteFilter[];
  readonly linkTo: LinkTo;
}

export type Notifier = ReturnType<typeof createNotifier>;

/**
 * Decides which targets get a note about an alert, and keeps that in the alert. Pure but for the ids of notes, which
 * increase over restarts.
 */
export function createNotifier(
  settings: () => NotifierSettings,
  snapshot: () => Snapshot,
  nextId: () => number,
  now: () => number,
) {
  const pictureOf = (server: string | null) => snapshot().servers.find((each) => each.server.id === server);

  /** No note about it now, but for its end, which goes to the targets that know of its begin. */
  const isQuiet = ({ silencedUntil, server }: Alert, at: number) =>
    (silencedUntil !== null && silencedUntil > at) ||
    (server !== null && settings().inMaintenance(server, at));

  const wants = (target: NoteFilter, alert: Alert) =>
    target.wants(alert, pictureOf(alert.server)?.server.labels ?? {});

  /** The alert as a target is to see it. */
  function noted(alert: Alert, at: number): (target: NoteFilter) => NotedAlert {
    const { server, daemon, feature } = alert;
    const picture = pictureOf(server);
    const hasHolders = picture !== undefined && daemon !== null && feature !== null;
    const record = alertRecord(alert, at);
    const more = { serverName: picture?.server.name ?? server, link: settings().linkTo(alert) };
    const holders = hasHolders && alert.resolvedAt === null ? topHolders(picture, daemon, feature) : [];
    return ({ anonymize }) =>
      anonymize ? { ...anonymousAlert(record), ...more, holders: [] } : { ...record, ...more, holders };
  }

  /** One note for each target that has a kind. */
  function notify(alert: Alert, at: number, kindFor: (target: NoteFilter) => NoteKind | null): Notified {
    const due = settings().targets.flatMap((target) => {
      const kind = kindFor(target);
      return kind === null ? [] : [{ target, kind }];
    });
    // Most looks bring no note: nothing is gathered for them.
    if (due.length === 0) return { alert, notes: [] };
    const showTo = noted(alert, at);
    const notes = due.map(({ target, kind }): Note => {
      return { id: nextId(), target: target.id, kind, at, alert: showTo(target) };
    });
    const told = Object.fromEntries(notes.map(({ target }) => [target, at]));
    return { alert: { ...alert, told: { ...alert.told, ...told } }, notes };
  }

  return {
    /** What a change of the alert means for the targets. */
    onChange(alert: Alert, change: AlertChange): Notified {
      const at = now();
      const knows = ({ id }: NoteFilter) => Object.hasOwn(alert.told, id);
      if (change === "resolved") return notify(alert, at, (target) => (knows(target) ? "resolved" : null));
      if (change !== "fired" && change !== "raised") return { alert, notes: [] };
      if (isQuiet(alert, at)) {
        // Targets that know of it get a reminder as soon as notes may go out again.
        const told = Object.fromEntries(Object.keys(alert.told).map((id) => [id, 0]));
        return { alert: { ...alert, told }, notes: [] };
      }
      return notify(alert, at, (target) =>
        wants(target, alert) ? (knows(target) ? "raised" : "fired") : null,
      );
    },

    /** What time brings: reminders, and notes that a silence or a maintenance window held back. */
    onTime(alert: Alert, reminderMs: number): Notified {
      const at = now();
      if (isQuiet(alert, at)) return { alert, notes: [] };
      return notify(alert, at, (target) => {
        const last = alert.told[target.id];
        if (!wants(target, alert)) return null;
        if (last === undefined) return "fired";
        // Also when the last note went out by a clock that was ahead.
        const isDue = reminderMs > 0 && alert.acknowledgedAt === null && Math.abs(at - last) >= reminderMs;
        return isDue ? "reminder" : null;
      });
    },
  };
}
