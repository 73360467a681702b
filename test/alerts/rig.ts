import { type AlertEngine, createAlertEngine } from "../../src/alerts/engine.ts";
import { createMaintenance } from "../../src/alerts/maintenance.ts";
import type { Note, NoteFilter } from "../../src/alerts/notify/note.ts";
import { createSettings } from "../../src/alerts/settings.ts";
import type { AlertOverride, AlertSettings, MaintenanceWindow } from "../../src/config/config.ts";
import type { AlertRecord } from "../../src/domain/alerts.ts";
import type { AlertEvent, EventInput } from "../../src/domain/events.ts";
import type { ServerPicture } from "../../src/domain/picture.ts";
import type { PollOutcome } from "../../src/domain/poll.ts";
import { applyPoll, initialPicture, markStale } from "../../src/domain/polls/apply-poll.ts";
import type { MonitoredServer } from "../../src/domain/server.ts";
import { type Alerts, createAlerts } from "../../src/store/alerts.ts";
import { createNotifications, type Notifications } from "../../src/store/notifications.ts";
import type { Store } from "../../src/store/open/open.ts";
import { failedPoll, feature, NOON, outcome, reading, server } from "../domain/make.ts";
import { open, temporaryDirectory } from "../store/place.ts";
import { recordingLog } from "../store/recording-log.ts";

export const MINUTE = 60_000;

export const SETTINGS: AlertSettings = {
  usageWarning: 80,
  usageCritical: 95,
  expiryDays: [30, 14, 7, 1],
  failures: 3,
  recoveries: 2,
  heldHours: 0,
  reminderMs: 24 * 3_600_000,
};

export const override = (change: Partial<AlertOverride> = {}): AlertOverride => ({
  ...{ server: null, daemon: null, feature: null, settings: {}, forMs: null, enabled: true },
  ...change,
});

type AlertInput = EventInput<AlertEvent>;

/** The engine over a real store and polls made by hand; nothing waits. */
export interface Rig {
  readonly engine: AlertEngine;
  readonly alerts: Alerts;
  readonly queue: Notifications;
  readonly store: Store;
  readonly log: ReturnType<typeof recordingLog>;
  now: number;
  /** Minutes go by; the engine's timer runs at each. */
  pass(minutes: number): void;
  /** A poll of a server, a minute after the last thing, with this outcome. */
  poll(change?: Partial<PollOutcome>, id?: string): void;
  /** A poll that sees `used` of ten seats of one feature in use. */
  usage(used: number, name?: string): void;
  down(): void;
  /** A poll whose lines do not add up. */
  partial(used: number): void;
  /** The numbers get too old. */
  age(): void;
  setServers(servers: readonly MonitoredServer[]): void;
  configure(change: Partial<Knobs>): void;
  restart(): void;
  close(): void;
  /** The next commits fail. */
  failing: boolean;
  disk: number | null;
  clockDoubtMs: number | null;
  /** Events and notes told since the last look. */
  events(): AlertInput[];
  notes(): Note[];
  /** `rule change severity` of the events since the last look. */
  said(): string[];
  firing(): AlertRecord["rule"][];
}

interface Knobs {
  readonly settings: Partial<AlertSettings>;
  readonly overrides: readonly AlertOverride[];
  readonly maintenance: readonly MaintenanceWindow[];
  readonly targets: readonly NoteFilter[];
}

export const TARGET: NoteFilter = { id: "pager", severity: "warning", rules: null };

export function createRig(first: Partial<Knobs> = {}, servers: readonly MonitoredServer[] = [server()]): Rig {
  const store = open(temporaryDirectory());
  const log = recordingLog();
  let knobs: Knobs = { settings: {}, overrides: [], maintenance: [], targets: [TARGET], ...first };
  let configured = servers;
  let pictures = new Map(servers.map((each) => [each.id, initialPicture(each)]));
  let listeners: ((change: { before: ServerPicture | null; after: ServerPicture }) => void)[] = [];
  let ticks: (() => void)[] = [];
  const events: AlertInput[] = [];
  const notes: Note[] = [];
  const known = new Set<number>();
  const snapshot = () => ({ version: 1, servers: configured.flatMap(({ id }) => pictures.get(id) ?? []) });
  const alerts = createAlerts(store);
  const queue = createNotifications(store, NOON);
  const settings = () => ({
    settingsOf: createSettings({ ...SETTINGS, ...knobs.settings, overrides: knobs.overrides }),
    inMaintenance: createMaintenance(knobs.maintenance, "UTC"),
    targets: knobs.targets,
  });
  let current = settings();

  const keep = (list: readonly Note[]) => {
    for (const note of list) {
      if (!known.has(note.id)) notes.push(note);
      known.add(note.id);
    }
  };

  const create = () => {
    listeners = [];
    ticks = [];
    return createAlertEngine({
      rows: createAlerts(store),
      commit: async (work, told) => {
        events.push(...(told as AlertInput[]));
        if (rig.failing) throw new Error("no space");
        store.transaction(() => work());
      },
      outbox: {
        nextId: queue.nextId,
        write: (list) => {
          queue.write(list.map((note) => ({ ...note, alert: JSON.stringify(note.alert) })));
          keep(list);
        },
        send: (list) => keep(list),
      },
      live: {
        snapshot,
        subscribe(listener) {
          listeners.push(listener);
          return () => {
            listeners = listeners.filter((each) => each !== listener);
          };
        },
      },
      settings: () => current,
      host: () => ({ disk: rig.disk, clockDoubtMs: rig.clockDoubtMs }),
      clock: { now: () => rig.now },
      timers: {
        after(_, run) {
          ticks.push(run);
          return () => {
            ticks = ticks.filter((each) => each !== run);
          };
        },
      },
      log,
    });
  };

  const show = (after: ServerPicture) => {
    const before = pictures.get(after.server.id) ?? null;
    pictures.set(after.server.id, after);
    for (const listener of listeners) listener({ before, after });
  };

  let engine: AlertEngine;
  const rig: Rig = {
    get engine() {
      return engine;
    },
    ...{ alerts, queue, store, log, now: NOON, failing: false, disk: null, clockDoubtMs: null },
    pass(minutes) {
      for (let minute = 0; minute < minutes; minute++) {
        rig.now += MINUTE;
        for (const tick of ticks.splice(0)) tick();
      }
    },
    poll(change = {}, id = "eda") {
      rig.now += MINUTE;
      const before = pictures.get(id);
      if (before === undefined) throw new Error(`no server ${id}`);
      const made = outcome({ serverId: id, finishedAt: rig.now, startedAt: rig.now - 200, ...change });
      show(applyPoll(before, before.server, made, rig.now + MINUTE));
    },
    usage: (used, name = "compiler") =>
      rig.poll({ reading: reading({ features: [feature({ name, used, checkouts: [], total: 10 })] }) }),
    partial: (used) =>
      rig.poll({
        reading: reading({ features: [feature({ used, checkouts: [], consistency: "short" })] }),
      }),
    down() {
      const { reading: none, error } = failedPoll();
      rig.poll({ reading: none, error });
    },
    age() {
      for (const picture of pictures.values()) show(markStale(picture));
    },
    setServers(next) {
      configured = next;
      pictures = new Map(
        next.map((each) => [each.id, { ...(pictures.get(each.id) ?? initialPicture(each)), server: each }]),
      );
      engine.configured();
    },
    configure(change) {
      knobs = { ...knobs, ...change };
      current = settings();
      engine.configured();
    },
    restart() {
      for (const picture of pictures.values())
        pictures.set(picture.server.id, { ...markStale(picture), nextPollAt: null });
      engine = create();
      engine.start();
    },
    close: () => store.close(),
    events: () => events.splice(0),
    notes: () => notes.splice(0),
    said: () => events.splice(0).map(({ rule, change, severity }) => `${rule} ${change} ${severity}`),
    firing: () => engine.firing().map(({ rule }) => rule),
  };
  engine = create();
  engine.start();
  return rig;
}
