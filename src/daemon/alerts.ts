import {
  type AlertEngine,
  createAlertEngine,
  type DeniedSeats,
  type EngineSettings,
} from "../alerts/engine.ts";
import { createMaintenance } from "../alerts/maintenance.ts";
import type { RunCommand } from "../alerts/notify/command.ts";
import { createDispatcher } from "../alerts/notify/dispatcher.ts";
import { createSender } from "../alerts/notify/senders.ts";
import { createTargets } from "../alerts/notify/targets.ts";
import { createSettings } from "../alerts/settings.ts";
import type { Config } from "../config/config.ts";
import type { Alert } from "../domain/alerts.ts";
import type { Clock } from "../domain/clock.ts";
import type { DenialEvent } from "../domain/events.ts";
import type { Log } from "../domain/log.ts";
import { hostZone } from "../domain/zone.ts";
import type { Bus } from "../events/bus.ts";
import type { HttpDeps } from "../http/deps.ts";
import { createAlerts } from "../store/alerts.ts";
import { createMarks } from "../store/event-marks.ts";
import type { Events } from "../store/events.ts";
import { createDiskFill } from "../store/history/disk-fill.ts";
import type { Live } from "../store/live.ts";
import { createNotifications } from "../store/notifications.ts";
import type { Store } from "../store/open.ts";

const PAGE_EVENTS = 500;

/** Alerts with their notifications. */
export interface AlertRoom {
  readonly port: HttpDeps["alerts"];
  /** Alerts that fire now. */
  firing(): readonly Alert[];
  start(): void;
  /** The config was read again. */
  configured(): void;
  stop(): Promise<void>;
}

export interface AlertRoomDeps {
  readonly store: Store;
  readonly events: Pick<Events, "page" | "highestReserved">;
  readonly bus: Pick<Bus, "commit" | "subscribe" | "lastPublished">;
  readonly live: Pick<Live, "snapshot" | "subscribe">;
  /** The running one. */
  readonly config: () => Pick<Config, "alerts" | "maintenance" | "notifications">;
  readonly run: RunCommand;
  /** Percent of the storage's file system that is used; null when unknown. */
  readonly disk: () => number | null;
  /** As of `ClockWatch`. */
  readonly clockDoubtMs: () => number | null;
  readonly clock: Clock;
  readonly timers: { after(ms: number, run: () => void): () => void };
  readonly log: Log;
}

/** Puts the engine between the pictures, the store and the ways to the targets. */
export function createAlertRoom(deps: AlertRoomDeps): AlertRoom {
  const { store, bus, live, config, run, disk, clockDoubtMs, clock, timers, log } = deps;
  const rows = createAlerts(store);
  const dispatcher = createDispatcher({
    queue: createNotifications(store, clock.now()),
    senderOf: ({ notification }) => createSender(notification, { clock, run }),
    ...{ clock, timers, log },
  });
  let settings = settingsOf(config());
  const engine = createAlertEngine({
    ...{ rows, live, disk, clockDoubtMs, clock, timers, log },
    commit: bus.commit,
    diskFill: createDiskFill({ store, commit: bus.commit }),
    outbox: dispatcher,
    settings: () => settings,
  });
  const denials = createDenialReader(deps, engine);

  return {
    port: {
      counts: engine.counts,
      acknowledge: engine.acknowledge,
      silence: engine.silence,
    },
    firing: engine.firing,
    start() {
      dispatcher.configure(createTargets(config().notifications));
      engine.start();
      denials.start();
    },
    configured() {
      settings = settingsOf(config());
      dispatcher.configure(createTargets(config().notifications));
      engine.configured();
    },
    async stop() {
      denials.stop();
      await engine.stop();
      await dispatcher.stop();
    },
  };
}

function settingsOf({
  alerts,
  maintenance,
  notifications,
}: ReturnType<AlertRoomDeps["config"]>): EngineSettings {
  return {
    settingsOf: createSettings(alerts),
    inMaintenance: createMaintenance(maintenance, hostZone()),
    targets: createTargets(notifications),
  };
}

/** Gives the engine every denial once: those of an earlier process that it did not see come from the store. */
function createDenialReader({ store, events, bus }: AlertRoomDeps, engine: Pick<AlertEngine, "denied">) {
  const marks = createMarks(store);
  let unsubscribe = () => {};

  const give = (told: readonly { readonly id: number; readonly event: DenialEvent }[]): void => {
    const last = told.at(-1);
    if (last === undefined) return;
    engine.denied(
      told
        .map(({ event }) => event)
        .filter(wasDenied)
        .map(seatsOf),
    );
    try {
      store.transaction(() => marks.raise("denials_seen", last.id));
    } catch {
      // The store says so itself; after a restart some are counted again, and none is missed.
    }
  };

  return {
    start() {
      let from = marks.get("denials_seen");
      if (from === 0) {
        // History from before there were alerts is no news.
        from = events.highestReserved();
        store.transaction(() => marks.raise("denials_seen", from));
      }
      for (;;) {
        const page = events.page(from, PAGE_EVENTS, "denial");
        give(page.map(({ id, json }) => ({ id, event: JSON.parse(json) as DenialEvent })));
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

/** Who got the seats after all, or a place in the queue, was not denied in the end. */
function wasDenied({ outcome }: DenialEvent): boolean {
  return outcome === "denied";
}

function seatsOf({ server, daemon, feature, count, deniedAt }: DenialEvent): DeniedSeats {
  return { server, daemon, feature, count, at: Date.parse(deniedAt) };
}
