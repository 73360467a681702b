import { attemptOf } from "../../collector/log-tail/log-tail.ts";
import { createEpisodes, type Episode, RETRY_WINDOW_MS } from "../../domain/denials.ts";
import type { MonitoredServer } from "../../domain/server.ts";
import { createImportedFeatures, createSessionImport } from "../../history/sessions/sessions.ts";
import {
  createPairing,
  type DebugLog,
  type DebugLogCounts,
  noCounts,
  type PairedSession,
} from "../../managers/debug-log/debug-log.ts";
import { createLineCutter } from "../../managers/debug-log/lines.ts";
import { createDenialSources, createDenials } from "../../store/denials.ts";
import type { Store } from "../../store/open/open.ts";
import { createServers } from "../../store/servers.ts";
import type { DatedLog } from "./import-sources.ts";

export type ImportReport = Awaited<ReturnType<typeof importLogs>>;

export interface ImportTarget {
  readonly store: Store;
  /** Whether a daemon uses the same database. If so, transactions are short, with pauses in between. */
  readonly isBeside: boolean;
  readonly now: number;
  /** Start of the retention in epoch ms. Sessions and denials that ended earlier are left out. */
  readonly keptFrom: number;
  readonly onProgress: (done: number, of: number) => void;
}

/** Time since the last attempt after which an episode of denials is closed. */
const OVER_MS = 2 * RETRY_WINDOW_MS;
const MAX_SAMPLES = 20;
/** Maximum number of pieces of a log to read before denials are written, even if there are few sessions. */
const MAX_PIECES = 64;
/**
 * Maximum time between the end of a log and the start of the next one. Daemons print a date every few
 * hours, so a longer gap means missing lines.
 */
const GAP_MS = 13 * 3_600_000;

/**
 * Reads debug logs of one server, oldest first, into sessions and denials. Skips stored rows. Rejects with
 * StoreError and LogReadError; rows stored before the error are kept.
 */
export async function importLogs(
  { store, isBeside, now, keptFrom, onProgress }: ImportTarget,
  server: MonitoredServer,
  debugLog: DebugLog,
  given: readonly DatedLog[],
) {
  const sessions = createSessionImport(store);
  if (isBeside) sessions.beside();
  else sessions.alone();
  const denials = createDenials(store);
  const noteFeatures = createImportedFeatures(store);
  const other = isBeside ? sessions : null;
  const enough = isBeside ? GATHERED_BESIDE : ROWS.alone;
  const observedFrom = sessions.observedFrom(server.id);
  store.transaction(() => knowServer(store, now, server));

  const report = {
    counts: noCounts(),
    /** `old` counts sessions and denials that ended before the retention. */
    sessions: { added: 0, known: 0, observed: 0, old: 0 },
    denials: { added: 0, widened: 0, known: 0, old: 0 },
    from: null as number | null,
    to: null as number | null,
  };
  let waiting: PairedSession[] = [];
  let unwritten = 0;
  const pairing = createPairing((session) => waiting.push(session));
  const episodes = createEpisodes();
  const going = new Set<Episode>();

  async function write(settledBy: number): Promise<void> {
    unwritten = 0;
    const kept = waiting.filter(({ endedAt }) => endedAt >= keptFrom);
    report.sessions.old += waiting.length - kept.length;
    const fresh = kept.filter(({ endedAt }) => observedFrom === null || endedAt <= observedFrom);
    report.sessions.observed += kept.length - fresh.length;
    waiting = [];
    await inBatches(store, other, fresh, (rows) => {
      const added = sessions.add(server.id, rows);
      report.sessions.added += added;
      report.sessions.known += rows.length - added;
    });
    const liveFrom = isBeside ? now - 2 * RETRY_WINDOW_MS : Number.POSITIVE_INFINITY;
    for (const episode of episodes.drain(settledBy).changed) going.add(episode);
    const over = [...going].filter(({ denial }) => settledBy - denial.until > OVER_MS);
    for (const episode of over) going.delete(episode);
    const lasting = over.filter(({ denial }) => denial.at >= keptFrom);
    report.denials.old += over.length - lasting.length;
    await inBatches(store, other, lasting, (rows) => {
      for (const { denial, times } of rows) report.denials[denials.absorb(denial, times, liveFrom)]++;
      const named = rows.map(({ denial }) => denial);
      noteFeatures(server.id, named);
    });
  }
  const logs = given.toSorted((a, b) => (a.firstAt ?? 0) - (b.firstAt ?? 0));
  const total = logs.reduce((sum, { source }) => sum + source.size, 0);
  let done = 0;
  let lastAt: number | null = null;
  for (const { source, day, inferred, firstAt } of logs) {
    // After a gap, end the open checkouts before the checkouts of the new log are added.
    if (lastAt !== null && firstAt !== null && (firstAt - lastAt > GAP_MS || firstAt < lastAt))
      pairing.gap(lastAt);
    const reader = debugLog.createReader({
      zone: server.timezone,
      inferred,
      hold: true,
      start: { day, second: -1, daemons: [] },
      onEvent: (event) => {
        pairing.take(event);
        const attempt = attemptOf(server.id, event);
        if (attempt !== null) episodes.take(attempt);
      },
    });
    const cutter = createLineCutter();
    for await (const piece of source.pieces((bytes) => (done += bytes))) {
      cutter.feed(piece, reader.line);
      onProgress(done, total);
      unwritten++;
      if (waiting.length >= enough || unwritten >= MAX_PIECES) await write(reader.lastAt ?? 0);
    }
    cutter.finish(reader.line);
    reader.flush();
    addCounts(report.counts, reader.counts);
    lastAt = reader.lastAt ?? lastAt;
    if (reader.firstAt !== null) report.from = Math.min(report.from ?? reader.firstAt, reader.firstAt);
    if (reader.lastAt !== null) report.to = Math.max(report.to ?? reader.lastAt, reader.lastAt);
    const [first, last] = [Math.max(reader.firstAt ?? 0, keptFrom), reader.lastAt];
    if (last !== null && last > first)
      store.transaction(() => createDenialSources(store).cover(server.id, first, last));
  }
  if (lastAt !== null) pairing.gap(lastAt);
  await write(Number.POSITIVE_INFINITY);
  return { ...report, pairing: pairing.counts };
}

/** Stores the server, which history needs. Runs in the caller's transaction. */
export function knowServer(store: Store, now: number, server: MonitoredServer): void {
  const servers = createServers({ store, clock: { now: () => now } });
  if (!servers.list().some(({ id }) => id === server.id)) servers.configured([server]);
}

function addCounts(sum: DebugLogCounts, more: DebugLogCounts): void {
  const { events, samples, ...numbers } = more;
  for (const [name, value] of Object.entries(numbers)) sum[name as keyof typeof numbers] += value;
  for (const [kind, value] of Object.entries(events)) sum.events[kind as keyof typeof events] += value;
  sum.samples.push(...samples.slice(0, Math.max(0, MAX_SAMPLES - sum.samples.length)));
}

/**
 * Number of rows per transaction, if the import runs alone and if it runs next to a daemon. A daemon cannot
 * write during a transaction, which must therefore take only a few ms.
 */
const ROWS = { alone: 20_000, beside: 200 };
const GATHERED_BESIDE = 4_000;
const LONGEST_BREAK_MS = 20;

/**
 * Works on rows in transactions. Large transactions are faster, because each page is written once. Next to
 * a daemon, transactions are small, with pauses of equal length in between, and the write-ahead log is
 * checkpointed at the end. Rejects with StoreError.
 */
export async function inBatches<Row>(
  store: Store,
  beside: { writeBack(): void } | null,
  rows: readonly Row[],
  work: (some: readonly Row[]) => void,
  sizes = ROWS,
): Promise<void> {
  const size = beside === null ? sizes.alone : sizes.beside;
  for (let at = 0; at < rows.length; at += size) {
    const startedAt = performance.now();
    store.transaction(() => work(rows.slice(at, at + size)));
    if (beside === null) continue;
    await Bun.sleep(Math.min(LONGEST_BREAK_MS, Math.max(1, performance.now() - startedAt)));
  }
  beside?.writeBack();
}
