import { type Alert, type AlertChange, type AlertCounts, alertRecord, subjectKey } from "../domain/alerts.ts";
import type { EventInput } from "../domain/events.ts";
import type { Log } from "../domain/log.ts";
import type { Clock } from "../domain/time/clock.ts";
import type { Bus } from "../live/bus.ts";
import type { Alerts } from "../store/alerts.ts";
import type { AlertNews } from "./alert-log.ts";
import { type Baseline, readBaseline } from "./baseline.ts";
import type { AlertState, Evaluation, SubjectChange, Watched } from "./evaluator.ts";
import type { Notifier } from "./notifier.ts";
import type { Dispatcher } from "./notify/dispatcher.ts";
import type { Note } from "./notify/note.ts";
import { readWatch, UNWATCHED } from "./watch.ts";

export interface MutableState extends AlertState {
  readonly firing: Map<string, Alert>;
  readonly watched: Map<string, Watched>;
  readonly baselines: Map<string, Baseline>;
}

const NEW = { resolvedAt: null, acknowledgedAt: null, acknowledgedBy: null, comment: null, told: {} };

/** Returns the worse of two values of a rule: for dates the smaller one, otherwise the larger. */
function worseValue(rule: Alert["rule"], a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return rule === "expiry" ? Math.min(a, b) : Math.max(a, b);
}

/**
 * Applies the change of one subject. Returns its alert, or null if the alert did not change. `made` returns
 * the remaining fields of a new alert.
 */
export function applyChange(
  { firing, watched }: MutableState,
  key: string,
  { subject, watch, alert: move }: SubjectChange,
  at: number,
  made: () => Pick<Alert, "id" | "silencedUntil">,
): Alert | null {
  if (watch === UNWATCHED) watched.delete(key);
  else watched.set(key, { subject, watch, seenAt: at });
  if (move === null) return null;
  const before = firing.get(key);
  if (move.change === "resolved") {
    firing.delete(key);
    if (before === undefined) return null;
    const resolvedAt = Math.max(at, before.startedAt);
    return { ...before, ...move.finding, severity: before.severity, resolvedAt };
  }
  const known = before ?? { ...NEW, ...subject, ...made(), startedAt: move.since, firedAt: at };
  const peakValue = worseValue(subject.rule, before?.peakValue ?? null, move.finding.value);
  const alert = { ...known, ...move.finding, peakValue };
  firing.set(key, alert);
  return alert;
}

export interface AlertStoreDeps {
  readonly rows: Alerts;
  readonly commit: Bus["commit"];
  /** Stores notes in the transaction of their alerts, then sends the notes even if storing failed. */
  readonly outbox: Pick<Dispatcher, "write" | "send">;
  readonly clock: Clock;
  readonly log: Log;
}

interface Unstored {
  readonly write: () => void;
  isUnderWay: boolean;
}

/**
 * All alerts, in memory, with delayed writes. While the database fails, memory is authoritative. `now` is the
 * time of the start.
 */
export function createAlertStore(deps: AlertStoreDeps, notifier: Notifier, now: number) {
  const { rows, commit, outbox, clock } = deps;
  const state = load(deps);
  /** Silences by subject. A silence outlives its alert, because the alert may fire again. */
  const silences = new Map(rows.silencedPast(now).map((alert) => [subjectKey(alert), alert.silencedUntil]));
  /** Newest version of each row that is not stored yet. A retry never writes an older version. */
  const unstored = new Map<string, Unstored>();
  let events: EventInput[] = [];
  let notes: Note[] = [];

  const keep = (row: string, write: () => void) => void unstored.set(row, { write, isUnderWay: false });

  function put(alert: Alert): void {
    if (alert.resolvedAt === null) state.firing.set(subjectKey(alert), alert);
    keep(`alert ${alert.id}`, () => rows.write(alert));
  }

  function publish(changed: Alert, change: AlertChange): void {
    const { alert, notes: more } = notifier.onChange(changed, change);
    put(alert);
    const { id, ...fields } = alertRecord(alert, clock.now());
    events.push({ type: "alert", alert: id, change, ...fields });
    notes.push(...more);
  }

  function made(key: string, at: number): Pick<Alert, "id" | "silencedUntil"> {
    const until = silences.get(key) ?? 0;
    return { id: rows.nextId(), silencedUntil: until > at ? until : null };
  }

  return {
    state: state as AlertState,
    apply({ at, changes, baselines }: Evaluation): readonly AlertNews[] {
      const news: AlertNews[] = [];
      for (const [key, change] of changes) {
        const { subject, watch, alert: move } = change;
        const before = state.watched.get(key)?.watch ?? UNWATCHED;
        const alert = applyChange(state, key, change, at, () => made(key, at));
        if (watch !== before) {
          const body = watch === UNWATCHED ? null : JSON.stringify(watch);
          keep(`watch ${key}`, () => rows.writeWatch(subject, body));
        }
        if (alert === null || move === null) continue;
        if (move.change === "amended") put(alert);
        else {
          publish(alert, move.change);
          news.push({ alert, change: move.change });
        }
      }
      for (const [server, baseline] of baselines) {
        state.baselines.set(server, baseline);
        keep(`baseline ${server}`, () => rows.writeBaseline(server, JSON.stringify(baseline)));
      }
      return news;
    },
    edit(alert: Alert, change: "acknowledged" | "silenced"): void {
      if (alert.silencedUntil !== null) silences.set(subjectKey(alert), alert.silencedUntil);
      publish(alert, change);
    },
    /** Queues reminders of a firing alert that are due. */
    remind(alert: Alert, reminderMs: number): void {
      const told = notifier.onTime(alert, reminderMs);
      if (told.notes.length === 0) return;
      put(told.alert);
      notes.push(...told.notes);
    },
    counts(servers: readonly string[] | null): AlertCounts {
      const counts = { info: 0, warning: 0, critical: 0 };
      for (const { severity, server } of state.firing.values()) {
        if (servers === null || (server !== null && servers.includes(server))) counts[severity]++;
      }
      return counts;
    },
    /**
     * Writes and sends the changes since the last call. Returns false if there was nothing to write. Rejects
     * if they could not be stored; they are sent anyway.
     */
    async commit(): Promise<boolean> {
      const writes = [...unstored].filter(([, { isUnderWay }]) => !isUnderWay);
      const [sending, publishing] = [notes, events];
      if (writes.length + sending.length + publishing.length === 0) return false;
      notes = [];
      events = [];
      for (const [, row] of writes) row.isUnderWay = true;
      try {
        await commit(() => {
          for (const [, row] of writes) row.write();
          outbox.write(sending);
        }, publishing);
        for (const [key, row] of writes) if (unstored.get(key) === row) unstored.delete(key);
        return true;
      } finally {
        for (const [, row] of writes) row.isUnderWay = false;
        outbox.send(sending);
      }
    },
  };
}

function load({ rows, log }: AlertStoreDeps): MutableState {
  const watched = new Map<string, Watched>();
  for (const { subject, body } of rows.watches()) {
    const watch = readWatch(body);
    if (watch === null) log.warn("Dropped a stored watch that cannot be read", { rule: subject.rule });
    else watched.set(subjectKey(subject), { subject, watch, seenAt: null });
  }
  const baselines = new Map<string, Baseline>();
  for (const [server, body] of rows.baselines()) {
    const baseline = readBaseline(body);
    if (baseline !== null) baselines.set(server, baseline);
  }
  return { firing: new Map(rows.firing().map((alert) => [subjectKey(alert), alert])), watched, baselines };
}
