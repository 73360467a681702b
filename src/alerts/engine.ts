import type { Alert, AlertCounts } from "../domain/alerts.ts";
import type { Clock } from "../domain/clock.ts";
import type { EventInput } from "../domain/events.ts";
import type { Log } from "../domain/log.ts";
import type { ServerPicture, Snapshot } from "../domain/picture.ts";
import { type AlertRows, type Book, createBook } from "./book.ts";
import { createJudge, longestSilence, subjectOf } from "./judge.ts";
import type { InMaintenance } from "./maintenance.ts";
import type { Note, NoteFilter } from "./notify/note.ts";
import { createPollLooks } from "./poll-looks.ts";
import { TOTALS_LAST_MS } from "./rules/baseline.ts";
import { clockFinding } from "./rules/clock.ts";
import { diskFinding, diskLevel } from "./rules/disk.ts";
import { type Finding, THE_SERVER } from "./rules/rule.ts";
import { EXPIRY } from "./rules/rules.ts";
import type { SettingsOf } from "./settings.ts";
import { createTeller } from "./tell.ts";

/** Things that come by time alone (dates, reminders, a full disk) are looked at this often. */
export const TICK_MS = 60_000;
/** A denial counts as over after this time. */
const DENIALS_LAST_MS = 3_600_000;

/** A denial as the engine needs it. */
export interface DeniedSeats {
  readonly server: string;
  readonly daemon: string;
  /** Null where the manager counts denials and says no more. */
  readonly feature: string | null;
  /** Seats asked for. */
  readonly count: number;
  /** Epoch ms. */
  readonly at: number;
}

export type Handled =
  | { readonly outcome: "done"; readonly alert: Alert }
  | { readonly outcome: "unknown" }
  | { readonly outcome: "resolved" };

export interface AlertEngine {
  start(): void;
  /** Ends the timer and waits for what is being stored. */
  stop(): Promise<void>;
  /** Alerts that fire about these servers; null = all. */
  counts(servers: readonly string[] | null): AlertCounts;
  /** Alerts that fire now. */
  firing(): readonly Alert[];
  /** New denials, in the order in which they were told. */
  denied(denials: readonly DeniedSeats[]): void;
  /** The config was read again. */
  configured(): void;
  /** Somebody has seen it: reminders end. Rejects with StoreError when that could not be stored. */
  acknowledge(id: number, by: string, comment: string | null): Promise<Handled>;
  /** Nobody is told of it until then, also when it ends and fires again meanwhile. */
  silence(id: number, until: number, comment: string | null): Promise<Handled>;
}

/** What may change by a reload; asked for on each use. */
export interface EngineSettings {
  readonly settingsOf: SettingsOf;
  readonly inMaintenance: InMaintenance;
  readonly targets: readonly NoteFilter[];
}

export interface AlertEngineDeps {
  readonly rows: AlertRows;
  readonly commit: (work: () => void, events: readonly EventInput[]) => Promise<void>;
  readonly outbox: {
    nextId(): number;
    write(notes: readonly Note[]): void;
    send(notes: readonly Note[]): void;
  };
  readonly live: {
    snapshot(): Snapshot;
    subscribe(
      listener: (change: { readonly before: ServerPicture | null; readonly after: ServerPicture }) => void,
    ): () => void;
  };
  readonly settings: () => EngineSettings;
  /** Percent of the storage's file system that is used; null when unknown. */
  readonly disk: () => number | null;
  /** By how much the clock is ahead of the time that is stored, negative = behind; null while nobody doubts it. */
  readonly clockDoubtMs: () => number | null;
  /** Is given each look at it, and keeps it for history. */
  readonly diskFill: { look(percent: number | null, at: number): void; save(): Promise<void> };
  readonly clock: Clock;
  readonly timers: { after(ms: number, run: () => void): () => void };
  readonly log: Log;
}

/** Looks at every new picture and at the clock, and keeps the alerts. */
export function createAlertEngine(deps: AlertEngineDeps): AlertEngine {
  const { rows, commit, outbox, live, settings, disk, clockDoubtMs, diskFill, clock, timers, log } = deps;
  const teller = createTeller({
    targets: () => settings().targets,
    nextId: outbox.nextId,
    now: clock.now,
    inMaintenance: (server, at) => settings().inMaintenance(server, at),
  });
  const startedAt = clock.now();
  const book: Book = createBook({ rows, commit, outbox, notesFor: teller.onChange, log }, startedAt);
  /** The poll of each server that was looked at last: a picture may change without one. */
  const looked = new Map<string, number>();
  const judge = createJudge({ book, settings, now: clock.now });
  const looks = createPollLooks(book, judge);
  let running: Promise<void> = Promise.resolve();
  let failing = false;
  let unsubscribe = () => {};
  let cancelTimer = () => {};

  /** What is not watched any more by the config: servers removed or switched off, alerts switched off. */
  function removeUnwanted(at: number): void {
    const servers = new Set(
      live.snapshot().servers.flatMap(({ server }) => (server.enabled ? [server.id] : [])),
    );
    for (const { subject } of [...book.watched.values()]) {
      const isGone = subject.server !== null && !servers.has(subject.server);
      if (isGone || !judge.of(subject).enabled) judge.forget(subject, at);
    }
    for (const alert of [...book.firing.values()]) {
      if (alert.server !== null && !servers.has(alert.server)) book.resolve(alert, at);
    }
  }

  function tick(): void {
    const at = clock.now();
    removeUnwanted(at);
    for (const { subject, watch } of [...book.watched.values()]) {
      // Further off than anything lasts, it was said by a clock that was ahead.
      if (watch.until !== null && (watch.until <= at || watch.until - at > TOTALS_LAST_MS))
        judge.forget(subject, at);
    }
    for (const picture of live.snapshot().servers) {
      if (!picture.server.enabled) continue;
      judge.look(EXPIRY, picture, at, false);
      lookForSilence(picture, at);
      looks.accept(picture, at);
    }
    const full = subjectOf("disk", null, THE_SERVER);
    const used = disk();
    diskFill.look(used, at);
    if (used !== null) judge.see(full, diskLevel(used), at, "poll", (level) => diskFinding(used, level));
    const doubtMs = clockDoubtMs();
    const wrong = subjectOf("clock", null, THE_SERVER);
    judge.see(wrong, doubtMs === null ? 0 : 1, at, "none", () => clockFinding(doubtMs ?? 0));
    remind();
    save();
  }

  /** Polls that should have come and did not: the schedule itself has a trouble. */
  function lookForSilence(picture: ServerPicture, at: number): void {
    const { server, nextPollAt } = picture;
    const due = Math.max(nextPollAt ?? 0, startedAt + server.intervalMs);
    if (at - due <= longestSilence(picture)) return;
    const subject = subjectOf("stale", server.id, THE_SERVER);
    judge.see(subject, 1, at, "none", () => ({
      severity: "warning",
      message: `${server.id} has not been polled since ${new Date(due).toISOString()}`,
      value: null,
      threshold: null,
    }));
  }

  function remind(): void {
    for (const alert of [...book.firing.values()]) {
      const { alert: told, notes } = teller.onTime(alert, judge.of(alert).reminderMs);
      if (notes.length > 0) book.keep(told, notes);
    }
  }

  /** Stores and tells; a failure is said once, until it works again. */
  function save(): void {
    running = book.commit().then(
      () => {
        if (failing) log.info("Alerts are stored again");
        failing = false;
      },
      (error: unknown) => {
        if (!failing)
          log.error("Alerts cannot be stored: they are told all the same", { error: String(error) });
        failing = true;
      },
    );
  }

  function wait(): void {
    cancelTimer = timers.after(TICK_MS, () => {
      attempt(tick);
      wait();
    });
  }

  /** A rule's bug must not end the looking. */
  function attempt(work: () => void): void {
    try {
      work();
    } catch (error) {
      log.error("Alerts could not be looked at", { error: String(error) });
    }
  }

  async function handle(
    id: number,
    edit: (alert: Alert) => Alert,
    change: "acknowledged" | "silenced",
  ): Promise<Handled> {
    const alert = [...book.firing.values()].find((each) => each.id === id);
    if (alert === undefined) return { outcome: rows.get(id) === null ? "unknown" : "resolved" };
    const changed = book.change(edit(alert), change);
    await book.commit();
    return { outcome: "done", alert: changed };
  }

  return {
    start() {
      for (const { server, lastPollAt } of live.snapshot().servers) {
        if (lastPollAt !== null) looked.set(server.id, lastPollAt);
      }
      unsubscribe = live.subscribe(({ before, after }) => {
        const { id } = after.server;
        const at = after.lastPollAt;
        if (at === null || looked.get(id) === at || !after.server.enabled) return;
        looked.set(id, at);
        attempt(() => looks.polled(before, after, at));
        save();
      });
      attempt(tick);
      wait();
    },
    async stop() {
      unsubscribe();
      cancelTimer();
      save();
      await Promise.all([running, diskFill.save()]);
    },
    counts: book.counts,
    firing: () => [...book.firing.values()],
    denied(denials) {
      for (const { server, daemon, feature, count, at } of denials) {
        const subject = subjectOf("denials", server, { daemon, feature, detail: null });
        attempt(() =>
          judge.happen(subject, deniedFinding(feature ?? daemon, count), at, DENIALS_LAST_MS, "amend"),
        );
      }
      save();
    },
    configured() {
      attempt(tick);
    },
    acknowledge: (id, by, comment) =>
      handle(
        id,
        (alert) => ({
          ...alert,
          acknowledgedAt: clock.now(),
          acknowledgedBy: by,
          comment: comment ?? alert.comment,
        }),
        "acknowledged",
      ),
    silence: (id, until, comment) =>
      handle(
        id,
        (alert) => ({ ...alert, silencedUntil: until, comment: comment ?? alert.comment }),
        "silenced",
      ),
  };
}

function deniedFinding(of: string, count: number): Finding {
  return {
    severity: "warning",
    message: `Requests for ${of} are denied`,
    value: count,
    threshold: 0,
  };
}
