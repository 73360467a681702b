import type { Alert, AlertCounts } from "../domain/alerts.ts";
import type { Log } from "../domain/log.ts";
import type { ServerPicture, Snapshot } from "../domain/picture.ts";
import type { Clock } from "../domain/time/clock.ts";
import { type Conditions, evaluateDenial, evaluatePoll, evaluateTime } from "./evaluator.ts";
import { createNotifier } from "./notifier.ts";
import type { NoteFilter } from "./notify/note.ts";
import type { Denial, HostLook } from "./rules.ts";
import { type AlertStoreDeps, createAlertStore } from "./store.ts";

/** What comes by time alone (dates, reminders, a full disk) is looked at this often. */
const TICK_MS = 60_000;

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
  firing(): readonly Alert[];
  /** New denials, in the order of their events. */
  denied(denials: readonly Denial[]): void;
  /** The config was read again. */
  configured(): void;
  /** Ends the reminders. `by` is the name of the key. Rejects with StoreError when that could not be stored. */
  acknowledge(id: number, by: string, comment: string | null): Promise<Handled>;
  /** Holds its notes back until then, also when it ends and fires again meanwhile. */
  silence(id: number, until: number, comment: string | null): Promise<Handled>;
}

/** What may change by a reload; asked for on each use. */
export interface EngineSettings extends Conditions {
  readonly targets: readonly NoteFilter[];
}

export interface AlertEngineDeps extends Pick<AlertStoreDeps, "rows" | "commit"> {
  readonly outbox: AlertStoreDeps["outbox"] & { nextId(): number };
  readonly live: {
    snapshot(): Snapshot;
    subscribe(
      listener: (change: { readonly before: ServerPicture | null; readonly after: ServerPicture }) => void,
    ): () => void;
  };
  readonly settings: () => EngineSettings;
  readonly host: () => HostLook;
  readonly clock: Clock;
  readonly timers: { after(ms: number, run: () => void): () => void };
  readonly log: Log;
}

/** Gives every new picture, every denial and each minute to the evaluator, and what it answers to the alert store. */
export function createAlertEngine(deps: AlertEngineDeps): AlertEngine {
  const { rows, commit, outbox, live, settings, host, clock, timers, log } = deps;
  const startedAt = clock.now();
  const notifier = createNotifier({
    targets: () => settings().targets,
    nextId: outbox.nextId,
    now: clock.now,
    inMaintenance: (server, at) => settings().inMaintenance(server, at),
  });
  const store = createAlertStore({ rows, commit, outbox, notifier, log, now: startedAt });
  const { state } = store;
  /** The poll of each server that was looked at last: a picture may change without one. */
  const looked = new Map<string, number>();
  let running: Promise<void> = Promise.resolve();
  let isFailing = false;
  let unsubscribe = () => {};
  let cancelTimer = () => {};

  function tick(): void {
    const { servers } = live.snapshot();
    store.apply(evaluateTime(state, settings(), servers, host(), startedAt, clock.now()));
    for (const alert of [...state.firing.values()]) {
      const { server, daemon, feature } = alert;
      store.remind(alert, settings().settingsOf(server, daemon, feature).reminderMs);
    }
  }

  /** Looks, then stores and sends. Neither a rule's fault nor the store's ends the looking. */
  function attempt(look: () => void): void {
    try {
      look();
    } catch (error) {
      log.error("Alerts could not be looked at", { error: String(error) });
    }
    running = save();
  }

  /** A failure is logged once, until it works again. */
  async function save(): Promise<void> {
    try {
      await store.commit();
      if (isFailing) log.info("Alerts are stored again");
      isFailing = false;
    } catch (error) {
      const message = "Alerts cannot be stored: they are told all the same";
      if (!isFailing) log.error(message, { error: String(error) });
      isFailing = true;
    }
  }

  function wait(): void {
    cancelTimer = timers.after(TICK_MS, () => {
      attempt(tick);
      wait();
    });
  }

  async function handle(
    id: number,
    change: "acknowledged" | "silenced",
    comment: string | null,
    edit: Partial<Alert>,
  ): Promise<Handled> {
    const alert = state.firing.values().find((each) => each.id === id);
    if (alert === undefined) return { outcome: rows.get(id) === null ? "unknown" : "resolved" };
    const edited = { ...alert, ...edit, comment: comment ?? alert.comment };
    store.edit(edited, change);
    await store.commit();
    return { outcome: "done", alert: edited };
  }

  return {
    start() {
      for (const { server, lastPollAt } of live.snapshot().servers) {
        if (lastPollAt !== null) looked.set(server.id, lastPollAt);
      }
      unsubscribe = live.subscribe(({ before, after }) => {
        const { id, enabled } = after.server;
        const at = after.lastPollAt;
        if (at === null || looked.get(id) === at || !enabled) return;
        looked.set(id, at);
        attempt(() => store.apply(evaluatePoll(state, settings(), before?.collectedAt ?? null, after, at)));
      });
      attempt(tick);
      wait();
    },
    async stop() {
      unsubscribe();
      cancelTimer();
      await Promise.all([running, save()]);
    },
    counts: store.counts,
    firing: () => [...state.firing.values()],
    denied(denials) {
      for (const denial of denials)
        attempt(() => store.apply(evaluateDenial(state, settings(), denial, clock.now())));
    },
    configured: () => attempt(tick),
    acknowledge: (id, by, comment) =>
      handle(id, "acknowledged", comment, { acknowledgedAt: clock.now(), acknowledgedBy: by }),
    silence: (id, until, comment) => handle(id, "silenced", comment, { silencedUntil: until }),
  };
}
