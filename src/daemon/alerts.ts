import {
  type AlertEngine,
  type AlertEngineDeps,
  createAlertEngine,
  type EngineSettings,
} from "../alerts/engine.ts";
import type { Conditions } from "../alerts/evaluator.ts";
import type { RunCommand } from "../alerts/notify/command.ts";
import { createDispatcher } from "../alerts/notify/dispatcher.ts";
import { createSender, type Target } from "../alerts/notify/targets.ts";
import { alertSettings } from "../alerts/settings.ts";
import type { Config } from "../config/config.ts";
import type { DenialEvent } from "../domain/events.ts";
import type { Bus } from "../live/bus.ts";
import { createAlerts } from "../store/alerts.ts";
import { createMarks, type Events } from "../store/events.ts";
import { createNotifications } from "../store/notifications.ts";
import type { Store } from "../store/open/open.ts";

const PAGE_EVENTS = 500;

export interface AlertServiceDeps
  extends Pick<AlertEngineDeps, "live" | "host" | "clock" | "timers" | "log"> {
  readonly store: Store;
  readonly events: Pick<Events, "page" | "highestReserved">;
  readonly bus: Pick<Bus, "commit" | "subscribe">;
  readonly config: () => Pick<Config, "alerts" | "http" | "maintenance" | "notifications">;
  readonly run: RunCommand;
  /** Reports whether the hub, and not this daemon, sends the notifications about changes at a time. */
  readonly hubNotifies: (at: number) => boolean;
  readonly statusSince: NonNullable<Conditions["statusSince"]>;
}

export function createAlertService(deps: AlertServiceDeps) {
  const { store, bus, config, run, hubNotifies, statusSince, clock, timers, log } = deps;
  const rows = createAlerts(store);
  const queue = createNotifications(store, clock.now());
  const senderOf = ({ notification }: Target) => createSender(notification, { clock, run });
  const dispatcher = createDispatcher({ queue, senderOf, clock, timers, log });
  let settings: EngineSettings & ReturnType<typeof alertSettings>;
  const configure = () => {
    settings = { ...alertSettings(config()), statusSince, hubNotifies };
    dispatcher.configure(settings.targets);
  };
  const engine = createAlertEngine({
    ...deps,
    rows,
    // The alert is on disk before its event. A kill between the two commits loses only the event.
    commit: (work, events) =>
      bus.commit(() => store.state.write(work, { durable: events.length > 0 }), events),
    outbox: dispatcher,
    settings: () => settings,
  });
  const denials = createDenialReader(deps, engine);
  const { counts, acknowledge, silence, firing } = engine;

  return {
    port: { counts, acknowledge, silence },
    firing,
    start() {
      configure();
      engine.start();
      denials.start();
    },
    configured() {
      configure();
      engine.configured();
    },
    async stop() {
      denials.stop();
      await engine.stop();
      await dispatcher.stop();
    },
  };
}

/** Passes every denial to the engine once. Denials that an earlier process missed come from the store. */
function createDenialReader({ store, events, bus }: AlertServiceDeps, engine: Pick<AlertEngine, "denied">) {
  const marks = createMarks(store);
  let unsubscribe = () => {};

  const give = (published: readonly { readonly id: number; readonly event: DenialEvent }[]): void => {
    const last = published.at(-1);
    if (last === undefined) return;
    // Skip requests that were granted or queued in the end.
    const denied = published.map(({ event }) => event).filter(({ outcome }) => outcome === "denied");
    engine.denied(denied.map((event) => ({ ...event, at: Date.parse(event.deniedAt) })));
    try {
      store.transaction(() => marks.raise("denials_seen", last.id));
    } catch {
      // The store logs the error. The mark stays behind, so a restart counts some denials again but misses
      // none.
    }
  };

  return {
    start() {
      let from = marks.get("denials_seen");
      if (from === 0) {
        from = events.highestReserved();
        store.transaction(() => marks.raise("denials_seen", from));
      }
      for (;;) {
        const page = events.page(from, PAGE_EVENTS, "denial");
        const whole = page.filter(({ json }) => json !== "");
        give(whole.map(({ id, json }) => ({ id, event: JSON.parse(json) as DenialEvent })));
        from = page.at(-1)?.id ?? from;
        if (page.length < PAGE_EVENTS) break;
      }
      unsubscribe = bus.subscribe((batch) =>
        give(batch.flatMap(({ id, event }) => (event.type === "denial" ? [{ id, event }] : []))),
      );
    },
    stop: () => unsubscribe(),
  };
}
