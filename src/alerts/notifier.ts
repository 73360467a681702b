import { type Alert, type AlertChange, alertRecord, anonymousAlert } from "../domain/alerts.ts";
import type { CheckoutPicture, Snapshot } from "../domain/picture.ts";
import { sharedSets } from "../domain/polls/seat-groups.ts";
import { placeLink } from "../domain/service/page-link.ts";
import { userKey } from "../domain/session.ts";
import { iso } from "../domain/time/clock.ts";
import type { Note, NotedAlert, NotedHolder, NoteFilter, NoteKind } from "./notify/note.ts";
import { overMessage } from "./notify/text.ts";
import type { InMaintenance } from "./settings.ts";

const MAX_HOLDERS = 3;

interface Notified {
  readonly alert: Alert;
  readonly notes: readonly Note[];
}

export interface NotifierSettings {
  readonly inMaintenance: InMaintenance;
  readonly targets: readonly NoteFilter[];
  readonly publicUrl: string | null;
  /** Reports whether the hub of a fleet sends the notifications about alerts at an instant, epoch ms. */
  readonly hubNotifies?: (at: number) => boolean;
}

export type Notifier = ReturnType<typeof createNotifier>;

/**
 * Decides which targets get a note about an alert, and records these targets in the alert. Pure except for
 * the ids of notes, which increase across restarts.
 */
export function createNotifier(
  settings: () => NotifierSettings,
  snapshot: () => Snapshot,
  nextId: () => number,
  now: () => number,
) {
  const pictureOf = (server: string | null) => snapshot().servers.find((each) => each.server.id === server);

  /**
   * Reports whether notes about the alert are held back. Targets that know the alert are still told that it
   * resolved.
   */
  const isQuiet = ({ silencedUntil, server }: Alert, at: number) =>
    (silencedUntil !== null && silencedUntil > at) ||
    (server !== null && settings().inMaintenance(server, at));

  const wants = (target: NoteFilter, alert: Alert) =>
    target.wants(alert, pictureOf(alert.server)?.server.labels ?? {});

  function shown(alert: Alert, at: number, anonymize: boolean): NotedAlert {
    const picture = pictureOf(alert.server);
    const { rule } = alert;
    const isOver = alert.resolvedAt !== null;
    const record = anonymize ? anonymousAlert(alertRecord(alert, at)) : alertRecord(alert, at);
    const feature = picture?.features.find(
      ({ daemon, name }) => daemon === alert.daemon && name === alert.feature,
    );
    // A group's seats can be taken through any of its members, so collect the checkouts of all members.
    const held = sharedSets(picture?.features ?? []).find((set) => feature && set.includes(feature)) ?? [];
    const checkouts = (rule === "seats" ? held : [feature]).flatMap((each) => each?.checkouts ?? []);
    const unit = feature?.unit;
    return {
      ...record,
      message: isOver ? overMessage(record, unit) : record.message,
      serverName: picture?.server.name ?? alert.server,
      holders: isOver || anonymize ? [] : topHolders(checkouts),
      ...(unit !== undefined && { unit }),
      link: placeLink(settings().publicUrl, record),
    };
  }

  function notify(alert: Alert, at: number, kindFor: (target: NoteFilter) => NoteKind | null): Notified {
    const notes = settings().targets.flatMap((target): Note[] => {
      const kind = kindFor(target);
      if (kind === null) return [];
      return [{ id: nextId(), target: target.id, kind, at, alert: shown(alert, at, target.anonymize) }];
    });
    if (notes.length === 0) return { alert, notes };
    const told = Object.fromEntries(notes.map(({ target }) => [target, at]));
    return { alert: { ...alert, told: { ...alert.told, ...told } }, notes };
  }

  return {
    onChange(alert: Alert, change: AlertChange): Notified {
      const at = now();
      const knows = ({ id }: NoteFilter) => Object.hasOwn(alert.told, id);
      if (change === "resolved") return notify(alert, at, (target) => (knows(target) ? "resolved" : null));
      if (change !== "fired" && change !== "raised") return { alert, notes: [] };
      if (isQuiet(alert, at) || settings().hubNotifies?.(at) === true) {
        // For targets that know the alert, set the time of the last note to 0, so that they get a reminder
        // once notes may be sent again.
        const told = Object.fromEntries(Object.keys(alert.told).map((id) => [id, 0]));
        return { alert: { ...alert, told }, notes: [] };
      }
      return notify(alert, at, (target) =>
        wants(target, alert) ? (knows(target) ? "raised" : "fired") : null,
      );
    },

    /**
     * Returns notes that are due by time: reminders, and notes held back by a silence or a maintenance
     * window.
     */
    onTime(alert: Alert, reminderMs: number): Notified {
      const at = now();
      if (isQuiet(alert, at) || settings().hubNotifies?.(alert.firedAt) === true) return { alert, notes: [] };
      return notify(alert, at, (target) => {
        const last = alert.told[target.id];
        if (!wants(target, alert)) return null;
        if (last === undefined) return "fired";
        // `abs`, because a note may have been sent while the clock was ahead.
        const isDue = reminderMs > 0 && alert.acknowledgedAt === null && Math.abs(at - last) >= reminderMs;
        return isDue ? "reminder" : null;
      });
    },
  };
}

/** Returns the holders of most seats. Among equal holders, those who have held seats longest come first. */
function topHolders(checkouts: readonly CheckoutPicture[]): NotedHolder[] {
  const byHolder = Map.groupBy(checkouts, ({ user, host }) => `${userKey(user)}\0${host ?? ""}`);
  return [...byHolder.values()]
    .map((own) => ({
      user: own[0]?.user ?? null,
      host: own[0]?.host ?? null,
      seats: own.reduce((sum, { count }) => sum + count, 0),
      since: Math.min(
        ...own.map(({ beganAt, startedAt }) => beganAt ?? startedAt ?? Number.MAX_SAFE_INTEGER),
      ),
    }))
    .sort((a, b) => b.seats - a.seats || a.since - b.since)
    .slice(0, MAX_HOLDERS)
    .map((top) => ({ ...top, since: top.since === Number.MAX_SAFE_INTEGER ? null : iso(top.since) }));
}
