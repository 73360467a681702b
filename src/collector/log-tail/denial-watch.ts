import type { Clock } from "../../domain/clock.ts";
import { countDenials, type DenialCounters } from "../../domain/denial-counters.ts";
import { createEpisodes, type Episode, RETRY_WINDOW_MS } from "../../domain/denial-episodes.ts";
import { denialEvent } from "../../domain/denial-events.ts";
import { countedDenials } from "../../domain/denials.ts";
import type { EventInput } from "../../domain/events.ts";
import type { Log } from "../../domain/log.ts";
import type { ServerPicture } from "../../domain/picture.ts";
import type { MonitoredServer } from "../../domain/server.ts";
import type { DenialSources } from "../../store/denial-sources.ts";
import type { Denials } from "../../store/denials.ts";
import type { Timers } from "../timers.ts";
import { createLogTail, type LogTail, type TailCursor } from "./log-tail.ts";

export const DENIAL_STATES = ["on", "off", "unreadable"] as const;

/** Whether denials of a server can be seen. "Nothing was denied" and "nobody looked" are two things. */
export interface DenialLogging {
  readonly server: string;
  readonly state: (typeof DENIAL_STATES)[number];
  readonly source: "debug_log" | "counters" | null;
  /** Since when without a break, epoch ms; null unless `on`. */
  readonly since: number | null;
  /** Why not, and what would help; null while `on`. */
  readonly message: string | null;
}

/** Sees to it that denials are stored and told: of logs as they grow, and of counters as they are polled. */
export interface DenialWatch {
  start(): void;
  setServers(servers: readonly MonitoredServer[]): void;
  /** A poll's outcome: to be called for every change of a picture. */
  polled(picture: ServerPicture): void;
  logging(): readonly DenialLogging[];
  /** Resolves once what is being read now has been read. */
  idle(): Promise<void>;
  /** Ends the timer, waits for what is being read, and notes how far it came. */
  stop(): Promise<void>;
}

export interface DenialWatchDeps {
  readonly denials: Denials;
  readonly sources: DenialSources;
  /** Commits facts with the events that tell of them: the bus. */
  readonly commit: (work: () => void, events: readonly EventInput[]) => Promise<void>;
  readonly servers: readonly MonitoredServer[];
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
}

const TICK_MS = 2_000;
/** Most that is read of one log in one tick: a long absence is made up for over several. */
const TICK_PIECES = 32;
/** A cursor alone is written this often: what is read again after a crash holds no denial. */
const SAVE_MS = 30_000;

interface Watched {
  readonly server: MonitoredServer;
  readonly tail: LogTail | null;
  since: number | null;
  problem: string | null;
  cursor: TailCursor | null;
  savedAt: number;
  unsaved: boolean;
  atEnd: boolean;
}

export function createDenialWatch(deps: DenialWatchDeps): DenialWatch {
  const { denials, sources, commit, clock, timers, log } = deps;
  const episodes = createEpisodes();
  const counters = new Map<string, DenialCounters>();
  let watched = new Map<string, Watched>();
  let cancel = () => {};
  let stopped = true;
  let running: Promise<void> = Promise.resolve();
  let storeFails = false;

  function watch(server: MonitoredServer): Watched {
    const since = sources.spans(server.id).findLast(({ to }) => to === null)?.from ?? null;
    const cursor = cursorOf(sources.cursor(server.id));
    const follows = server.manager === "flexnet" && server.logFile !== null && server.enabled;
    const tail =
      follows && server.logFile !== null
        ? createLogTail({ ...server, logFile: server.logFile }, cursor?.kind === "log" ? cursor : null)
        : null;
    if (cursor?.kind === "counters" && !counters.has(server.id)) counters.set(server.id, cursor.counters);
    const isSource = tail !== null || counters.has(server.id);
    return {
      ...{ server, tail, since: isSource ? since : null, problem: null },
      ...{ cursor: null, savedAt: 0, unsaved: false, atEnd: true },
    };
  }

  /** Stores what changed, and tells what is settled by `settledBy`. Whatever the store says, nothing is thrown. */
  async function store(settledBy: number, facts: () => void): Promise<boolean> {
    const { changed, settled } = episodes.drain(settledBy);
    try {
      await commit(
        () => {
          facts();
          denials.write(changed.map(stored));
        },
        settled.map(({ denial }) => denialEvent(denial)),
      );
      if (storeFails) log.info("Denials are stored again");
      storeFails = false;
      return true;
    } catch (error) {
      if (!storeFails) log.error("Denials cannot be stored", { error: String(error) });
      storeFails = true;
      episodes.again(changed);
      return false;
    }
  }

  async function read(one: Watched, tail: LogTail): Promise<void> {
    const { id } = one.server;
    for (let pieces = 0; pieces < TICK_PIECES && !stopped; pieces++) {
      const now = clock.now();
      let step: Awaited<ReturnType<LogTail["step"]>>;
      try {
        step = await tail.step(now);
      } catch (error) {
        return fails(one, error instanceof Error ? error.message : String(error), now);
      }
      const { attempts, cursor, atEnd, lost, lastAt } = step;
      for (const attempt of attempts) episodes.take(attempt);
      const moved = cursor !== null && cursor.place.offset !== one.cursor?.place.offset;
      one.cursor = cursor;
      one.atEnd = atEnd;
      one.unsaved ||= moved;
      const began = one.since === null || lost;
      const due = one.unsaved && now - one.savedAt >= SAVE_MS;
      if (lost) log.warn("A part of a debug log was moved away before it was read", { server: id });
      if (one.problem !== null) log.info("The debug log is read again", { server: id });
      one.problem = null;
      if (began) one.since = now;
      const denied = attempts.some(({ kind }) => kind !== "granted");
      if (began || due || denied) {
        const done = await store(atEnd ? now : (lastAt ?? now), () => {
          if (lost) sources.end(id, now);
          if (began) sources.begin(id, now);
          if (cursor !== null) sources.saveCursor(id, cursor);
        });
        if (done) {
          one.unsaved = false;
          one.savedAt = now;
        }
      }
      if (atEnd) return;
      await new Promise<void>((resume) => setImmediate(resume));
    }
  }

  async function fails(one: Watched, problem: string, now: number): Promise<void> {
    const { id } = one.server;
    if (one.problem !== problem) log.warn("Denials of a server cannot be seen", { server: id, problem });
    one.problem = problem;
    if (one.since === null) return;
    one.since = null;
    await store(now, () => sources.end(id, now));
  }

  async function tick(): Promise<void> {
    for (const one of watched.values()) {
      if (stopped) return;
      if (one.tail !== null) await read(one, one.tail);
    }
    // Outcomes settle as time passes, whether or not a log grows.
    const behind = [...watched.values()].some(({ atEnd }) => !atEnd);
    if (!behind && episodes.isWaiting) await store(clock.now(), () => {});
  }

  function arm(): void {
    if (stopped) return;
    cancel = timers.after(TICK_MS, () => {
      running = tick()
        .catch((error: unknown) => log.error("Reading debug logs failed", { error: String(error) }))
        .finally(arm);
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
    // Of a server that is watched no longer nobody knows what it denies.
    const gone = sources.seen().filter((id) => (watched.get(id)?.since ?? null) === null);
    const now = clock.now();
    if (gone.length > 0) {
      void store(now, () => {
        for (const id of gone) sources.end(id, now);
      });
    }
  }

  const begin = () => {
    const recent = clock.now() - 2 * RETRY_WINDOW_MS;
    for (const { denial, told } of denials.unfinished(recent)) episodes.resume(denial, told);
    follow(deps.servers);
  };
  begin();

  return {
    start() {
      stopped = false;
      running = tick()
        .catch((error: unknown) => log.error("Reading debug logs failed", { error: String(error) }))
        .finally(arm);
    },
    setServers: follow,
    polled({ server, daemons, collectedAt, lastPollAt, error }) {
      if (collectedAt === null || collectedAt !== lastPollAt || error !== null) return;
      const one = watched.get(server.id);
      if (one === undefined || one.tail !== null) return;
      const { counters: next, denied, changed } = countDenials(counters.get(server.id) ?? {}, daemons);
      if (!changed) return;
      counters.set(server.id, next);
      const began = one.since === null;
      if (began) one.since = collectedAt;
      const rows = denied.map(({ daemon, count }) => countedDenials(server.id, daemon, count, collectedAt));
      const facts = () => {
        if (began) sources.begin(server.id, collectedAt);
        sources.saveCursor(server.id, { kind: "counters", counters: next });
        denials.write(rows.map((denial) => ({ denial, told: true })));
      };
      commit(facts, rows.map(denialEvent)).catch((cause: unknown) =>
        log.error("Denials cannot be stored", { server: server.id, error: String(cause) }),
      );
    },
    logging: () => [...watched.values()].map(loggingOf),
    idle: () => running,
    async stop() {
      stopped = true;
      cancel();
      await running;
      const unsaved = [...watched.values()].filter((one) => one.unsaved && one.cursor !== null);
      await store(clock.now(), () => {
        for (const { server, cursor } of unsaved) sources.saveCursor(server.id, cursor);
      });
    },
  };
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
    server.manager === "flexnet"
      ? "log_file is not set: denials stand in the vendor daemon's debug log alone"
      : "No poll has yielded counters of denials yet";
  return { server: id, state: "off", source: null, since: null, message };
}

type StoredCursor = TailCursor | { readonly kind: "counters"; readonly counters: DenialCounters };

/** Only this process's own words are in the store: their kind tells what they are. */
function cursorOf(value: unknown): StoredCursor | null {
  if (typeof value !== "object" || value === null || !("kind" in value)) return null;
  return value.kind === "log" || value.kind === "counters" ? (value as StoredCursor) : null;
}

function stored({ denial, told }: Episode) {
  return { denial, told };
}
