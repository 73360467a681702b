import type { Alert } from "../domain/alerts.ts";
import { MINUTE_MS, type Timers } from "../domain/time/clock.ts";
import type { Live } from "../live/live.ts";
import { createAlertLog } from "./alert-log.ts";
import { type Conditions, createEvaluation, type Evaluation } from "./evaluator.ts";
import { createNotifier, type NotifierSettings } from "./notifier.ts";
import type { Dispatcher } from "./notify/dispatcher.ts";
import type { Denied, HostLook } from "./rules.ts";
import { type AlertStoreDeps, createAlertStore } from "./store.ts";

export type Handled =
  | { readonly outcome: "done"; readonly alert: Alert }
  | { readonly outcome: "unknown" }
  | { readonly outcome: "resolved" };

export type EngineSettings = Conditions & NotifierSettings;

export interface AlertEngineDeps extends AlertStoreDeps {
  readonly outbox: Pick<Dispatcher, "write" | "send" | "nextId">;
  readonly live: Pick<Live, "snapshot" | "subscribe">;
  readonly settings: () => EngineSettings;
  readonly host: () => HostLook;
  readonly timers: Timers;
}

/**
 * Maximum delay of a tick. After a longer delay, the host slept or the clock was set, so polls before the
 * tick do not count as missed.
 */
const LATE_MS = 5_000;

export type AlertEngine = ReturnType<typeof createAlertEngine>;

/**
 * Passes every new picture, every denial and every minute to the evaluator, and passes the evaluator's
 * result to the alert store.
 */
export function createAlertEngine(deps: AlertEngineDeps) {
  const { rows, outbox, live, settings, host, clock, timers, log } = deps;
  const startedAt = clock.now();
  /**
   * Start of the time in which polls are possible: the start of the process, or the end of the last sleep.
   */
  let awakeSince = startedAt;
  let tickedAt = startedAt;
  const notifier = createNotifier(settings, live.snapshot, outbox.nextId, clock.now);
  const store = createAlertStore(deps, notifier, startedAt);
  const { state } = store;
  const isNew = live.snapshot().servers.every(({ lastPollAt }) => lastPollAt === null);
  const alertLog = createAlertLog(
    log,
    new Set(isNew ? live.snapshot().servers.map(({ server }) => server.id) : []),
  );
  const evaluation = (at: number) => createEvaluation(state, settings(), at);
  /** Last evaluated poll of each server, because a picture may also change without a new poll. */
  const looked = new Map<string, number>();
  let running: Promise<void> = Promise.resolve();
  let isFailing = false;
  let unsubscribe = () => {};
  let cancelTimer = () => {};

  const apply = (seen: Evaluation) => alertLog.write(store.apply(seen));

  /**
   * Runs every minute: evaluates the rules that need no new poll (expiry, durations, missing polls, the
   * host) and sends reminders.
   */
  function tick(): void {
    const { servers } = live.snapshot();
    const now = clock.now();
    if (now - tickedAt > MINUTE_MS + LATE_MS) awakeSince = now;
    tickedAt = now;
    apply(evaluation(now).time(servers, host(), awakeSince));
    for (const alert of [...state.firing.values()]) {
      const { server, daemon, feature } = alert;
      store.remind(alert, settings().settingsOf(server, daemon, feature).reminderMs);
    }
  }

  /** Evaluates, then stores and sends. An error in a rule or in the store does not stop later evaluations. */
  function attempt(look: () => void): void {
    try {
      look();
    } catch (error) {
      log.error("Cannot evaluate alerts", { error: String(error) });
    }
    running = save();
  }

  async function save(): Promise<void> {
    try {
      if (!(await store.commit())) return;
      if (isFailing) log.info("Alerts are stored again");
      isFailing = false;
    } catch (error) {
      const message = "Cannot store alerts; their messages are sent anyway";
      if (!isFailing) log.error(message, { error: String(error) });
      isFailing = true;
    }
  }

  function wait(): void {
    cancelTimer = timers.after(MINUTE_MS, () => {
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
    start(): void {
      for (const { server, lastPollAt } of live.snapshot().servers) {
        if (lastPollAt !== null) looked.set(server.id, lastPollAt);
      }
      unsubscribe = live.subscribe(({ before, after }) => {
        const { id, enabled } = after.server;
        const at = after.lastPollAt;
        if (at === null || looked.get(id) === at || !enabled) return;
        looked.set(id, at);
        if (before === null || before.lastPollAt === null) alertLog.firstPolled(id, at);
        attempt(() => apply(evaluation(at).poll(before?.collectedAt ?? null, after)));
      });
      attempt(tick);
      wait();
    },
    async stop(): Promise<void> {
      unsubscribe();
      cancelTimer();
      await Promise.all([running, save()]);
    },
    counts: store.counts,
    firing: (): readonly Alert[] => [...state.firing.values()],
    denied(denials: readonly Denied[]): void {
      for (const denied of denials) attempt(() => apply(evaluation(denied.at).denial(denied, clock.now())));
    },
    configured: () => attempt(tick),
    /**
     * Stops the reminders. `by` is the name of the key. Rejects with StoreError if the change cannot be
     * stored.
     */
    acknowledge: (id: number, by: string, comment: string | null) =>
      handle(id, "acknowledged", comment, { acknowledgedAt: clock.now(), acknowledgedBy: by }),
    /** Holds notes back until the given time, even if the alert resolves and fires again in between. */
    silence: (id: number, until: number, comment: string | null) =>
      handle(id, "silenced", comment, { silencedUntil: until }),
  };
}
