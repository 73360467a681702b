import type { Alert, AlertCounts, AlertRule, AlertSubject } from "../domain/alerts.ts";
import { subjectKey } from "../domain/alerts.ts";
import type { Clock } from "../domain/clock.ts";
import type { EventInput } from "../domain/events.ts";
import type { Log } from "../domain/log.ts";
import { featureKey } from "../domain/merge-blocks.ts";
import type { ServerPicture, Snapshot } from "../domain/picture.ts";
import { type AlertRows, type Book, createBook } from "./book.ts";
import type { InMaintenance } from "./maintenance.ts";
import type { Note, NoteFilter } from "./notify/note.ts";
import { compareTotals, totalFinding, unparsedFinding } from "./rules/baseline.ts";
import { diskFinding, diskLevel } from "./rules/disk.ts";
import type { About, Finding, NamedRule, Patience, See } from "./rules/rule.ts";
import { THE_SERVER } from "./rules/rule.ts";
import { EXPIRY, PICTURE_RULES } from "./rules/rules.ts";
import type { SettingsOf, SubjectSettings } from "./settings.ts";
import { createTeller } from "./tell.ts";
import { type Needs, step, UNWATCHED, type Watch } from "./watch.ts";

/** Things that come by time alone (dates, reminders, a full disk) are looked at this often. */
const TICK_MS = 60_000;
/** What happened once (another total, a denial) counts as over after this time. */
const TOTALS_LAST_MS = 24 * 3_600_000;
const DENIALS_LAST_MS = 3_600_000;
/** Unknown lines that stay for so long are what is usual from then on. */
const UNPARSED_LAST_MS = 24 * 3_600_000;

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
  readonly clock: Clock;
  readonly timers: { after(ms: number, run: () => void): () => void };
  readonly log: Log;
}

/** Looks at every new picture and at the clock, and keeps the alerts. */
export function createAlertEngine(deps: AlertEngineDeps): AlertEngine {
  const { rows, commit, outbox, live, settings, disk, clock, timers, log } = deps;
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
  /** Looks at what must last for a time, by subject. */
  const lastLooks = new Map<string, number>();
  let running: Promise<void> = Promise.resolve();
  let failing = false;
  let unsubscribe = () => {};
  let cancelTimer = () => {};

  const of = (subject: AlertSubject): SubjectSettings =>
    settings().settingsOf(subject.server, subject.daemon, subject.feature);

  /** Takes a look into account: the alert fires, moves or ends when there was enough of it. */
  function take(
    subject: AlertSubject,
    level: number,
    at: number,
    needs: Needs,
    gap: boolean,
    tell: ((level: number) => Finding) | undefined,
  ): void {
    if (level > 0 && subject.server !== null && settings().inMaintenance(subject.server, at)) return;
    const before = book.watchOf(subject);
    if (level === 0 && before === UNWATCHED) return;
    const key = subjectKey(subject);
    const watch = step(before, level, at, gap, needs);
    const alert = book.firing.get(key);
    if (alert !== undefined && watch.level === 0) {
      book.resolve(alert, at);
      return;
    }
    book.setWatch(subject, watch);
    if (watch.level === 0 || tell === undefined) return;
    if (alert === undefined) book.fire(subject, tell(watch.level), at);
    else if (watch.level !== before.level)
      book.move(alert, watch.level > before.level ? "raised" : "lowered", tell(watch.level));
  }

  /** True when nobody knows how it was since the last look at it: what must last begins anew. */
  function isGap(subject: AlertSubject, at: number, longestMs: number): boolean {
    const key = subjectKey(subject);
    const last = lastLooks.get(key);
    if (book.watched.has(key)) lastLooks.set(key, at);
    else lastLooks.delete(key);
    return last !== undefined && at - last > longestMs;
  }

  function needsOf(
    { failures, featureFailures, recoveries, forMs }: SubjectSettings,
    patience: Patience,
  ): Needs {
    switch (patience) {
      case "poll":
        return { failures, recoveries, forMs: 0 };
      case "feature":
        return { failures: featureFailures, recoveries, forMs };
      case "none":
        return { failures: 1, recoveries: 1, forMs: 0 };
    }
  }

  /** Looks at one server with one rule. */
  function look({ rule, patience, look }: NamedRule, picture: ServerPicture, at: number, gap: boolean): void {
    const server = picture.server.id;
    const { settingsOf } = settings();
    const longestMs = longestSilence(picture);
    const see: See = (about, level, tell) => {
      const own = settingsOf(server, about.daemon, about.feature);
      if (!own.enabled) return;
      const subject = { rule, server, ...about };
      const needs = needsOf(own, patience);
      const unseen = needs.forMs > 0 && isGap(subject, at, longestMs);
      take(subject, level, at, needs, gap || unseen, tell);
    };
    const context = {
      at,
      settingsOf: (daemon: string | null, feature: string | null) => settingsOf(server, daemon, feature),
      watched: () =>
        [...book.watched.values()]
          .map(({ subject }) => subject)
          .filter((subject) => subject.rule === rule && subject.server === server),
    };
    look(picture, context, see);
  }

  /** One poll of one server. */
  function polled(before: ServerPicture | null, after: ServerPicture, at: number): void {
    const last = before?.collectedAt ?? null;
    const gap = last === null || at - last > longestSilence(after);
    for (const rule of PICTURE_RULES) look(rule, after, at, gap);
    if (after.error === null && after.collectedAt === at) compare(after, at);
    removeGone(after, at);
  }

  /** Holds a good reading against what was normal. */
  function compare(picture: ServerPicture, at: number): void {
    const server = picture.server.id;
    const baseline = book.baseline(server);
    const { totals, changes } = compareTotals(baseline, picture);
    for (const change of changes) {
      const subject = subjectOf("totals_changed", server, { ...change, detail: null });
      const alert = book.firing.get(subjectKey(subject));
      // Back to what it was before: there is nothing to look at any more.
      if (alert !== undefined && (change.to ?? null) === alert.threshold) book.resolve(alert, at);
      else happen(subject, totalFinding(change), at, TOTALS_LAST_MS, "tell-again");
    }
    const lines = picture.unparsedLines;
    const usual = lines === 0 ? 0 : (baseline?.unparsed ?? lines);
    const subject = subjectOf("unparsed", server, THE_SERVER);
    const own = of(subject);
    if (own.enabled) {
      const tell = () => unparsedFinding(server, lines, usual);
      take(subject, lines > usual ? 1 : 0, at, needsOf(own, "poll"), false, tell);
    }
    book.setBaseline(server, { totals, unparsed: usual });
  }

  /** Something that happens at a moment: it counts as over after a while without more of it. */
  function happen(
    subject: AlertSubject,
    finding: Finding,
    at: number,
    lastsMs: number,
    more: "tell-again" | "amend",
  ): void {
    if (!of(subject).enabled || (subject.server !== null && settings().inMaintenance(subject.server, at)))
      return;
    const alert = book.firing.get(subjectKey(subject));
    const watch: Watch = { level: 1, runs: [], until: at + lastsMs };
    book.setWatch(subject, watch);
    if (alert === undefined) book.fire(subject, finding, at);
    else if (more === "tell-again") book.move(alert, "raised", finding);
    else book.amend(alert, { ...finding, value: (alert.value ?? 0) + (finding.value ?? 0) });
  }

  /** Ends what is about daemons and features that are there no more. */
  function removeGone(picture: ServerPicture, at: number): void {
    const { features, daemons, state, cut } = picture;
    const known = new Set(features.map(({ daemon, name }) => featureKey(daemon, name)));
    const named = new Set(daemons.map(({ name }) => name));
    // Features vanish after two readings without them; daemons are believed gone only by a whole one.
    const whole = (state === "ok" || state === "partial") && !cut;
    for (const { subject } of [...book.watched.values()]) {
      if (subject.server !== picture.server.id || subject.daemon === null) continue;
      if (subject.rule === "totals_changed" || subject.rule === "denials") continue;
      const gone =
        subject.feature === null
          ? whole && !named.has(subject.daemon)
          : !known.has(featureKey(subject.daemon, subject.feature));
      if (gone) forget(subject, at);
    }
  }

  function forget(subject: AlertSubject, at: number): void {
    const alert = book.firing.get(subjectKey(subject));
    if (alert !== undefined) book.resolve(alert, at);
    else book.setWatch(subject, UNWATCHED);
  }

  /** What is not watched any more by the config: servers removed or switched off, alerts switched off. */
  function removeUnwanted(at: number): void {
    const servers = new Set(
      live.snapshot().servers.flatMap(({ server }) => (server.enabled ? [server.id] : [])),
    );
    for (const { subject } of [...book.watched.values()]) {
      const isGone = subject.server !== null && !servers.has(subject.server);
      if (isGone || !of(subject).enabled) forget(subject, at);
    }
    for (const alert of [...book.firing.values()]) {
      if (alert.server !== null && !servers.has(alert.server)) book.resolve(alert, at);
    }
  }

  function tick(): void {
    const at = clock.now();
    removeUnwanted(at);
    for (const { subject, watch } of [...book.watched.values()]) {
      if (watch.until !== null && watch.until <= at) forget(subject, at);
    }
    for (const picture of live.snapshot().servers) {
      if (!picture.server.enabled) continue;
      look(EXPIRY, picture, at, false);
      lookForSilence(picture, at);
      acceptUnparsed(picture, at);
    }
    const full = subjectOf("disk", null, THE_SERVER);
    const used = disk();
    if (used !== null && of(full).enabled) {
      take(full, diskLevel(used), at, needsOf(of(full), "poll"), false, (level) => diskFinding(used, level));
    }
    remind();
    save();
  }

  /** Polls that should have come and did not: the schedule itself has a trouble. */
  function lookForSilence(picture: ServerPicture, at: number): void {
    const { server, nextPollAt } = picture;
    const due = Math.max(nextPollAt ?? 0, startedAt + server.intervalMs);
    if (at - due <= longestSilence(picture)) return;
    const subject = subjectOf("stale", server.id, THE_SERVER);
    if (!of(subject).enabled) return;
    take(subject, 1, at, needsOf(of(subject), "none"), false, () => ({
      severity: "warning",
      message: `${server.id} has not been polled since ${new Date(due).toISOString()}`,
      value: null,
      threshold: null,
    }));
  }

  function acceptUnparsed({ server: { id: server }, unparsedLines }: ServerPicture, at: number): void {
    const alert = book.firing.get(subjectKey(subjectOf("unparsed", server, THE_SERVER)));
    const baseline = book.baseline(server);
    if (alert === undefined || baseline === null || at - alert.startedAt < UNPARSED_LAST_MS) return;
    book.setBaseline(server, { ...baseline, unparsed: unparsedLines });
    book.resolve(alert, at);
  }

  function remind(): void {
    for (const alert of [...book.firing.values()]) {
      const { alert: told, notes } = teller.onTime(alert, of(alert).reminderMs);
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
        attempt(() => polled(before, after, at));
        save();
      });
      attempt(tick);
      wait();
    },
    async stop() {
      unsubscribe();
      cancelTimer();
      save();
      await running;
    },
    counts: book.counts,
    firing: () => [...book.firing.values()],
    denied(denials) {
      for (const { server, daemon, feature, count, at } of denials) {
        const subject = subjectOf("denials", server, { daemon, feature, detail: null });
        attempt(() => happen(subject, deniedFinding(feature ?? daemon, count), at, DENIALS_LAST_MS, "amend"));
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

/** After so long without a good reading nothing is known of the time between. */
function longestSilence({ server }: ServerPicture): number {
  return 2 * server.intervalMs + server.timeoutMs;
}

function subjectOf(rule: AlertRule, server: string | null, { daemon, feature, detail }: About): AlertSubject {
  return { rule, server, daemon, feature, detail };
}

function deniedFinding(of: string, count: number): Finding {
  return {
    severity: "warning",
    message: `Requests for ${of} are denied`,
    value: count,
    threshold: 0,
  };
}
