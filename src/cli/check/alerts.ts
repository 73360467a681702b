import type { Conditions } from "../../alerts/evaluator.ts";
import { createFilter } from "../../alerts/notify/targets.ts";
import { createReplay, type Firing, type Span } from "../../alerts/replay.ts";
import type { Denied } from "../../alerts/rules.ts";
import { createMaintenance, createSettings } from "../../alerts/settings.ts";
import type { Config } from "../../config/config.ts";
import { type AlertRule, DAEMON_RULES } from "../../domain/alerts.ts";
import type { ServerStatusEvent } from "../../domain/events.ts";
import type { CheckoutPicture, FeaturePicture, ServerPicture } from "../../domain/picture.ts";
import { countOf } from "../../domain/plain-text.ts";
import { initialPicture, markStale } from "../../domain/polls/apply-poll.ts";
import { failedFeature, featureKey, percent } from "../../domain/polls/feature-picture.ts";
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

/** Subjects shown for one rule. */
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
/** Rules about what history does not keep. */
const NOT_KEPT: readonly AlertRule[] = ["unparsed", "disk", "clock", "outbox"];

/** Says what each rule would have done over the stored history, by the config as it is now. Throws StoreError. */
export async function checkAlerts(
  named: string | undefined,
  days: number,
  asJson: boolean,
  io: CommandIo,
): Promise<void> {
  const { config } = await readConfig(named, io);
  if (config.servers.length === 0)
    throw new Failure("the config names no server: there is nothing that an alert rule could watch");
  const end = io.now();
  const start = end - days * DAY_MS;
  const [settingsOf, inMaintenance] = [createSettings(config.alerts), createMaintenance(config.maintenance)];
  const conditions: Conditions = { settingsOf, inMaintenance };
  const firings = await withDatabase(config.storage.directory, async (sqlite) => {
    const read = createReader(sqlite, { now: end });
    const pictures = lastPictures(config, end);
    return config.servers.flatMap((server) => {
      const blank = initialPicture({ ...server, enabled: true });
      return replayServer({ read, conditions, blank, start, end }, pictures.get(server.id) ?? blank);
    });
  });
  if (asJson) {
    const told = { start: iso(start), end: iso(end), firings: firings.map(firingRecord) };
    return io.out(printJson(told));
  }
  io.out(`From ${iso(start)} to ${iso(end)}, by the config as it is:\n\n`);
  io.out(tableOf(firings, config, end));
  io.out(`\nNot replayed: ${NOT_KEPT.join(", ")}. History keeps nothing of what they look at.\n`);
}

function firingRecord({ rule, severity, server, daemon, feature, peakValue, ...at }: Firing) {
  const times = { startedAt: iso(at.startedAt), firedAt: iso(at.firedAt), resolvedAt: iso(at.resolvedAt) };
  return { rule, severity, server, daemon, feature, ...times, peakValue };
}

/** The stored pictures of servers. */
export function lastPictures(config: Config, now: number): ReadonlyMap<string, ServerPicture> {
  const quiet = { debug() {}, info() {}, warn() {}, error() {} };
  const store = openStore({ directory: config.storage.directory, log: quiet, mode: "cli" });
  try {
    return createPictures(store, { now: () => now }, quiet).load();
  } finally {
    store.close();
  }
}

/** What is replayed of one server. */
interface Past {
  readonly read: Reader;
  readonly conditions: Conditions;
  /** The server's picture before any poll. */
  readonly blank: ServerPicture;
  readonly start: number;
  readonly end: number;
}

/** Each part of a server is replayed by itself: its pictures have that part alone, and change when it did. */
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
  const parts: { readonly spans: readonly Span[]; readonly denied?: Denied[] | undefined }[] = [
    ...[
      serverSpans(past),
      ...daemonSpans(past),
      ...sharedSets(held)
        .flat()
        .map((each) => holdSpans(past, each)),
    ].map((spans) => ({ spans })),
    // There may be denials of what has no counts.
    ...[...new Set([...counts.keys(), ...denials.keys()])].map((key) => {
      return { spans: counts.get(key) ?? [], denied: denials.get(key) };
    }),
  ];
  const replays = parts.map(({ spans, denied }) => {
    const replay = createReplay(conditions, blank);
    replay.polls(spans, denied);
    replay.pass(end);
    return replay;
  });

  // By the dates of the last picture: history does not keep those before. Its seats say nothing of the past.
  const dates = createReplay(conditions, markStale({ ...last, server }));
  for (let at = start; at < end; at += HOUR_MS) dates.pass(at);
  return [...replays, dates].flatMap((replay) => replay.firings());
}

/** Requests that were denied in the end, the oldest first. */
function deniedIn({ read, blank, start, end }: Past): Denied[] {
  const server = blank.server.id;
  const sql = `SELECT daemon, feature, at, code FROM denials
                 WHERE server_id = ? AND at >= ? AND at < ? AND outcome = 'denied' ORDER BY at`;
  type Row = Pick<Denied, "daemon" | "at" | "code"> & { readonly feature: string };
  const rows = read.all<Row>(sql, server, start, end);
  return rows.map((row) => ({ ...row, server, feature: row.feature || null, count: 1 }));
}

/** How far apart the readings of a server were, at an instant: as the coverage counts them, else its interval. */
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

/** What each look saw, until the next one; null = nothing was known. */
function spansOf(past: Past, looks: readonly SeenAt[]): Span[] {
  const everyMs = pace(past);
  return looks.flatMap(([from, picture], index) => {
    const until = looks[index + 1]?.[0] ?? past.end;
    return picture === null || until <= from ? [] : [{ from, until, everyMs: everyMs(from), picture }];
  });
}

/** What each poll saw of the server, as far as it is stored; polls between two stretches did not come. */
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
    // The last look at a stretch is known: those between are evenly spread.
    const looks = Math.round((readAt - from) / paceAt(from));
    const everyMs = Math.max(1_000, (readAt - from) / Math.max(1, looks));
    // A poll that yields nothing leaves `unknown`, unless the server is known to be down.
    const state = status === "unknown" ? "stale" : "ok";
    return { from, until: readAt + 1, everyMs: Math.floor(everyMs), picture: { ...blank, status, state } };
  });
}

/** Each daemon of the server, by the events of its status; one that was up since before them has none. */
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

/** The numbers of one feature, or of a seat group under the first of its features. */
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

/** From when on a seat is held for too long; 0 = never. */
function heldMsOf({ conditions }: Past, { server, daemon, feature }: KnownFeature): number {
  return conditions.settingsOf(server, daemon, feature).heldHours * HOUR_MS;
}

/** Users that held seats of one feature for too long. */
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

/** One line for each rule with what it is about: how often, for how long, when last, and how many targets want it. */
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
  return printTable(["rule", "about", ">fired", ">for", "last", "told"], rows);
}
