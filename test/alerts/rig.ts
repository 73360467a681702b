import { expect } from "bun:test";
import { createAlertEngine } from "../../src/alerts/engine.ts";
import type { Note, NoteFilter } from "../../src/alerts/notify/note.ts";
import { createFilter } from "../../src/alerts/notify/targets.ts";
import type { Denied } from "../../src/alerts/rules.ts";
import { createMaintenance, createSettings } from "../../src/alerts/settings.ts";
import type { AlertOverride, AlertSettings, MaintenanceWindow } from "../../src/config/config.ts";
import type { AlertEvent, EventInput } from "../../src/domain/events.ts";
import type { ServerPicture } from "../../src/domain/picture.ts";
import type { PollOutcome } from "../../src/domain/poll.ts";
import { applyPoll, initialPicture, markStale } from "../../src/domain/polls/apply-poll.ts";
import type { MonitoredServer } from "../../src/domain/server.ts";
import type { ServerStatus } from "../../src/domain/words.ts";
import type { Change } from "../../src/live/live.ts";
import { createAlerts } from "../../src/store/alerts.ts";
import { createNotifications } from "../../src/store/notifications.ts";
import { failedPoll, feature, NOON, outcome, reading, server } from "../domain/make.ts";
import { open, temporaryDirectory } from "../store/place.ts";
import { recordingLog } from "../store/recording-log.ts";

export const MINUTE = 60_000;

export const SETTINGS: AlertSettings = {
  usageWarning: 80,
  usageCritical: 95,
  criticalNeedsDemand: false,
  forMs: 0,
  expiryDays: [30, 14, 7, 1],
  failures: 3,
  recoveries: 2,
  heldHours: 0,
  reminderMs: 24 * 3_600_000,
};

const ALL = { server: null, daemon: null, feature: null, settings: {}, enabled: true };
export const override = (change: Partial<AlertOverride> = {}): AlertOverride => ({ ...ALL, ...change });

interface Knobs {
  readonly settings: Partial<AlertSettings>;
  readonly overrides: readonly AlertOverride[];
  readonly maintenance: readonly MaintenanceWindow[];
  readonly targets: readonly NoteFilter[];
}

const EVERYTHING = { severity: "warning", rules: null, servers: null, features: null, labels: null } as const;
export const target = (
  id: string,
  {
    anonymize = false,
    ...change
  }: Partial<Parameters<typeof createFilter>[0]> & { anonymize?: boolean } = {},
): NoteFilter => ({ id, anonymize, wants: createFilter({ ...EVERYTHING, ...change }) });

export const TARGET = target("pager");

const DENIED = { server: "eda", daemon: "snpslmd", feature: "compiler", count: 1, code: null };

export type Rig = ReturnType<typeof createRig>;

/** The engine over a real store with manual polls and a manual clock. */
export function createRig(
  first: Partial<Knobs> = {},
  servers: readonly MonitoredServer[] = [server()],
  directory = temporaryDirectory(),
) {
  const store = open(directory);
  const log = recordingLog();
  let knobs: Knobs = { settings: {}, overrides: [], maintenance: [], targets: [TARGET], ...first };
  let configured = servers;
  let pictures = new Map(servers.map((each) => [each.id, initialPicture(each)]));
  let listener = (_change: Change) => {};
  let tick = () => {};
  const events: EventInput<AlertEvent>[] = [];
  const notes = new Map<number, Note>();
  const seen = new Set<number>();
  const snapshot = () => ({ version: 1, servers: configured.flatMap(({ id }) => pictures.get(id) ?? []) });
  const queue = createNotifications(store, NOON);

  const keep = (list: readonly Note[]) => {
    for (const note of list) if (!seen.has(note.id)) notes.set(note.id, note);
  };

  const create = () =>
    createAlertEngine({
      rows: createAlerts(store),
      async commit(work, told) {
        events.push(...(told as EventInput<AlertEvent>[]));
        if (rig.failing) throw new Error("no space");
        store.state.write(work);
      },
      outbox: {
        nextId: queue.nextId,
        write(list) {
          queue.write(list.map((note) => ({ ...note, alert: JSON.stringify(note.alert) })));
          keep(list);
        },
        send: keep,
      },
      live: {
        snapshot,
        subscribe(next) {
          listener = next;
          return () => {};
        },
      },
      settings: () => ({
        settingsOf: createSettings({ ...SETTINGS, ...knobs.settings, overrides: knobs.overrides }),
        inMaintenance: createMaintenance(knobs.maintenance, () => "UTC"),
        targets: knobs.targets,
        publicUrl: "https://lic.example/eda/",
        hubNotifies: (at) => at <= rig.hubNotifiesUntil,
        statusSince: (_, status) => rig.statusSince[status] ?? null,
      }),
      host: () => ({ disk: rig.disk, clockDoubtMs: rig.clockDoubtMs, outbox: rig.outbox }),
      clock: { now: () => rig.now },
      timers: {
        after(_, run) {
          tick = run;
          return () => {};
        },
      },
      log,
    });

  const show = (after: ServerPicture) => {
    const before = pictures.get(after.server.id) ?? null;
    pictures.set(after.server.id, after);
    listener({ server: after.server, before, after, snapshot: snapshot() });
  };

  const rig = {
    alerts: createAlerts(store),
    queue,
    store,
    log,
    now: NOON,
    failing: false,
    disk: null as number | null,
    clockDoubtMs: null as number | null,
    outbox: null as { percent: number; dropped: boolean } | null,
    /** Time until which the hub of the fleet sends the notifications. */
    hubNotifiesUntil: 0,
    /** Time since which the server has its status, according to its outages. */
    statusSince: {} as Partial<Record<ServerStatus, number>>,
    get engine() {
      return engine;
    },
    /** Runs the engine's timer once per minute. */
    pass(minutes: number) {
      for (let minute = 0; minute < minutes; minute++) {
        rig.now += MINUTE;
        tick();
      }
    },
    /** Polls a server a minute later. */
    poll(change: Partial<PollOutcome> = {}, id = "eda") {
      rig.now += MINUTE;
      const before = pictures.get(id);
      if (before === undefined) throw new Error(`no server ${id}`);
      const made = outcome({ serverId: id, finishedAt: rig.now, startedAt: rig.now - 200, ...change });
      show(applyPoll(before, before.server, made, rig.now + MINUTE));
    },
    /** Polls a server that has `used` of ten seats of one feature in use. */
    usage: (used: number, name = "compiler") =>
      rig.poll({ reading: reading({ features: [feature({ name, used, checkouts: [] })] }) }),
    /** A poll with inconsistent lines. */
    partial: (used: number) =>
      rig.poll({ reading: reading({ features: [feature({ used, checkouts: [], consistency: "short" })] }) }),
    denied: (change: Partial<Denied>) => engine.denied([{ ...DENIED, at: rig.now, ...change }]),
    down: () => rig.poll({ reading: null, error: failedPoll().error }),
    /** Marks all pictures as stale. */
    age() {
      for (const picture of pictures.values()) show(markStale(picture));
    },
    setServers(next: readonly MonitoredServer[]) {
      configured = next;
      pictures = new Map(
        next.map((each) => [each.id, { ...(pictures.get(each.id) ?? initialPicture(each)), server: each }]),
      );
      engine.configured();
    },
    configure(change: Partial<Knobs>) {
      knobs = { ...knobs, ...change };
      engine.configured();
    },
    restart() {
      for (const picture of pictures.values())
        pictures.set(picture.server.id, { ...markStale(picture), nextPollAt: null });
      engine = create();
      engine.start();
    },
    close: () => store.close(),
    /** Events since the last call. */
    events: () => events.splice(0),
    notes() {
      const fresh = [...notes.values()];
      for (const { id } of fresh) seen.add(id);
      notes.clear();
      return fresh;
    },
    /** Returns `rule change severity` of each event since the last call. */
    said: () => events.splice(0).map(({ rule, change, severity }) => `${rule} ${change} ${severity}`),
    firing: () => engine.firing().map(({ rule }) => rule),
    /** Returns the kinds of the notes since the last call. */
    kinds: () => rig.notes().map(({ kind }) => kind),
    /** Runs lines such as `usage 9, pass 3: seats fired warning`: steps, then the expected events. */
    play(...lines: readonly string[]) {
      for (const line of lines) {
        const [steps = ""] = line.split(":");
        for (const step of steps.split(", ").filter(Boolean)) {
          const [word = "", count = ""] = step.split(" ");
          const number = Number(count);
          const run = STEPS[word];
          if (run === undefined) throw new Error(`unknown step ${step}`);
          run(number);
        }
        expect(`${steps}: ${rig.said().join(", ")}`.trimEnd()).toBe(line);
      }
    },
  };
  const STEPS: Record<string, (count: number) => void> = {
    usage: (used) => rig.usage(used),
    partial: rig.partial,
    pass: rig.pass,
    down: rig.down,
    age: rig.age,
    restart: rig.restart,
  };
  let engine = create();
  engine.start();
  return rig;
}
