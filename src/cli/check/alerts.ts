import type { Conditions } from "../../alerts/evaluator.ts";
import { createFilter } from "../../alerts/notify/targets.ts";
import { createReplay, type Firing, type Span } from "../../alerts/replay.ts";
import type { Denied } from "../../alerts/rules.ts";
import { createMaintenance, createSettings } from "../../alerts/settings.ts";
import type { Config } from "../../config/config.ts";
import { type AlertRule, DAEMON_RULES } from "../../domain/alerts.ts";
import type { ServerStatusEvent } from "../../domain/events.ts";
import { featureKey } from "../../domain/history.ts";
import type { CheckoutPicture, FeaturePicture, ServerPicture } from "../../domain/picture.ts";
import { countOf } from "../../domain/plain-text.ts";
import { initialPicture, markStale } from "../../domain/polls/apply-poll.ts";
import { failedFeature, percent } from "../../domain/polls/feature-picture.ts";
import { sharedSets } from "../../domain/polls/seat-groups.ts";
import { poolOfSeries } from "../../domain/stats/spans.ts";
import { DAY_MS, HOUR_MS, iso } from "../../domain/time/clock.ts";
import type { KnownFeature } from "../../history/buckets.ts";
import { createReader, type Reader } from "../../history/reader.ts";
import { withDatabase } from "../../store/database/read-only.ts";
import { openStore } from "../../store/open/open.ts";
import { createPictures } from "../../store/pictures.ts";
import { type CommandIo, Failure, readConfig } from "../io.ts";
import { printJson, printTable } from "../terminal.ts";

const MAX_SHOWN = 20;
const NO_DAEMON = { version: null, error: null, totals: null };
const NO_CHECKOUT: Omit<CheckoutPicture, "user" | "host"> = {
  display: null,
  qualifier: null,
  version: null,
  handle: null,
  pid: null,
  startedAt: null,
  lingerSeconds: null,
  pool: null,
  count: 1,
  borrowed: false,
};
/** Rules that are not replayed, because history does not store the data they need. */
const NOT_KEPT: readonly AlertRule[] = ["unparsed", "disk", "clock", "outbox"];

/** Replays every alert rule over the stored history with the current config. Throws StoreError. */
export async function checkAlerts(
  named: string | undefined,
  days: number,
  asJson: boolean,
  io: CommandIo,
): Promise<void> {
  const { config } = await readConfig(named, io);
  if (config.servers.length === 0) throw new Failure("the config has no servers: there is nothing to check");
  const end = io.now();
  const start = end - days * DAY_MS;
  const conditions: Conditions = {
    settingsOf: createSettings(config.alerts),
    inMaintenance: createMaintenance(config.maintenance),
  };
  const firings = await withDatabase(config.storage.directory, async (sqlite) => {
    const read = createReader(sqlite, { now: end });
    const pictures = lastPictures(config, end);
    return config.servers.flatMap((server) => {
      const blank = initialPicture({ ...server, enabled: true });
      return replayServer({ read, conditions, blank, start, end }, pictures.get(server.id) ?? blank);
    });
  });
  if (asJson) {
    return io.out(printJson({ start: iso(start), end: iso(end), firings: firings.map(firingRecord) }));
  }
  io.out(`From ${iso(start)} to ${iso(end)}, with the current config:\n\n`);
  io.out(tableOf(firings, config, end));
  io.out(`\nNot replayed: ${NOT_KEPT.join(", ")}. History does not store the data they need.\n`);
}

function firingRecord({ rule, severity, server, daemon, feature, peakValue, ...at }: Firing) {
  const times = { startedAt: iso(at.startedAt), firedAt: iso(at.firedAt), resolvedAt: iso(at.resolvedAt) };
  return { rule, severity, server, daemon, feature, ...times, peakValue };
}

export function lastPictures(config: Config, now: number): ReadonlyMap<string, ServerPicture> {
  const quiet = { debug() {}, info() {}, warn() {}, error() {} };
  const store = openStore({ directory: config.storage.directory, log: quiet, mode: "cli" });
  try {
    return createPictures(store, { now: () => now }, quiet).load();
  } finally {
    store.close();
  }
}

/** Stored past of one server. */
interface Past {
  readonly read: Reader;
  readonly conditions: Conditions;
  /** Picture of the server before any poll. */
  readonly blank: ServerPicture;
  readonly start: number;
  readonly end: number;
}

/** Replays each part of a server separately, with pictures that contain only that part. */
function replayServer(past: Past, last: ServerPicture): Firing[] {
  const { read, conditions, blank, start, end } = past;
  const { server } = blank;
  const features = read.features({ servers: [server.id] });
  const keyOf = ({ daemon, feature }: { daemon: string; feature: string | null }) =>
    featureKey(daemon, feature ?? "");
  const denials = Map.groupBy(deniedIn(past), keyOf);
  const held = features.filter((each) => heldMsOf(past, each) > 0);
  const sets = sharedSets(features).map((set) => set.toSorted((a, b) => (a.feature < b.feature ? -1 : 1)));
  const counts = new Map(sets.map((set) => [set.map(keyOf)[0] ?? "", countSpans(past, set)]));
  const holds = sharedSets(held).flatMap((set) => set.map((each) => holdSpans(past, each)));
  // Denials may name features without counts.
  const keys = [...new Set([...counts.keys(), ...denials.keys()])];
  const parts: (readonly [spans: readonly Span[], denied?: Denied[]])[] = [
    ...[serverSpans(past), ...daemonSpans(past), ...holds].map((spans) => [spans] as const),
    ...keys.map((key) => [counts.get(key) ?? [], denials.get(key) ?? []] as const),
  ];
  const replays = parts.map(([spans, denied]) => {
    const replay = createReplay(conditions, blank);
    replay.polls(spans, denied);
    replay.pass(end);
    return replay;
  });

  // Replay the expiry dates of the last picture, because history does not store earlier dates. Mark the
  // picture as stale, so that its seats are ignored.
  const dates = createReplay(conditions, markStale({ ...last, server }));
  for (let at = start; at < end; at += HOUR_MS) dates.pass(at);
  return [...replays, dates].flatMap((replay) => replay.firings());
}

function deniedIn({ read, blank, start, end }: Past): Denied[] {
  const server = blank.server.id;
  const sql = `SELECT daemon, feature, at, code FROM denials
                 WHERE server_id = ? AND at >= ? AND at < ? AND outcome = 'denied' ORDER BY at`;
  type Row = Pick<Denied, "daemon" | "at" | "code"> & { readonly feature: string };
  const rows = read.all<Row>(sql, server, start, end);
  return rows.map((row) => ({ ...row, server, feature: row.feature || null, count: 1 }));
}

/** Returns the interval between readings at a time, from the coverage, or without coverage from the config. */
function pace({ read, blank: { server }, start, end }: Past): (at: number) => number {
  const rows = read.all<{ from: number; everyMs: number }>(
    `SELECT from_at AS "from", (read_at - from_at) / (looks - 1) AS everyMs FROM coverage
       WHERE server_id = ? AND until_at > ? AND from_at < ? AND looks > 1 ORDER BY from_at`,
    server.id,
    start,
    end,
  );
  return (at) => {
    const { everyMs = server.intervalMs } = rows.findLast(({ from }) => from <= at) ?? rows[0] ?? {};
    return Math.max(1_000, everyMs);
  };
}

type SeenAt = readonly [at: number, picture: ServerPicture | null];

/** Turns readings into spans, each up to the next reading. A null picture means unknown and makes no span. */
function spansOf(past: Past, looks: readonly SeenAt[]): Span[] {
  const everyMs = pace(past);
  return looks.flatMap(([from, picture], index) => {
    const until = looks[index + 1]?.[0] ?? past.end;
    return picture === null || until <= from ? [] : [{ from, until, everyMs: everyMs(from), picture }];
  });
}

/** Returns spans of the server's stored polls. The server was not polled between two stretches of coverage. */
function serverSpans(past: Past): Span[] {
  const { read, blank, start, end } = past;
  const paceAt = pace(past);
  const rows = read.all<{ from: number; readAt: number; status: ServerPicture["status"] }>(
    `SELECT max(from_at, ?2) AS "from", read_at AS readAt, status FROM server_statuses
       WHERE server_id = ?1 AND read_at >= ?2 AND from_at < ?3 ORDER BY from_at`,
    blank.server.id,
    start,
    end,
  );
  return rows.map(({ from, readAt, status }) => {
    // Only the last reading of a stretch is stored. Assume that the earlier readings were evenly spread.
    const looks = Math.round((readAt - from) / paceAt(from));
    const everyMs = Math.max(1_000, (readAt - from) / Math.max(1, looks));
    // A failed poll sets `unknown`, unless the server is known to be down.
    const state = status === "unknown" ? "stale" : "ok";
    return { from, until: readAt + 1, everyMs: Math.floor(everyMs), picture: { ...blank, status, state } };
  });
}

/**
 * Returns the spans of each daemon from its status events. A daemon without status events was up all the
 * time and has no spans.
 */
function daemonSpans(past: Past): Span[][] {
  const { read, blank, start } = past;
  const sql = "SELECT body FROM events WHERE server = ? AND type = 'server_status' ORDER BY id";
  const rows = read.all<{ readonly body: string }>(sql, blank.server.id);
  const events = rows.map(({ body }) => JSON.parse(body) as ServerStatusEvent);
  const byDaemon = Map.groupBy(events, ({ daemon }) => daemon);
  byDaemon.delete(null);
  return [...byDaemon].map(([name, each]) => {
    const looks = each.map(({ to, timestamp }): SeenAt => {
      const picture = { state: "ok", daemons: [{ ...NO_DAEMON, name, status: to }] };
      return [Math.max(start, Date.parse(timestamp)), { ...blank, ...picture } as ServerPicture];
    });
    return spansOf(past, looks);
  });
}

/** Returns the counts of one feature, or of a seat group under its first feature. */
function countSpans(past: Past, set: readonly KnownFeature[]): Span[] {
  const { read, blank, start, end } = past;
  const [known] = set;
  if (known === undefined) return [];
  const { steps } = poolOfSeries(set.map((each) => read.series(each, start, end)));
  const looks = steps.map(({ at, ...counts }): SeenAt => {
    const { total, used, unlimited } = counts;
    if (used === null) return [at, null];
    const utilization = unlimited || total === null ? null : percent(used, total);
    return [at, withFeature(blank, known, { ...counts, utilization })];
  });
  return spansOf(past, looks);
}

function heldMsOf({ conditions }: Past, { server, daemon, feature }: KnownFeature): number {
  return conditions.settingsOf(server, daemon, feature).heldHours * HOUR_MS;
}

/** Returns the users that held seats of a feature for too long. */
function holdSpans(past: Past, known: KnownFeature): Span[] {
  const { read, blank, start, end } = past;
  const heldMs = heldMsOf(past, known);
  const held = read.all<{ user: string | null; host: string | null; began: number; ended: number }>(
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
  const looks = points.map((at) => {
    const checkouts = held
      .filter(({ began, ended }) => began <= at && at < ended)
      .map(({ user, host, began }) => ({ ...NO_CHECKOUT, user, host, beganAt: began }));
    return [at, withFeature(blank, known, { checkouts })] as const;
  });
  return spansOf(past, looks);
}

function withFeature(
  blank: ServerPicture,
  { daemon, feature, unit = "seats" }: KnownFeature,
  parts: Partial<FeaturePicture>,
): ServerPicture {
  const read: FeaturePicture = { ...failedFeature(daemon, feature, null), state: "ok", unit, ...parts };
  return { ...blank, status: "up", state: "ok", features: [read] };
}

/** Formats a line per rule and subject: count, duration, last time, and number of notified targets. */
function tableOf(firings: readonly Firing[], { notifications, servers }: Config, now: number): string {
  const labelsOf = (server: string | null) => servers.find(({ id }) => id === server)?.labels ?? {};
  const filters = notifications.map(createFilter);
  const row = (rule: AlertRule, where: string, list: readonly Firing[]): string[] => {
    const ms = list.reduce((sum, { startedAt, resolvedAt }) => sum + ((resolvedAt ?? now) - startedAt), 0);
    const last = Math.max(...list.map(({ firedAt }) => firedAt));
    const wanting = filters.filter((wants) => list.some((firing) => wants(firing, labelsOf(firing.server))));
    const told = `${wanting.length} of ${countOf(notifications.length, "target")}`;
    return [rule, where, countOf(list.length, "time"), `${(ms / HOUR_MS).toFixed(1)} h`, iso(last), told];
  };
  const byRule = Map.groupBy(firings, ({ rule }) => rule);
  const rows = DAEMON_RULES.filter((each) => !NOT_KEPT.includes(each)).flatMap((rule) => {
    const own = byRule.get(rule);
    if (own === undefined) return [[rule, "", "never", "", "", ""]];
    const where = ({ server, daemon, feature }: Firing) =>
      [server, daemon, feature].filter(Boolean).join("/");
    const groups = [...Map.groupBy(own, where)].sort(([, a], [, b]) => b.length - a.length);
    const more = groups.slice(MAX_SHOWN).map(([, list]) => list);
    const shown = groups.slice(0, MAX_SHOWN).map(([where, list]) => row(rule, where, list));
    return more.length === 0 ? shown : [...shown, row(rule, `${more.length} more`, more.flat())];
  });
  return printTable(["rule", "about", ">fired", ">for", "last", "notified"], rows);
}
