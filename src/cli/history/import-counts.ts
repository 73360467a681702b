import type { Config } from "../../config/config.ts";
import { countOf, escapeControls } from "../../domain/plain-text.ts";
import type { MonitoredServer } from "../../domain/server.ts";
import { iso } from "../../domain/time/clock.ts";
import { fromWallClock, secondOccurrence, wallClock } from "../../domain/time/zone.ts";
import type { CountSeries, CountsCsv } from "../../history/moving-in/counts-csv.ts";
import { createCountWriter, createSeriesDays, createUnread } from "../../history/moving-in/write-counts.ts";
import type { Interval } from "../../history/sample-reader.ts";
import { managerOf } from "../../managers/registry.ts";
import { UsageError } from "../io.ts";
import { type ImportTarget, inBatches, knowServer } from "./import-log.ts";

const LISTED = 20;
/** Number of feature days per transaction, if the import runs alone and if it runs next to a daemon. */
const SIZES = { alone: 1_000, beside: 10 };

/** Configured server for each server in the file; null = skipped. */
export type ServerMap = ReadonlyMap<string, MonitoredServer | null>;

/**
 * Finds the configured server for each server in the file: by `--server` (`FROM=ID`, or `FROM=` to skip one), else by
 * address. Throws UsageError with all servers that have no match.
 */
export function matchServers(
  { servers }: Pick<Config, "servers">,
  { servers: names }: Pick<CountsCsv, "servers">,
  said: readonly string[],
): ServerMap {
  const shown = (list: readonly string[]) =>
    list.map((one) => `"${escapeControls(one)}"`).join(", ") || "none";
  const problems: string[] = [];
  const told = new Map<string, string>();
  for (const one of said) {
    const cut = one.lastIndexOf("=");
    if (cut === -1) throw new UsageError(`--server must be FROM=ID with --counts, not ${shown([one])}`);
    const [from, id] = [one.slice(0, cut), one.slice(cut + 1)];
    if (!names.includes(from))
      problems.push(`unknown server ${shown([from])} in --server; the file contains ${shown(names)}`);
    told.set(from, id);
  }
  const map = new Map<string, MonitoredServer | null>();
  for (const name of names) {
    const id = told.get(name);
    const of = servers.filter((server) => (id === undefined ? isAddressOf(name, server) : server.id === id));
    if (id === "") map.set(name, null);
    else if (id !== undefined && of.length === 0)
      problems.push(`unknown server ${shown([id])}; expected one of ${shown(servers.map((one) => one.id))}`);
    else if (of.length !== 1) {
      const which = of.length === 0 ? "no server" : "several servers";
      problems.push(`${shown([name])} is the address of ${which} in the config`);
    } else if ([...map.values()].includes(of[0] ?? null))
      problems.push(`several servers map to ${of[0]?.id}`);
    else map.set(name, of[0] ?? null);
  }
  const advice = "Map a server with --server FROM=ID, or skip it with --server FROM=";
  if (problems.length > 0) throw new UsageError(`${problems.join("; ")}. ${advice}`);
  return map;
}

/** Reports whether a name is the address of a server, or of a member of a triad. */
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
 * Stores counts with local times in `zone`. Keeps readings of licmond and of earlier imports. Rejects with StoreError; the
 * next import repeats a server whose import was interrupted.
 */
export async function importCounts(
  { store, isBeside, now, keptFrom, onProgress }: ImportTarget,
  file: CountsCsv,
  servers: ServerMap,
  zone: string,
) {
  const writer = createCountWriter(store, now);
  const daemonOf = createDaemonFinder(store.sqlite);
  let done = 0;

  async function importServer(from: string, server: MonitoredServer) {
    const intervalMs = file.intervalOf(from);
    /** `unclear` counts rows without a count, and rows with an invalid, ambiguous or future time. */
    const counts = { added: 0, known: 0, old: 0, unclear: 0 };
    const time = { first: null as number | null, last: null as number | null };
    const leftOut = new Map<string, string[]>();
    let features = 0;
    store.transaction(() => knowServer(store, now, server));
    const covered = writer.coverage(server.id);
    const read: Interval[] = [];
    for (const series of file.seriesOf(from)) {
      const found = daemonOf(server.id, series);
      if ("problem" in found) {
        leftOut.getOrInsertComputed(found.problem, () => []).push(series.feature);
        continue;
      }
      features++;
      const taken = createSeriesDays(covered, intervalMs);
      let lastAt = now;
      for (const { wall, used, total } of file.countsOf(series)) {
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
      onProgress(done, file.count);
    }
    store.transaction(() => writer.cover(server.id, unreadOf(covered, read)));
    return { id: server.id, intervalMs, counts, time, features, leftOut };
  }

  const reports = new Map<string, Awaited<ReturnType<typeof importServer>> | null>();
  for (const [from, server] of servers)
    reports.set(from, server === null ? null : await importServer(from, server));
  return reports;
}

/** Yields the union of the `read` intervals, without the parts that are covered. */
function* unreadOf(covered: readonly Interval[], read: readonly Interval[]): Generator<Interval> {
  const parts = createUnread(covered);
  const union: { from: number; until: number }[] = [];
  for (const { from, until } of read.toSorted((a, b) => a.from - b.from)) {
    const last = union.at(-1);
    if (last !== undefined && from <= last.until) last.until = Math.max(last.until, until);
    else union.push({ from, until });
  }
  for (const { from, until } of union) yield* parts(from, until);
}

/** Converts a local time; null if the time occurs twice or never in the zone. */
function instantOf(zone: string, wall: number): number | null {
  const at = fromWallClock(zone, wall);
  return wallClock(zone, at) === wall && secondOccurrence(zone, at) === null ? at : null;
}

/** Finds the daemon of a feature, which most files do not name. */
function createDaemonFinder(sqlite: ImportTarget["store"]["sqlite"]) {
  const named = sqlite.query<{ daemon: string; name: string }, [string]>(
    "SELECT daemon, name FROM history_features WHERE server_id = ?",
  );
  return (id: string, { feature, daemon }: CountSeries) => {
    const all = named.all(id);
    const own = all.filter(({ name }) => name === feature);
    const daemons = new Set((own.length > 0 ? own : all).map((one) => one.daemon));
    const [only] = daemons;
    if (own.length > 1) return { problem: "with several daemons, whose counts the file does not separate" };
    if (own.length === 0 && daemon !== null) return { daemon };
    if (only === undefined) return { problem: "without a known daemon: let licmond poll the server once" };
    if (daemons.size === 1) return { daemon: only };
    return { problem: `unknown to licmond, which may belong to any of ${[...daemons].join(", ")}` };
  };
}

export function printCounts(reports: Awaited<ReturnType<typeof importCounts>>, zone: string): string {
  const print = (at: number | null) => (at === null ? "?" : iso(at));
  const blocks = [...reports].map(([from, report]) => {
    const name = escapeControls(from);
    if (report === null) return `${name}: skipped\n`;
    const { id, counts, time, features, intervalMs, leftOut } = report;
    const missing = [...leftOut].map(([why, names]) => {
      const more = names.length > LISTED ? ", …" : "";
      const list = escapeControls(names.slice(0, LISTED).join(", "));
      return `  skipped         ${countOf(names.length, "feature")} ${why}: ${list}${more}\n`;
    });
    return `${name}: ${id}
  time            ${print(time.first)} to ${print(time.last)}, in ${zone}, mostly every ${intervalMs / 60_000} min
  counts          ${counts.added} added, ${counts.known} already known, ${counts.old} older than the retention, ${counts.unclear} without a count or a valid time
  features        ${features}
${missing.join("")}`;
  });
  return blocks.join("");
}
