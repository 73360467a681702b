import type { Config } from "../config/config.ts";
import { escapeControls } from "../domain/plain-text.ts";
import type { MonitoredServer } from "../domain/server.ts";
import { DAY_MS, iso } from "../domain/time/clock.ts";
import { fromWallClock, secondOccurrence, wallClock } from "../domain/time/zone.ts";
import { dayOf, type KnownFeature } from "../history/buckets.ts";
import {
  createCountWriter,
  createUnion,
  type FeatureDay,
  type Stretch,
} from "../history/moving-in/count-writer.ts";
import type { OldMonitor, OldSeries } from "../history/moving-in/old-monitor.ts";
import { managerOf } from "../managers/registry.ts";
import { type ImportTarget, inBatches, knowServer } from "./import-log.ts";
import { countOf, UsageError } from "./io.ts";

/** A reading that comes later than two intervals and this ends what the one before says, as for licmond's own polls. */
const SLACK_MS = 30_000;
const LISTED = 20;
const SIZES = { alone: 1_000, beside: 10 };

/** Which of the config's servers each server of another monitor is; null = it is left out. */
export type ServerMap = ReadonlyMap<string, MonitoredServer | null>;

/**
 * Finds the servers of the other monitor in the config: by what was said (`FROM=ID`, and `FROM=` to leave one out), else
 * by address. Throws UsageError that names every server that is not found, before anything is stored.
 */
export function matchServers(
  { servers }: Pick<Config, "servers">,
  { series }: OldMonitor,
  said: readonly string[],
): ServerMap {
  const names = [...new Set([...series.values()].map(({ server }) => server))].sort();
  const shown = (name: string) => `"${escapeControls(name)}"`;
  const map = new Map<string, MonitoredServer | null>();
  for (const one of said) {
    const cut = one.lastIndexOf("=");
    const [from, id] = [one.slice(0, cut), one.slice(cut + 1)];
    if (cut === -1) throw new UsageError(`--server takes FROM=ID with --from, not ${shown(one)}`);
    const known = names.map(shown).join(", ") || "none";
    if (!names.includes(from)) throw new UsageError(`--server names ${shown(from)}, and there are ${known}`);
    const server = servers.find((each) => each.id === id);
    const ids = servers.map((each) => each.id).join(", ") || "none";
    if (server === undefined && id !== "")
      throw new UsageError(`no server ${shown(id)} in the config (there are ${ids})`);
    map.set(from, server ?? null);
  }
  const problems: string[] = [];
  for (const name of names.filter((one) => !map.has(one))) {
    const [only, more] = servers.filter((server) => isAddressOf(name, server));
    const which = only === undefined ? "no server" : "several servers";
    if (only !== undefined && more === undefined) map.set(name, only);
    else problems.push(`${shown(name)} is the address of ${which}`);
  }
  for (const [server, of] of Map.groupBy(map, ([, server]) => server))
    if (server !== null && of.length > 1)
      problems.push(`${of.map(([name]) => shown(name)).join(" and ")} are both the server ${server.id}`);
  if (problems.length > 0)
    throw new UsageError(
      `${problems.join("; ")}. Say which of the config's each is, --server FROM=ID, or leave it out, --server FROM=`,
    );
  return map;
}

/** `27000@lic1` is an address of the triad that it is a member of. */
function isAddressOf(name: string, { manager, address }: MonitoredServer): boolean {
  if (name === address) return true;
  const members = (text: string) => {
    const parsed = managerOf(manager).parseAddress(text);
    return "problem" in parsed ? [] : parsed.members.map(({ host, port }) => `${port}@${host.toLowerCase()}`);
  };
  const [wanted, own] = [members(name), members(address)];
  return wanted.length > 0 && wanted.every((member) => own.includes(member));
}

/** What became of the counts of one server. */
interface ServerReport {
  readonly from: string;
  readonly id: string | null;
  added: number;
  known: number;
  old: number;
  /** At times that its clocks do not show, or show twice, or that are still to come; and no counts. */
  unclear: number;
  firstAt: number | null;
  lastAt: number | null;
  features: number;
  readonly intervalMs: number;
  /** Features that are left out, by why. */
  readonly leftOut: Map<string, string[]>;
}

/** A series as it is read. */
interface Going {
  readonly report: ServerReport;
  readonly union: ReturnType<typeof createUnion>;
  readonly series: OldSeries;
  readonly feature: KnownFeature;
  day: number;
  stretches: Stretch[];
  last: { readonly at: number; readonly used: number; readonly total: number | null } | null;
}

/**
 * Stores the counts of another monitor, read by clocks in `zone`. Counts are held from reading to reading, no longer than
 * two intervals. Rejects with StoreError and OldMonitorError; what was read before is read again then.
 */
export async function importCounts(
  { store, isBeside, now, keptFrom, onProgress }: ImportTarget,
  monitor: OldMonitor,
  servers: ServerMap,
  zone: string,
  total: number,
): Promise<ServerReport[]> {
  const writer = createCountWriter(store, now);
  const reports = new Map<string, ServerReport>();
  const unions = new Map<string, ReturnType<typeof createUnion>>();
  const going = new Map<string, Going>();
  store.transaction(() => {
    for (const [from, server] of servers) {
      const sums = { added: 0, known: 0, old: 0, unclear: 0, firstAt: null, lastAt: null, features: 0 };
      const intervalMs = monitor.intervalOf(from);
      reports.set(from, { from, id: server?.id ?? null, ...sums, intervalMs, leftOut: new Map() });
      if (server !== null) knowServer(store, now, server);
      if (server !== null) unions.set(from, createUnion());
    }
    const daemons = createDaemonFinder(store.sqlite);
    for (const [key, series] of monitor.series) {
      const { server, feature } = series;
      const [report, union, id] = [reports.get(server), unions.get(server), servers.get(server)?.id];
      if (report === undefined || union === undefined || id === undefined) continue;
      const found = daemons(id, series);
      const problem = series.problem ?? ("problem" in found ? found.problem : null);
      if (problem !== null) report.leftOut.getOrInsertComputed(problem, () => []).push(feature);
      if (problem !== null || "problem" in found) continue;
      report.features++;
      const of = writer.feature(id, found.daemon, feature);
      going.set(key, { report, union, series, feature: of, day: 0, stretches: [], last: null });
    }
  });

  let ready: { readonly report: ServerReport; readonly day: FeatureDay }[] = [];
  // Written back between the batches alone, where a daemon waits for the end of each.
  if (isBeside) store.sqlite.run("PRAGMA wal_autocheckpoint = 0");
  const beside = isBeside
    ? { writeBack: () => void store.sqlite.run("PRAGMA wal_checkpoint(PASSIVE)") }
    : null;
  async function write(): Promise<void> {
    const days = ready;
    ready = [];
    for (const [report, own] of Map.groupBy(days, (one) => one.report)) {
      const work = (some: readonly (typeof days)[number][]) => {
        const { added, known } = writer.days(some.map(({ day }) => day));
        report.added += added;
        report.known += known;
      };
      await inBatches(store, beside, own, work, SIZES);
    }
  }
  function flush(one: Going): void {
    const { feature, day, stretches, report } = one;
    if (stretches.length > 0) ready.push({ report, day: { feature, day, stretches } });
    one.stretches = [];
  }
  /** Its last reading held until then. */
  function hold(one: Going, until: number): void {
    if (one.last === null) return;
    const { at, ...counts } = one.last;
    one.union.add(at, until);
    for (let from = at; from < until; from = (dayOf(from) + 1) * DAY_MS) {
      if (dayOf(from) !== one.day) flush(one);
      one.day = dayOf(from);
      const to = Math.min(until, (one.day + 1) * DAY_MS);
      one.stretches.push({ from, until: to, ...counts, isReading: from === at });
    }
  }

  let done = 0;
  const onRead = (amount: number) => {
    done += amount;
    onProgress(done, total);
  };
  for await (const counts of monitor.counts(onRead)) {
    for (const { key, wall, used } of counts) {
      const one = going.get(key);
      if (one === undefined) continue;
      const { report, last, series } = one;
      const at = instantOf(zone, wall);
      if (at === null || at > now || !Number.isSafeInteger(used) || used < 0) report.unclear++;
      else if (at < keptFrom) report.old++;
      else if (last !== null && at <= last.at) report.known++;
      else {
        const { intervalMs } = report;
        if (last !== null) hold(one, at - last.at <= 2 * intervalMs + SLACK_MS ? at : last.at + intervalMs);
        one.last = { at, used, total: series.totalOn(dayOf(wall)) };
        report.firstAt = Math.min(report.firstAt ?? at, at);
        report.lastAt = Math.max(report.lastAt ?? at, at);
      }
    }
    if (ready.length >= SIZES.alone) await write();
  }
  for (const one of going.values()) {
    if (one.last !== null) hold(one, Math.min(now, one.last.at + one.report.intervalMs));
    flush(one);
  }
  await write();
  store.transaction(() => {
    for (const [from, union] of unions) writer.coverage(servers.get(from)?.id ?? "", union.intervals);
  });
  return [...reports.values()];
}

/** Null where the clocks of the zone show it twice or never. */
function instantOf(zone: string, wall: number): number | null {
  if (Number.isNaN(wall)) return null;
  const at = fromWallClock(zone, wall);
  return wallClock(zone, at) === wall && secondOccurrence(zone, at) === null ? at : null;
}

/** Finds the daemon of a feature: another monitor mostly knows its name alone. */
function createDaemonFinder(sqlite: ImportTarget["store"]["sqlite"]) {
  const named = sqlite.query<{ daemon: string; name: string }, [string]>(
    "SELECT daemon, name FROM history_features WHERE server_id = ?",
  );
  const servers = new Map<string, { readonly daemon: string; readonly name: string }[]>();
  return (id: string, { feature, daemon }: OldSeries) => {
    const all = servers.getOrInsertComputed(id, () => named.all(id));
    const own = all.filter(({ name }) => name === feature);
    const daemons = new Set((own.length > 0 ? own : all).map((one) => one.daemon));
    const [only] = daemons;
    if (own.length > 1) return { problem: "of several daemons, whose counts it does not tell apart" };
    if (own.length === 0 && daemon !== null) return { daemon };
    if (only !== undefined && daemons.size === 1) return { daemon: only };
    if (only === undefined) return { problem: "whose daemon licmond knows once it has read the server" };
    return { problem: `never read by licmond, so that it may be of any of ${[...daemons].join(", ")}` };
  };
}

export function printCounts(reports: readonly ServerReport[], { notes }: OldMonitor, zone: string): string {
  const time = (at: number | null) => (at === null ? "?" : iso(at));
  const blocks = reports.map(({ from, id, leftOut, ...sums }) => {
    if (id === null) return `${escapeControls(from)} is left out\n`;
    const { added, known, old, unclear, features, intervalMs, firstAt, lastAt } = sums;
    const missing = [...leftOut].map(([why, names]) => {
      const more = names.length > LISTED ? ", …" : "";
      const list = escapeControls(names.slice(0, LISTED).join(", "));
      return `  left out        ${countOf(names.length, "feature")} ${why}: ${list}${more}\n`;
    });
    return `${escapeControls(from)} is ${id}
  time            ${time(firstAt)} to ${time(lastAt)}, read as times of ${zone}, mostly every ${intervalMs / 60_000} min
  counts          ${added} added, ${known} known before, ${old} too old to be kept, ${unclear} at no or two times of ${zone}, or none
  features        ${features}
${missing.join("")}`;
  });
  return `${blocks.join("")}${notes.map((note) => `${escapeControls(note)}\n`).join("")}`;
}
