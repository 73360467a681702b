import { createMaintenance } from "../alerts/maintenance.ts";
import { replayFeature, replaySpans } from "../alerts/replay.ts";
import type { Firing } from "../alerts/replay-looks.ts";
import { expiryLevel } from "../alerts/rules/expiry.ts";
import { createSettings, type SettingsOf } from "../alerts/settings.ts";
import type { Config } from "../config/config.ts";
import { ALERT_RULES, type AlertRule, type AlertSubject, isAtLeast } from "../domain/alerts.ts";
import { iso } from "../domain/clock.ts";
import type { ServerStatusEvent } from "../domain/events.ts";
import type { MonitoredServer } from "../domain/server.ts";
import { daysLeft } from "../domain/stats/expirations.ts";
import { hostZone } from "../domain/zone.ts";
import type { HistoryRead } from "../store/history/read.ts";
import { createReader } from "../store/history/reader.ts";
import { openStore } from "../store/open.ts";
import { createPictures } from "../store/pictures.ts";
import { withDatabase } from "../store/read-only.ts";
import { replayKept, sayKept } from "./check-alerts-kept.ts";
import { countOf } from "./config-option.ts";
import type { CommandIo } from "./io.ts";
import { printTable } from "./table.ts";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** Subjects shown for one rule. */
const MAX_SHOWN = 20;

/** Says what each rule would have done over the stored history, by the config as it is now. Throws StoreError. */
export async function checkAlerts(config: Config, days: number, io: CommandIo): Promise<void> {
  const end = io.now();
  const start = end - days * DAY_MS;
  const replay: Replay = {
    settingsOf: createSettings(config.alerts),
    inMaintenance: createMaintenance(config.maintenance, hostZone()),
    ...{ start, end },
  };
  const { firings, kept } = await withDatabase(config.storage.directory, async (sqlite) => {
    const read = createReader(sqlite, { now: end });
    const kept = replayKept(read, config.servers, replay);
    const others = [...replayAll(read, config, replay), ...expiries(config, start, end)];
    return { kept, firings: [...others, ...kept.flatMap((one) => one.firings)] };
  });
  const unknown = kept.filter(({ since }) => since === null).map(({ rule }) => rule);
  io.out(`From ${iso(start)} to ${iso(end)}, by the config as it is:\n\n`);
  io.out(tableOf(firings, config, end, unknown));
  io.out(sayKept(kept, start));
}

interface Replay {
  readonly settingsOf: SettingsOf;
  readonly inMaintenance: (server: string, at: number) => boolean;
  readonly start: number;
  readonly end: number;
}

function replayAll(read: HistoryRead, config: Config, replay: Replay): Firing[] {
  const { settingsOf, start, end } = replay;
  return config.servers.flatMap((server) => [
    ...statuses(read, server, replay),
    ...read.features({ servers: [server.id] }).flatMap((feature) =>
      replayFeature(read.series(feature, start, end), {
        ...{ intervalMs: server.intervalMs, timeoutMs: server.timeoutMs },
        settings: settingsOf(server.id, feature.daemon, feature.feature),
        inMaintenance: (at) => replay.inMaintenance(server.id, at),
      }),
    ),
    ...held(read, server, replay),
    ...denied(read, server, replay),
  ]);
}

/** Servers and daemons that were not well, by the events that told of it. */
function statuses(read: HistoryRead, server: MonitoredServer, replay: Replay): Firing[] {
  const rows = read.all<{ body: string }>(
    "SELECT body FROM events WHERE server = ? AND type = 'server_status' AND at >= ? ORDER BY id",
    server.id,
    replay.start,
  );
  const spans = new Map<string, { subject: AlertSubject; list: { from: number; until: number | null }[] }>();
  for (const { body } of rows) {
    const { daemon, to, timestamp } = JSON.parse(body) as ServerStatusEvent;
    const at = Date.parse(timestamp);
    const bad: [AlertRule, string][] =
      daemon === null
        ? [
            ["server_down", "down"],
            ["server_degraded", "degraded"],
            // What a poll leaves that yields nothing although nobody says that the server is down.
            ["stale", "unknown"],
          ]
        : [["daemon_down", "down"]];
    for (const [rule, status] of bad) {
      const key = `${rule}\0${daemon ?? ""}`;
      const subject = { rule, server: server.id, daemon, feature: null, detail: null };
      const known = spans.get(key) ?? { subject, list: [] };
      spans.set(key, known);
      const last = known.list.at(-1);
      const isOpen = last !== undefined && last.until === null;
      if (to === status && !isOpen) known.list.push({ from: at, until: null });
      if (to !== status && isOpen) known.list[known.list.length - 1] = { ...last, until: at };
    }
  }
  return [...spans.values()].flatMap(({ subject, list }) =>
    replaySpans(
      subject,
      subject.rule === "server_degraded" || subject.rule === "stale" ? "warning" : "critical",
      list,
      {
        intervalMs: server.intervalMs,
        settings: replay.settingsOf(server.id, subject.daemon, null),
        inMaintenance: (at) => replay.inMaintenance(server.id, at),
      },
      replay.end,
    ),
  );
}

function held(
  read: HistoryRead,
  { id }: MonitoredServer,
  { settingsOf, inMaintenance, start, end }: Replay,
): Firing[] {
  const rows = read.all<{
    daemon: string;
    feature: string;
    user: string;
    host: string | null;
    began: number;
    ended: number | null;
  }>(
    `SELECT daemon, feature, user, host, began_at AS began, ended_at AS ended FROM sessions
       WHERE server_id = ? AND began_at < ? AND (ended_at IS NULL OR ended_at > ?) ORDER BY began_at`,
    ...[id, end, start],
  );
  return rows.flatMap(({ daemon, feature, user, host, began, ended }) => {
    const { heldHours, enabled } = settingsOf(id, daemon, feature);
    const from = Math.max(began + heldHours * HOUR_MS, start);
    if (!enabled || heldHours <= 0 || from >= (ended ?? end) || inMaintenance(id, from)) return [];
    const subject = {
      rule: "held_too_long" as const,
      server: id,
      daemon,
      feature,
      detail: `${user} ${host ?? ""}`,
    };
    return [{ subject, severity: "warning" as const, from, until: ended }];
  });
}

/** Denials within an hour of each other are one alert. */
function denied(
  read: HistoryRead,
  { id }: MonitoredServer,
  { settingsOf, inMaintenance, start, end }: Replay,
): Firing[] {
  const rows = read.all<{ daemon: string; feature: string; at: number }>(
    `SELECT daemon, feature, at FROM denials
       WHERE server_id = ? AND at >= ? AND at < ? AND outcome = 'denied' ORDER BY daemon, feature, at`,
    ...[id, start, end],
  );
  const firings: Firing[] = [];
  for (const { daemon, feature, at } of rows) {
    const named = feature === "" ? null : feature;
    if (!settingsOf(id, daemon, named).enabled || inMaintenance(id, at)) continue;
    const subject = { rule: "denials" as const, server: id, daemon, feature: named, detail: null };
    const last = firings.at(-1);
    const until = at + HOUR_MS > end ? null : at + HOUR_MS;
    const goesOn =
      last?.until != null &&
      last.subject.daemon === daemon &&
      last.subject.feature === named &&
      at <= last.until;
    if (goesOn) firings.pop();
    firings.push({ subject, severity: "warning", from: goesOn ? last.from : at, until });
  }
  return firings;
}

/** By the dates of the last pictures: history does not keep those before. */
function expiries(config: Config, start: number, end: number): Firing[] {
  const quiet = { debug() {}, info() {}, warn() {}, error() {} };
  const store = openStore({ directory: config.storage.directory, log: quiet, mode: "cli" });
  try {
    const settingsOf = createSettings(config.alerts);
    const pictures = createPictures(store, { now: () => end }, quiet).load();
    return config.servers.flatMap(({ id, timezone }) =>
      (pictures.get(id)?.features ?? []).flatMap(({ daemon, name, expiry }) => {
        const { expiryDays, enabled } = settingsOf(id, daemon, name);
        const levelAt = (at: number) => expiryLevel(expiry, daysLeft(expiry, timezone, at), expiryDays) ?? 0;
        let from = start;
        while (from < end && levelAt(from) === 0) from += HOUR_MS;
        if (!enabled || from >= end) return [];
        const subject = { rule: "expiry" as const, server: id, daemon, feature: name, detail: null };
        const severity = levelAt(end) > expiryDays.length ? ("critical" as const) : ("warning" as const);
        return [{ subject, severity, from, until: null }];
      }),
    );
  } finally {
    store.close();
  }
}

/**
 * One line for each rule with what it is about: how often, for how long, when last, and whom it would have told. Of the
 * rules of which nothing is known there is none.
 */
function tableOf(
  firings: readonly Firing[],
  { notifications }: Config,
  now: number,
  unknown: readonly AlertRule[],
): string {
  const rows: string[][] = [];
  const told = (list: readonly Firing[]) =>
    notifications.filter(({ severity, rules }) =>
      list.some(
        (firing) => isAtLeast(firing.severity, severity) && (rules?.includes(firing.subject.rule) ?? true),
      ),
    ).length;
  for (const rule of ALERT_RULES) {
    // `clock` is about the daemon's own host: history keeps nothing of it.
    if (rule === "clock" || unknown.includes(rule)) continue;
    const own = Map.groupBy(
      firings.filter(({ subject }) => subject.rule === rule),
      ({ subject: { server, daemon, feature } }) => [server, daemon, feature].filter(Boolean).join("/"),
    );
    const groups = [...own].sort(([, a], [, b]) => b.length - a.length);
    if (groups.length === 0) rows.push([rule, "", "never", "", "", ""]);
    for (const [where, list] of groups.slice(0, MAX_SHOWN)) rows.push([rule, where, ...figures(list, now)]);
    const more = groups.slice(MAX_SHOWN);
    if (more.length > 0)
      rows.push([
        rule,
        `${more.length} more`,
        ...figures(
          more.flatMap(([, list]) => list),
          now,
        ),
      ]);
  }

  function figures(list: readonly Firing[], until: number): string[] {
    const ms = list.reduce((sum, firing) => sum + ((firing.until ?? until) - firing.from), 0);
    const last = list.reduce((latest, { from }) => Math.max(latest, from), 0);
    return [
      countOf(list.length, "time"),
      `${(ms / HOUR_MS).toFixed(1)} h`,
      iso(last),
      `${told(list)} of ${countOf(notifications.length, "target")}`,
    ];
  }
  return printTable(["rule", "about", ">fired", ">for", "last", "told"], rows);
}
