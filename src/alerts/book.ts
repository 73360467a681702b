import {
  type Alert,
  type AlertChange,
  type AlertCounts,
  type AlertSubject,
  alertRecord,
  subjectKey,
} from "../domain/alerts.ts";
import type { EventInput } from "../domain/events.ts";
import type { Log } from "../domain/log.ts";
import type { Note } from "./notify/note.ts";
import { type Baseline, readBaseline } from "./rules/baseline.ts";
import type { Finding } from "./rules/rule.ts";
import { isIdle, isSame, readWatch, UNWATCHED, type Watch } from "./watch.ts";

/** What the book asks of the store; writes run in the caller's transaction. */
export interface AlertRows {
  nextId(): number;
  /** Alerts that fire, in the order of their ids. */
  firing(): readonly Alert[];
  get(id: number): Alert | null;
  /** Resolved alerts whose silence goes on at `now`. */
  silencedPast(now: number): readonly Alert[];
  write(alert: Alert): void;
  watches(): readonly { readonly subject: AlertSubject; readonly body: string }[];
  /** Null forgets it. */
  writeWatch(subject: AlertSubject, body: string | null): void;
  baselines(): ReadonlyMap<string, string>;
  writeBaseline(server: string, body: string | null): void;
}

/** What is told of a changed alert, made when it changes: the notes that go out with it. */
export type NotesFor = (
  alert: Alert,
  kind: AlertChange,
) => { readonly alert: Alert; readonly notes: readonly Note[] };

export interface BookDeps {
  readonly rows: AlertRows;
  readonly commit: (work: () => void, events: readonly EventInput[]) => Promise<void>;
  /** Stores notes in the transaction of what they tell of, and then sends them, stored or not. */
  readonly outbox: { write(notes: readonly Note[]): void; send(notes: readonly Note[]): void };
  readonly notesFor: NotesFor;
  readonly log: Log;
}

interface Watched {
  readonly subject: AlertSubject;
  readonly watch: Watch;
}

/** All that is known of alerts, in memory, and written behind. While the store fails, memory is the truth. */
export interface Book {
  readonly firing: ReadonlyMap<string, Alert>;
  readonly watched: ReadonlyMap<string, Watched>;
  baseline(server: string): Baseline | null;
  setBaseline(server: string, baseline: Baseline): void;
  watchOf(subject: AlertSubject): Watch;
  setWatch(subject: AlertSubject, watch: Watch): void;
  fire(subject: AlertSubject, finding: Finding, at: number): void;
  /** Another level of an alert that fires. */
  move(alert: Alert, change: "raised" | "lowered", finding: Finding): void;
  /** A figure that goes on changing while it fires, without a word about it. */
  amend(alert: Alert, finding: Finding): void;
  /** Ends the alert and its watch. */
  resolve(alert: Alert, at: number): void;
  /** Changes a firing alert and tells of it. */
  change(alert: Alert, change: AlertChange): Alert;
  /** Notes that targets were told of it, in the row alone. */
  keep(alert: Alert, notes: readonly Note[]): void;
  /** Alerts that fire about these servers; null = all. */
  counts(servers: readonly string[] | null): AlertCounts;
  /** Writes and tells what has changed since the last call. Rejects when it could not be stored; it is told all the same. */
  commit(): Promise<void>;
}

export function createBook({ rows, commit, outbox, notesFor, log }: BookDeps, now: number): Book {
  const firing = new Map(rows.firing().map((alert) => [subjectKey(alert), alert]));
  const watched = new Map<string, Watched>();
  for (const { subject, body } of rows.watches()) {
    const watch = readWatch(body);
    if (watch === null) log.warn("A stored watch cannot be read and is forgotten", { rule: subject.rule });
    else watched.set(subjectKey(subject), { subject, watch });
  }
  const baselines = new Map<string, string>(rows.baselines());
  const parsed = new Map<string, Baseline | null>();
  /** Silences outlive the alert that they were said of: it may fire again. */
  const silences = new Map<string, number>();
  for (const alert of rows.silencedPast(now)) silences.set(subjectKey(alert), alert.silencedUntil ?? 0);

  let unsaved = noChanges();
  /** Alerts that the store does not know as they are, by id: what fails to be written is never written over newer rows. */
  const unstored = new Map<number, Alert>();
  let events: EventInput[] = [];
  let notes: Note[] = [];

  const put = (alert: Alert): void => {
    const key = subjectKey(alert);
    if (alert.resolvedAt === null) firing.set(key, alert);
    else firing.delete(key);
    unstored.set(alert.id, alert);
    unsaved.alerts.add(alert.id);
  };

  const change = (changed: Alert, kind: AlertChange): Alert => {
    const { alert, notes: more } = notesFor(changed, kind);
    put(alert);
    const { id, ...fields } = alertRecord(alert);
    events.push({ type: "alert", alert: id, change: kind, ...fields });
    notes.push(...more);
    return alert;
  };

  const setWatch = (subject: AlertSubject, watch: Watch): void => {
    const key = subjectKey(subject);
    const before = watched.get(key)?.watch ?? UNWATCHED;
    const idle = isIdle(watch);
    if (idle ? !watched.has(key) : isSame(before, watch)) return;
    if (idle) watched.delete(key);
    else watched.set(key, { subject, watch });
    unsaved.watches.set(key, subject);
  };

  /** The rows as they are now: what is written later must be of one moment. */
  const writing = (changes: Changes, alerts: readonly Alert[], told: readonly Note[]): (() => void) => {
    const watches = [...changes.watches].map(([key, subject]) => {
      const watch = watched.get(key)?.watch;
      return { subject, body: watch === undefined ? null : JSON.stringify(watch) };
    });
    const bases = [...changes.baselines].map((server) => ({ server, body: baselines.get(server) ?? null }));
    return () => {
      for (const alert of alerts) rows.write(alert);
      for (const { subject, body } of watches) rows.writeWatch(subject, body);
      for (const { server, body } of bases) rows.writeBaseline(server, body);
      outbox.write(told);
    };
  };

  return {
    firing,
    watched,
    baseline(server) {
      let found = parsed.get(server);
      if (found === undefined) {
        const body = baselines.get(server);
        found = body === undefined ? null : readBaseline(body);
        parsed.set(server, found);
      }
      return found;
    },
    setBaseline(server, baseline) {
      const body = JSON.stringify(baseline);
      if (baselines.get(server) === body) return;
      baselines.set(server, body);
      parsed.set(server, baseline);
      unsaved.baselines.add(server);
    },
    watchOf: (subject) => watched.get(subjectKey(subject))?.watch ?? UNWATCHED,
    setWatch,
    fire(subject, finding, at) {
      const silencedUntil = silences.get(subjectKey(subject)) ?? null;
      const { rule, server, daemon, feature, detail } = subject;
      change(
        {
          ...{ id: rows.nextId(), rule, server, daemon, feature, detail, ...finding },
          ...{ startedAt: at, resolvedAt: null, acknowledgedAt: null, acknowledgedBy: null, comment: null },
          silencedUntil: silencedUntil !== null && silencedUntil > at ? silencedUntil : null,
          told: {},
        },
        "fired",
      );
    },
    move: (alert, kind, finding) => void change({ ...alert, ...finding }, kind),
    amend: (alert, finding) => put({ ...alert, ...finding }),
    resolve(alert, at) {
      change({ ...alert, resolvedAt: Math.max(at, alert.startedAt) }, "resolved");
      setWatch(alert, UNWATCHED);
    },
    change(alert, kind) {
      if (alert.silencedUntil !== null) silences.set(subjectKey(alert), alert.silencedUntil);
      return change(alert, kind);
    },
    keep(alert, more) {
      put(alert);
      notes.push(...more);
    },
    counts(servers) {
      const counts = { info: 0, warning: 0, critical: 0 };
      for (const { severity, server } of firing.values()) {
        if (servers === null || (server !== null && servers.includes(server))) counts[severity]++;
      }
      return counts;
    },
    async commit() {
      const [changes, told, tellings] = [unsaved, notes, events];
      if (changes.isEmpty() && told.length === 0 && tellings.length === 0) return;
      unsaved = noChanges();
      notes = [];
      events = [];
      const alerts = [...changes.alerts].flatMap((id) => unstored.get(id) ?? []);
      try {
        await commit(writing(changes, alerts, told), tellings);
        for (const alert of alerts) if (unstored.get(alert.id) === alert) unstored.delete(alert.id);
      } catch (error) {
        // Kept for the next time; what has changed since stays the newer.
        unsaved.add(changes);
        throw error;
      } finally {
        outbox.send(told);
      }
    },
  };
}

interface Changes {
  readonly alerts: Set<number>;
  readonly watches: Map<string, AlertSubject>;
  readonly baselines: Set<string>;
  isEmpty(): boolean;
  /** Takes older changes in. */
  add(older: Changes): void;
}

function noChanges(): Changes {
  const alerts = new Set<number>();
  const watches = new Map<string, AlertSubject>();
  const baselines = new Set<string>();
  return {
    ...{ alerts, watches, baselines },
    isEmpty: () => alerts.size + watches.size + baselines.size === 0,
    add(older) {
      for (const id of older.alerts) alerts.add(id);
      for (const [key, subject] of older.watches) watches.set(key, subject);
      for (const server of older.baselines) baselines.add(server);
    },
  };
}
