import type { Conditions } from "../../alerts/evaluator.ts";
import { createReplay, type Firing, type Span } from "../../alerts/replay.ts";
import { createMaintenance, createSettings } from "../../alerts/settings.ts";
import type { Config } from "../../config/config.ts";
import { ALERT_RULES, type AlertRule, isAtLeast } from "../../domain/alerts.ts";
import type { ServerStatusEvent } from "../../domain/events.ts";
import type { CheckoutPicture, FeaturePicture, ServerPicture } from "../../domain/picture.ts";
import { initialPicture } from "../../domain/polls/apply-poll.ts";
import { failedFeature, percent } from "../../domain/polls/feature-picture.ts";
import type { MonitoredServer } from "../../domain/server.ts";
import { iso } from "../../domain/time/clock.ts";
import { hostZone } from "../../domain/time/zone.ts";
import { createReader, type Reader } from "../../history/reader.ts";
import type { KnownFeature } from "../../history/source.ts";
import { withDatabase } from "../../store/database/read-only.ts";
import { openStore } from "../../store/open/open.ts";
import { createPictures } from "../../store/pictures.ts";
import { type CommandIo, countOf } from "../io.ts";

import { printTable } from "../terminal.ts";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** Subjects shown for one rule. */
const MAX_SHOWN = 20;
const NO_DAEMON = { version: null, error: null, totals: null };
const NO_CHECKOUT: Omit<CheckoutPicture, "user" | "host"> = {
  display: null,
  qualifier: null,
  version: null,
  count: 1,
  handle: null,
  pid: null,
  startedAt: null,
  lingerSeconds: null,
  borrowed: false,
  pool: null,
};
/** Rules about what history does not keep. */
const NOT_KEPT: readonly AlertRule[] = ["unparsed", "disk", "clock"];

/** Says what each rule would have done over the stored history, by the config as it is now. Throws StoreError. */
export async function checkAlerts(config: Config, days: number, io: CommandIo): Promise<void> {
  const end = io.now();
  const start = end - days * DAY_MS;
  const conditions: Conditions = {
    settingsOf: createSettings(config.alerts),
    inMaintenance: createMaintenance(config.maintenance, hostZone()),
  };
  const firings = await withDatabase(config.storage.directory, async (sqlite) => {
    const read = createReader(sqlite, { now: end });
    const pictures = lastPictures(config, end);
    return config.servers.flatMap((server) =>
      replayServer(read, pictures.get(server.id) ?? initialPicture(server), server, conditions, start, end),
    );
  });
  io.out(`From ${iso(start)} to ${iso(end)}, by the config as it is:\n\n`);
  io.out(tableOf(firings, config, end));
  io.out(`\nNot told: ${NOT_KEPT.join(", ")}. History keeps nothing of what they look at.\n`);
}

function lastPictures(config: Config, now: number): ReadonlyMap<string, ServerPicture> {
  const quiet = { debug() {}, info() {}, warn() {}, error() {} };
  const store = openStore({ directory: config.storage.directory, log: quiet, mode: "cli" });
  try {
    return createPictures(store, { now: () => now }, quiet).load();
  } finally {
    store.close();
  }
}

/** Each part of a server is replayed by itself: its pictures have that part alone, and change when it did. */
function replayServer(
  read: Reader,
  last: ServerPicture,
  server: MonitoredServer,
  conditions: Conditions,
  start: number,
  end: number,
): Firing[] {
  const blank = initialPicture(server);
  const features = read.features({ servers: [server.id] });
  const parts = [
    ...statusSpans(read, blank, start, end),
    ...features.map((feature) => countSpans(read, feature, blank, start, end)),
    ...features.map((feature) => holdSpans(read, feature, blank, conditions, start, end)),
  ];
  const replays = parts.map((spans) => {
    const replay = createReplay(conditions, blank);
    replay.polls(spans);
    replay.pass(end);
    return replay;
  });

  const denials = createReplay(conditions, blank);
  for (const { daemon, feature, at } of read.all<{ daemon: string; feature: string; at: number }>(
    `SELECT daemon, feature, at FROM denials
       WHERE server_id = ? AND at >= ? AND at < ? AND outcome = 'denied' ORDER BY at`,
    server.id,
    start,
    end,
  )) {
    const named = feature === "" ? null : feature;
    denials.denial({ server: server.id, daemon, feature: named, count: 1, at });
  }
  denials.pass(end);

  // By the dates of the last picture: history does not keep those before.
  const dates = createReplay(conditions, { ...last, server });
  for (let at = start; at < end; at += HOUR_MS) dates.pass(at);
  return [...replays, denials, dates].flatMap((replay) => replay.firings());
}

/** The server, and each of its daemons, by the events of their statuses. */
function statusSpans(read: Reader, blank: ServerPicture, start: number, end: number): Span[][] {
  const events = read
    .all<{ body: string }>(
      "SELECT body FROM events WHERE server = ? AND type = 'server_status' AND at >= ? ORDER BY id",
      blank.server.id,
      start,
    )
    .map(({ body }) => JSON.parse(body) as ServerStatusEvent);
  return [...Map.groupBy(events, ({ daemon }) => daemon).values()].map((list) =>
    list.map(({ daemon, to, timestamp }, index) => {
      const status = to as ServerPicture["status"];
      const next = list[index + 1]?.timestamp;
      return {
        from: Date.parse(timestamp),
        until: next === undefined ? end : Date.parse(next),
        picture:
          daemon === null
            ? // A poll that yields nothing leaves `unknown`, unless the server is known to be down.
              { ...blank, status, state: status === "unknown" ? "stale" : "ok" }
            : { ...blank, state: "ok", daemons: [{ ...NO_DAEMON, name: daemon, status: to }] },
      } as Span;
    }),
  );
}

/** The numbers of one feature. */
function countSpans(
  read: Reader,
  known: KnownFeature,
  blank: ServerPicture,
  start: number,
  end: number,
): Span[] {
  const { steps } = read.series(known, start, end);
  return steps.flatMap(({ at, total, used, reserved, queued, unlimited }, index): Span[] => {
    if (used === null) return [];
    const utilization = unlimited || total === null ? null : percent(used, total);
    const counts = { total, used, reserved, queued, unlimited, utilization };
    const picture = withFeature(blank, known, counts);
    return [{ from: at, until: steps[index + 1]?.at ?? end, picture }];
  });
}

/** Who held seats of one feature for too long. */
function holdSpans(
  read: Reader,
  known: KnownFeature,
  blank: ServerPicture,
  { settingsOf }: Conditions,
  start: number,
  end: number,
): Span[] {
  const heldMs = settingsOf(known.server, known.daemon, known.feature).heldHours * HOUR_MS;
  if (heldMs <= 0) return [];
  const held = read.all<{ user: string; host: string | null; began: number; ended: number }>(
    `SELECT user, host, began_at AS began, coalesce(ended_at, ?1) AS ended FROM sessions
       WHERE server_id = ?2 AND daemon = ?3 AND feature = ?4 AND coalesce(ended_at, ?1) > ?5
         AND coalesce(ended_at, ?1) - began_at > ?6 ORDER BY began_at`,
    end,
    known.server,
    known.daemon,
    known.feature,
    start,
    heldMs,
  );
  const times = held.flatMap(({ began, ended }) => [Math.max(began + heldMs + 1, start), ended]);
  const points = [...new Set(times)].filter((at) => at < end).sort((a, b) => a - b);
  return points.map((from, index) => {
    const checkouts = held
      .filter(({ began, ended }) => began <= from && from < ended)
      .map(({ user, host, began }) => ({ ...NO_CHECKOUT, user, host, beganAt: began }));
    const picture = withFeature(blank, known, { checkouts });
    return { from, until: points[index + 1] ?? end, picture };
  });
}

function withFeature(
  blank: ServerPicture,
  { daemon, feature }: KnownFeature,
  parts: Partial<FeaturePicture>,
): ServerPicture {
  const read: FeaturePicture = { ...failedFeature(daemon, feature, null), state: "ok", ...parts };
  return { ...blank, status: "up", state: "ok", features: [read] };
}

/** One line for each rule with what it is about: how often, for how long, when last, and how many targets want it. */
function tableOf(firings: readonly Firing[], { notifications }: Config, now: number): string {
  const rows: string[][] = [];

  function figures(list: readonly Firing[]): string[] {
    const ms = list.reduce((sum, { from, until }) => sum + ((until ?? now) - from), 0);
    const last = list.reduce((latest, { from }) => Math.max(latest, from), 0);
    const wanting = notifications.filter(({ severity, rules }) =>
      list.some(
        (firing) => isAtLeast(firing.severity, severity) && (rules?.includes(firing.subject.rule) ?? true),
      ),
    );
    return [
      countOf(list.length, "time"),
      `${(ms / HOUR_MS).toFixed(1)} h`,
      iso(last),
      `${wanting.length} of ${countOf(notifications.length, "target")}`,
    ];
  }

  for (const rule of ALERT_RULES.filter((each) => !NOT_KEPT.includes(each))) {
    const own = Map.groupBy(
      firings.filter(({ subject }) => subject.rule === rule),
      ({ subject: { server, daemon, feature } }) => [server, daemon, feature].filter(Boolean).join("/"),
    );
    const groups = [...own].sort(([, a], [, b]) => b.length - a.length);
    if (groups.length === 0) rows.push([rule, "", "never", "", "", ""]);
    for (const [where, list] of groups.slice(0, MAX_SHOWN)) rows.push([rule, where, ...figures(list)]);
    const more = groups.slice(MAX_SHOWN);
    if (more.length > 0) {
      const list = more.flatMap(([, each]) => each);
      rows.push([rule, `${more.length} more`, ...figures(list)]);
    }
  }
  return printTable(["rule", "about", ">fired", ">for", "last", "told"], rows);
}
