import {
  countDenials,
  countedDenials,
  countsByFeature,
  createEpisodes,
  type DenialCounters,
  type LoggingRecord,
  RETRY_WINDOW_MS,
} from "../../domain/denials.ts";
import { messageOf } from "../../domain/error-code.ts";
import { denialEvent, type EventInput } from "../../domain/events.ts";
import type { Log } from "../../domain/log.ts";
import type { ServerPicture } from "../../domain/picture.ts";
import type { MonitoredServer } from "../../domain/server.ts";
import { type Clock, iso, type Timers } from "../../domain/time/clock.ts";
import { nextTurn } from "../../domain/time/slices.ts";
import type { DaemonNotice } from "../../managers/debug-log/debug-log.ts";
import { builtInManager } from "../../managers/registry.ts";
import type { DenialSources, Denials } from "../../store/denials.ts";
import type { CommandRunner } from "../run-command.ts";
import { type CommandPlace, createCommandFollower } from "./follow-command.ts";
import { createFileFollower, type FilePlace } from "./follow-file.ts";
import { createLogTail, type LogTail, type TailCursor, type TailStep } from "./log-tail.ts";

/** Whether denials of a server can be seen. */
export interface DenialLogging extends Omit<LoggingRecord, "since"> {
  readonly since: number | null;
}

interface DenialWatchDeps {
  readonly denials: Denials;
  readonly sources: DenialSources;
  readonly commit: (work: () => void, events: readonly EventInput[]) => Promise<void>;
  readonly servers: readonly MonitoredServer[];
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  /** Runs each server's `log_command`; if absent, these logs are not followed. */
  readonly run?: CommandRunner["run"];
}

const TICK_MS = 2_000;
/** Maximum number of pieces read of one log per tick. */
const TICK_PIECES = 32;
/**
 * Time after which the position in a log is stored even without new denials. After a crash, the lines after
 * the stored position are read again.
 */
const SAVE_MS = 30_000;

interface Watched {
  readonly server: MonitoredServer;
  readonly tail: LogTail | null;
  /** Start of the stored span in which denials are known. */
  since: number | null;
  /** End of the stored span; null if the span continues or its end is already stored. */
  endedAt: number | null;
  problem: string | null;
  cursor: TailCursor | null;
  saved: TailCursor | null;
  savedAt: number;
  atEnd: boolean;
}

/** Stores and publishes denials, from growing debug logs and from polled counters. */
export function createDenialWatch(deps: DenialWatchDeps) {
  const { denials, sources, commit, clock, timers, log } = deps;
  const episodes = createEpisodes();
  /** Stored counters, by server. */
  const counters = new Map<string, DenialCounters>();
  let watched = new Map<string, Watched>();
  let cancel = () => {};
  let stopped = true;
  let running: Promise<void> = Promise.resolve();
  let counted: Promise<void> = Promise.resolve();
  let storeFails = false;
  /** Time at which servers were removed; null once the ends of their spans are stored. */
  let goneAt: number | null = null;

  function watch(server: MonitoredServer): Watched {
    const { id, manager, logFile, logCommand, enabled } = server;
    const cursor = sources.cursor(id) as StoredCursor | null;
    if (cursor?.kind === "counters" && !counters.has(id)) counters.set(id, cursor.counters);
    const debugLog = builtInManager(manager)?.debugLog ?? null;
    const path = logFile ?? (logCommand === null ? null : hashOf(logCommand));
    const saved = cursor?.kind === "log" && cursor.path === path ? cursor : null;
    const isFollowed = debugLog !== null && path !== null && enabled;
    const follower = isFollowed ? followerOf(server, saved) : null;
    const tail = follower && isFollowed ? createLogTail(debugLog, server, path, saved, follower) : null;
    const span = sources.spans(id).findLast(({ to }) => to === null);
    const since = tail !== null || counters.has(id) ? (span?.from ?? null) : null;
    return {
      server,
      tail,
      since,
      endedAt: null,
      problem: null,
      cursor: saved,
      saved,
      savedAt: 0,
      atEnd: true,
    };
  }

  function followerOf({ logFile, logCommand }: MonitoredServer, saved: TailCursor | null) {
    if (logFile !== null) return createFileFollower(logFile, (saved?.place ?? null) as FilePlace | null);
    if (logCommand === null || deps.run === undefined) return null;
    const place = (saved?.place ?? null) as CommandPlace | null;
    return createCommandFollower(logCommand, place, { run: deps.run, clock, timers });
  }

  /**
   * Stores all changes together with the cursors, so that no stored line is read again after a crash.
   * Publishes denials that are final at `settledBy`. Returns whether the commit succeeded; never throws.
   */
  async function store(settledBy: number, facts: () => void): Promise<boolean> {
    const drained = episodes.drain(settledBy);
    // Copy these values, because episodes may change during the commit.
    const rows = drained.changed.map(({ denial, told }) => ({ denial, told }));
    const read = [...watched.values()]
      .filter(isUnsaved)
      .flatMap((one) => (one.cursor === null ? [] : { one, cursor: one.cursor }));
    const done = await committed(
      () => {
        facts();
        for (const { one, cursor } of read) sources.saveCursor(one.server.id, cursor);
        denials.write(rows);
      },
      drained.settled.map(({ denial }) => denialEvent(denial)),
    );
    if (!done) episodes.again(drained);
    for (const { one, cursor } of done ? read : [])
      Object.assign(one, { saved: cursor, savedAt: clock.now() });
    return done;
  }

  async function committed(work: () => void, events: readonly EventInput[]): Promise<boolean> {
    try {
      await commit(work, events);
      if (storeFails) log.info("Denials are stored again");
      storeFails = false;
      return true;
    } catch (error) {
      if (!storeFails) log.error("Denials cannot be stored", { error: messageOf(error) });
      storeFails = true;
      return false;
    }
  }

  async function read(one: Watched, tail: LogTail): Promise<void> {
    const { id } = one.server;
    for (let pieces = 0; pieces < TICK_PIECES && !stopped; pieces++) {
      const now = clock.now();
      let step: TailStep;
      const lostAfter = tail.seenAt() ?? now;
      try {
        step = await tail.next(now);
      } catch (error) {
        return fails(one, messageOf(error), now, lostAfter);
      }
      if (step === null) return;
      const { attempts, notices, cursor, atEnd, lost, lastAt } = step;
      for (const attempt of attempts) episodes.take(attempt);
      logNotices(log, id, notices);
      one.cursor = cursor;
      one.atEnd = atEnd;
      if (lost) {
        one.endedAt ??= lostAfter;
        log.warn(one.server.logFile === null ? MISSED : MOVED_AWAY, { server: id });
      }
      if (one.problem !== null) log.info("The debug log is readable again", { server: id });
      one.problem = null;
      const { endedAt } = one;
      const begins = one.since === null || endedAt !== null;
      const due = isUnsaved(one) && now - one.savedAt >= SAVE_MS;
      // Store denials at once, so that their lines are not read again after a crash.
      if (begins || due || notices.length > 0 || attempts.some(({ kind }) => kind !== "granted")) {
        const done = await store(atEnd ? now : (lastAt ?? now), () => {
          if (endedAt !== null) sources.end(id, endedAt);
          if (begins) sources.begin(id, now);
        });
        if (done && begins) Object.assign(one, { since: now, endedAt: null });
      }
      if (atEnd) return;
      await nextTurn();
    }
  }

  async function fails(one: Watched, problem: string, now: number, seenAt: number): Promise<void> {
    const { id } = one.server;
    if (one.problem !== problem) log.warn("Denials of a server cannot be monitored", { server: id, problem });
    one.problem = problem;
    if (one.since !== null) one.endedAt ??= seenAt;
    one.since = null;
    const { endedAt } = one;
    if (endedAt !== null && (await store(now, () => sources.end(id, endedAt)))) one.endedAt = null;
  }

  async function count(picture: ServerPicture): Promise<void> {
    const { server, collectedAt, lastPollAt, error } = picture;
    if (collectedAt === null || collectedAt !== lastPollAt || error !== null) return;
    const one = watched.get(server.id);
    if (one === undefined || one.tail !== null) return;
    const { counters: next, denied, changed } = countDenials(counters.get(server.id) ?? {}, picture);
    if (!changed) return;
    const rows = denied.map((counted) => countedDenials(server.id, counted, collectedAt));
    const byFeature = countsByFeature(picture);
    const done = await committed(() => {
      if (one.since === null) sources.begin(server.id, collectedAt);
      sources.saveCursor(server.id, { kind: "counters", counters: next, byFeature });
      denials.write(rows.map((denial) => ({ denial, told: true })));
    }, rows.map(denialEvent));
    if (!done) return;
    counters.set(server.id, next);
    one.since ??= collectedAt;
  }

  async function tick(): Promise<void> {
    for (const one of watched.values()) {
      if (stopped) return;
      if (one.tail !== null) await read(one, one.tail);
    }
    if (goneAt !== null) await endGone(goneAt);
    // Denials become final after some time, even if the log does not grow.
    const behind = [...watched.values()].some(({ atEnd }) => !atEnd);
    if (!behind && episodes.isWaiting) await store(clock.now(), () => {});
  }

  function run(): void {
    running = tick()
      .catch((error: unknown) => log.error("Reading debug logs failed", { error: String(error) }))
      .finally(() => {
        if (!stopped) cancel = timers.after(TICK_MS, run);
      });
  }

  function follow(servers: readonly MonitoredServer[]): void {
    const before = watched;
    watched = new Map(
      servers.map((server) => {
        const known = before.get(server.id);
        const same = known !== undefined && Bun.deepEquals(known.server, server);
        return [server.id, same ? known : watch(server)];
      }),
    );
    for (const [id, one] of before) if (watched.get(id) !== one) one.tail?.close();
    goneAt ??= clock.now();
    void endGone(goneAt);
  }

  /** Ends the stored spans of servers that are no longer watched. */
  async function endGone(at: number): Promise<void> {
    const gone = sources.seen().filter((id) => (watched.get(id)?.since ?? null) === null);
    const end = () => {
      for (const id of gone) sources.end(id, at);
    };
    if (gone.length === 0 || (await store(clock.now(), end))) goneAt = null;
  }

  const recent = clock.now() - 2 * RETRY_WINDOW_MS;
  for (const { denial, told } of denials.unfinished(recent)) episodes.resume(denial, told);
  follow(deps.servers);

  return {
    start(): void {
      stopped = false;
      run();
    },
    setServers: follow,
    /** Must be called for every change of a picture. */
    polled(picture: ServerPicture): void {
      counted = counted.then(() => count(picture));
    },
    logging: (): readonly DenialLogging[] => [...watched.values()].map(loggingOf),
    async idle(): Promise<void> {
      await Promise.all([running, counted]);
    },
    async stop(): Promise<void> {
      stopped = true;
      cancel();
      await Promise.all([running, counted]);
      for (const { tail } of watched.values()) tail?.close();
      await store(clock.now(), () => {});
    },
  };
}

const NOTICES: Readonly<Record<DaemonNotice["about"], string>> = {
  exit: "License daemon exited",
  shutdown: "License daemon is shutting down",
  clock: "License daemon reports a clock problem",
};
const MAX_NOTICES = 20;
const MAX_NOTICE = 200;

function logNotices(log: Log, server: string, notices: readonly DaemonNotice[]): void {
  for (const { about, at, daemon, text } of notices.slice(0, MAX_NOTICES))
    log.warn(NOTICES[about], { server, daemon, at: iso(at), line: text.slice(0, MAX_NOTICE) });
  const lines = notices.length - MAX_NOTICES;
  if (lines > 0) log.warn("Further lines about license daemons were skipped", { server, lines });
}

function isUnsaved({ cursor, saved }: Watched): boolean {
  return cursor !== null && cursor.place.offset !== saved?.place.offset;
}

function loggingOf({ server, tail, since, problem }: Watched): DenialLogging {
  const { id } = server;
  if (tail !== null) {
    const state = problem !== null ? "unreadable" : since === null ? "off" : "on";
    const message = problem ?? (since === null ? "The debug log has not been read yet" : null);
    return { server: id, state, source: "debug_log", since, message };
  }
  if (since !== null) return { server: id, state: "on", source: "counters", since, message: null };
  const message =
    (builtInManager(server.manager)?.debugLog ?? null) !== null
      ? "Neither log_file nor log_command is set, and the tool prints no denial counters"
      : "No poll has returned denial counters yet";
  return { server: id, state: "off", source: null, since: null, message };
}

const MOVED_AWAY = "Part of a debug log was moved before it was read";
const MISSED =
  "Lines of a debug log may be missing: its log_command was restarted and did not repeat the last lines";

/** Identifies a command in the store, which must not contain its arguments. */
function hashOf(argv: readonly string[]): string {
  return `command:${Bun.hash(JSON.stringify(argv)).toString(36)}`;
}

type StoredCursor = TailCursor | { readonly kind: "counters"; readonly counters: DenialCounters };
