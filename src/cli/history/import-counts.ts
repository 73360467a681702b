import type { Config } from "../../config/config.ts";
import { countOf, escapeControls } from "../../domain/plain-text.ts";
import type { MonitoredServer } from "../../domain/server.ts";
import { iso } from "../../domain/time/clock.ts";
import { fromWallClock, secondOccurrence, wallClock } from "../../domain/time/zone.ts";
import type { OldMonitor, OldSeries } from "../../history/moving-in/old-monitor.ts";
import { createCountWriter, createSeriesDays, createUnread } from "../../history/moving-in/write-counts.ts";
import type { Interval } from "../../history/sample-reader.ts";
import { managerOf } from "../../managers/registry.ts";
import { UsageError } from "../io.ts";
import { type ImportTarget, inBatches, knowServer } from "./import-log.ts";

const LISTED = 20;
/** Days of features in one transaction. */
const SIZES = { alone: 1_000, beside: 10 };

/** Which of the config's servers each server of another monitor is; null = it is left out. */
export type ServerMap = ReadonlyMap<string, MonitoredServer | null>;

/**
 * Finds the servers of the other monitor in the config: by what was said (`FROM=ID`, and `FROM=` to leave one out), else
 * by address. Throws UsageError that names every server that is not found, before anything is stored.
 */
export function matchServers(
  { servers }: Pick<Config, "servers">,
  { servers: names }: Pick<OldMonitor, "servers">,
  said: readonly string[],
): ServerMap {
  const shown = (list: readonly string[]) =>
    list.map((one) => `"${escapeControls(one)}"`).join(", ") || "none";
  const problems: string[] = [];
  const told = new Map<string, string>();
  for (const one of said) {
    const cut = one.lastIndexOf("=");
    if (cut === -1) throw new UsageError(`--server takes FROM=ID with --from, not ${shown([one])}`);
    const [from, id] = [one.slice(0, cut), one.slice(cut + 1)];
    if (!names.includes(from))
      problems.push(`--server names ${shown([from])}, and there are ${shown(names)}`);
    told.set(from, id);
  }
  const map = new Map<string, MonitoredServer | null>();
  for (const name of names) {
    const id = told.get(name);
    const of = servers.filter((server) => (id === undefined ? isAddressOf(name, server) : server.id === id));
    if (id === "") map.set(name, null);
    else if (id !== undefined && of.length === 0)
      problems.push(
        `no server ${shown([id])} in the config (there are ${shown(servers.map((one) => one.id))})`,
      );
    else if (of.length !== 1)
      problems.push(
        `${shown([name])} is the address of ${of.length === 0 ? "no server" : "several servers"}`,
      );
    else if ([...map.values()].includes(of[0] ?? null))
      problems.push(`two of them are the server ${of[0]?.id}`);
    else map.set(name, of[0] ?? null);
  }
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

/**
 * Stores the counts of another monitor, read by clocks in `zone`. What licmond has read itself, or imported before, stands.
 * Rejects with StoreError; a server whose import broke off is imported as a whole the next time.
 */
export async function importCounts(
  { store, isBeside, now, keptFrom, onProgress }: ImportTarget,
  monitor: OldMonitor,
  servers: ServerMap,
  zone: string,
) {
  const writer = createCountWriter(store, now);
  const daemonOf = createDaemonFinder(store.sqlite);
  let done = 0;

  async function importServer(from: string, server: MonitoredServer) {
    const intervalMs = monitor.intervalOf(from);
    /** `unclear`: at times that its clocks do not show, or show twice, or that are still to come; and no counts. */
    const counts = { added: 0, known: 0, old: 0, unclear: 0 };
    const time = { first: null as number | null, last: null as number | null };
    /** Features that are left out, by why. */
    const leftOut = new Map<string, string[]>();
    let features = 0;
    store.transaction(() => knowServer(store, now, server));
    const covered = writer.coverage(server.id);
    const read: Interval[] = [];
    for (const series of monitor.seriesOf(from)) {
      const found = daemonOf(server.id, series);
      const problem = series.problem ?? ("problem" in found ? found.problem : null);
      if (problem !== null) leftOut.getOrInsertComputed(problem, () => []).push(series.feature);
      if (problem !== null || "problem" in found) continue;
      features++;
      const taken = createSeriesDays(covered, intervalMs);
      let lastAt = now;
      for (const { wall, used, total } of monitor.readingsOf(series)) {
        done++;
        const at = wall === null ? null : instantOf(zone, wall * 1_000);
        if (at === null || at > now || !Number.isSafeInteger(used) || used === null || used < 0)
          counts.unclear++;
        else if (at < keptFrom) counts.old++;
        else {
          counts[taken.take(at, { used, total }) ? "added" : "known"]++;
          time.first = Math.min(time.first ?? at, at);
          time.last = Math.max(time.last ?? at, at);
          lastAt = at;
        }
      }
      taken.end(Math.min(now, lastAt + intervalMs));
      read.push(...taken.read);
      const feature = store.transaction(() => writer.feature(server.id, found.daemon, series.feature));
      const days = [...taken.days].map(([day, samples]) => ({ feature, day, samples }));
      await inBatches(store, isBeside ? { writeBack() {} } : null, days, writer.days, SIZES);
      onProgress(done, monitor.count);
    }
    store.transaction(() => writer.cover(server.id, unreadOf(covered, read)));
    return { id: server.id, intervalMs, counts, time, features, leftOut };
  }

  const reports = new Map<string, Awaited<ReturnType<typeof importServer>> | null>();
  for (const [from, server] of servers)
    reports.set(from, server === null ? null : await importServer(from, server));
  return reports;
}

/** Times that lie together, without those that are covered. */
function* unreadOf(covered: readonly Interval[], read: readonly Interval[]): Generator<Interval> {
  const parts = createUnread(covered);
  let union: { from: number; until: number } | null = null;
  for (const { from, until } of read.toSorted((a, b) => a.from - b.from)) {
    if (union !== null && from <= union.until) union.until = Math.max(union.until, until);
    else {
      if (union !== null) yield* parts(union.from, union.until);
      union = { from, until };
    }
  }
  if (union !== null) yield* parts(union.from, union.until);
}

/** Null where the clocks of the zone show it twice or never. */
function instantOf(zone: string, wall: number): number | null {
  const at = fromWallClock(zone, wall);
  return wallClock(zone, at) === wall && secondOccurrence(zone, at) === null ? at : null;
}

/** Finds the daemon of a feature: another monitor mostly knows its name alone. */
function createDaemonFinder(sqlite: ImportTarget["store"]["sqlite"]) {
  const named = sqlite.query<{ daemon: string; name: string }, [string]>(
    "SELECT daemon, name FROM history_features WHERE server_id = ?",
  );
  return (id: string, { feature, daemon }: OldSeries) => {
    const all = named.all(id);
    const own = all.filter(({ name }) => name === feature);
    const daemons = new Set((own.length > 0 ? own : all).map((one) => one.daemon));
    const [only] = daemons;
    if (own.length > 1) return { problem: "of several daemons, whose counts it does not tell apart" };
    if (own.length === 0 && daemon !== null) return { daemon };
    if (only === undefined) return { problem: "whose daemon licmond knows once it has read the server" };
    if (daemons.size === 1) return { daemon: only };
    return { problem: `never read by licmond, so that it may be of any of ${[...daemons].join(", ")}` };
  };
}

export function printCounts(
  reports: Awaited<ReturnType<typeof importCounts>>,
  notes: readonly string[],
  zone: string,
): string {
  const print = (at: number | null) => (at === null ? "?" : iso(at));
  const blocks = [...reports].map(([from, report]) => {
    const name = escapeControls(from);
    if (report === null) return `${name} is left out\n`;
    const { id, counts, time, features, intervalMs, leftOut } = report;
    const missing = [...leftOut].map(([why, names]) => {
      const more = names.length > LISTED ? ", …" : "";
      const list = escapeControls(names.slice(0, LISTED).join(", "));
      return `  left out        ${countOf(names.length, "feature")} ${why}: ${list}${more}\n`;
    });
    return `${name} is ${id}
  time            ${print(time.first)} to ${print(time.last)}, read as times of ${zone}, mostly every ${intervalMs / 60_000} min
  counts          ${counts.added} added, ${counts.known} known before, ${counts.old} too old to be kept, ${counts.unclear} at no or two times of ${zone}, or none
  features        ${features}
${missing.join("")}`;
  });
  return [...blocks, ...notes.map((note) => `${escapeControls(note)}\n`)].join("");
}
