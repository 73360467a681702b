import { open } from "node:fs/promises";
import type { FleetSettings } from "../config/config.ts";
import { codeOf, messageOf } from "../domain/error-code.ts";
import type { Log } from "../domain/log.ts";
import { type Clock, HOUR_MS, MINUTE_MS, type Timers } from "../domain/time/clock.ts";
import type { Batch, Batches } from "./batch.ts";
import { type Outbox, ROW_BYTES } from "./outbox.ts";
import type { Pushed, postPush } from "./post.ts";
import { type Answer, HEARTBEAT_MS } from "./protocol.ts";
import type { States } from "./states.ts";

const SEND_TIMEOUT_MS = 60_000;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = MINUTE_MS;
const STOP_GRACE_MS = 2_000;
/** Time for which acknowledged facts are kept. A failover of the hub's database may lose commits. */
const KEEP_MS = HOUR_MS;

type Failed = keyof typeof WORDS;

export interface Talk {
  readonly states: Pick<States, "forget">;
  readonly batches: Batches;
}

interface SenderDeps {
  readonly outbox: Outbox;
  readonly hello: () => Promise<Batch>;
  readonly farewell: () => Promise<Batch>;
  /**
   * Called after a hello. Returns null if people are named differently from now on: this began a new epoch,
   * which needs another hello.
   */
  readonly begin: () => Promise<Talk | null>;
  readonly settings: () => FleetSettings;
  readonly post: typeof postPush;
  readonly carryOut: (commands: Answer["commands"]) => void;
  readonly logFile: string;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: () => number;
  readonly log: Log;
}

export type Sender = ReturnType<typeof createSender>;

/** Sends one push at a time, in order. A failed push is rebuilt and retried. */
export function createSender(deps: SenderDeps) {
  const { outbox, settings, clock, timers, log } = deps;
  const ending = new AbortController();
  const pause = createPause(timers);
  /** Acknowledged cursors with their times, oldest first. */
  const past: { readonly at: number; readonly cursor: number }[] = [];
  let removable = 0;
  let state: "waiting" | "connected" | Failed = "waiting";
  let problem: string | null = null;
  let lastContactAt: number | null = null;
  let drainedAt = outbox.drainedAt();
  let failures = 0;
  /** Null = the next push is a hello. */
  let talk: Talk | null = null;
  let sentFacts = 0;
  let sentBytes = 0;
  let allFailures = 0;
  let stopped = false;
  let isHeld = false;
  let running: Promise<void> | null = null;

  async function run(): Promise<void> {
    // Spread the start of many sites.
    await pause.pass(deps.random() * FIRST_PAUSE_MS);
    while (!stopped) {
      let wait: number;
      try {
        wait = await once();
      } catch (error) {
        wait = failed(`Cannot send: ${messageOf(error)}`, "unreachable");
      }
      if (!stopped) await pause.pass(wait);
    }
  }

  /** Returns the delay until the next push. */
  async function once(): Promise<number> {
    const begun = clock.now();
    dropTooMany(begun);
    const batch = talk === null ? await deps.hello() : await talk.batches.next();
    if (batch.facts > 0) await toDisk(deps.logFile);
    const signal = AbortSignal.any([AbortSignal.timeout(SEND_TIMEOUT_MS), ending.signal]);
    isHeld = batch.held;
    const pushed = await deps.post(settings(), batch.body, signal, clock.now);
    isHeld = false;
    if (ending.signal.aborted) return 0;
    if (pushed.outcome !== "taken") return notTaken(pushed);
    return talk === null ? met(pushed.answer) : taken(talk, batch, pushed.answer, begun);
  }

  async function met({ cursor }: Answer): Promise<number> {
    const now = clock.now();
    if (!canGoOnAt(cursor)) return beginEpoch(now);
    // If facts were dropped, do not go back to the hub's cursor: whole days replace the missing facts.
    if (!outbox.hasLost()) setBack(cursor);
    talk = await deps.begin();
    contact(now);
    return 0;
  }

  function beginEpoch(now: number): number {
    const why = "The hub has a different history, or has lost the history; resending everything";
    log.warn(why, { newest: outbox.edges().head });
    outbox.beginEpoch(now);
    talk = null;
    return FIRST_PAUSE_MS * deps.random();
  }

  function taken({ states }: Talk, batch: Batch, answer: Answer, begun: number): number {
    const now = clock.now();
    contact(now);
    sentFacts += batch.facts;
    sentBytes += batch.body.length;
    batch.acknowledged();
    for (const server of answer.wanted) states.forget(server);
    if (batch.gone > 0) log.warn("Retention deleted facts before they were sent", { facts: batch.gone });
    acknowledged(answer.cursor, now);
    if (answer.commands.length > 0) deps.carryOut(answer.commands);
    const asked = answer.retryAfterMs ?? 0;
    if (!batch.more && answer.wanted.length === 0) return Math.max(asked, HEARTBEAT_MS - (now - begun), 0);
    const byRate = (batch.body.length / settings().bytesPerSecond) * 1000;
    return Math.max(asked, byRate - (now - begun), 0);
  }

  function acknowledged(cursor: number, now: number): void {
    const { head } = outbox.edges();
    if (cursor >= head) drainedAt = now;
    if (cursor === outbox.cursor() && outbox.isMet() && !outbox.hasLost()) return;
    if (past.length === 0 || now - (past.at(-1)?.at ?? 0) >= MINUTE_MS || now < (past.at(-1)?.at ?? 0))
      past.push({ at: now, cursor });
    // If the clock was set back, facts are kept longer.
    while (past[0] !== undefined && now - past[0].at > KEEP_MS) removable = past.shift()?.cursor ?? 0;
    outbox.acknowledged(cursor, removable, cursor >= head ? now : null);
  }

  function canGoOnAt(cursor: number): boolean {
    const { oldest, head } = outbox.edges();
    if (cursor > head) return false;
    return outbox.hasLost() || cursor >= outbox.cursor() || (oldest ?? head + 1) <= cursor + 1;
  }

  /** Continues at the hub's cursor, which may be lower or higher than the last known one. */
  function setBack(cursor: number): void {
    const known = outbox.cursor();
    if (cursor === known) return;
    if (cursor < known) log.warn("The hub lost facts; resending them", { from: cursor + 1, to: known });
    outbox.goBack(Math.min(cursor, outbox.edges().head));
  }

  function dropTooMany(now: number): void {
    const { head } = outbox.edges();
    const waiting = head - outbox.cursor();
    if (waiting * ROW_BYTES <= settings().outboxBytes) return;
    log.error("Too many facts are waiting for the hub; dropping them and sending whole days instead", {
      facts: waiting,
      since: new Date(drainedAt).toISOString(),
      fix: "repair the connection to the hub, or raise fleet.outbox_size",
    });
    outbox.drop(drainedAt, now);
    talk?.batches.restartDays();
  }

  function contact(now: number): void {
    if (failures > 0 || state === "conflict" || state === "refused")
      log.info("Connected to the hub again", { failures, waiting: outbox.edges().head - outbox.cursor() });
    failures = 0;
    state = "connected";
    problem = null;
    lastContactAt = now;
  }

  function notTaken(pushed: Exclude<Pushed, { outcome: "taken" }>): number {
    // The hub may have stored this push and newer facts since. Read the days again, because their old rows
    // would undo those facts.
    talk?.batches.restartDays();
    switch (pushed.outcome) {
      case "gap": {
        const now = clock.now();
        contact(now);
        if (!canGoOnAt(pushed.cursor)) return beginEpoch(now);
        setBack(pushed.cursor);
        return FIRST_PAUSE_MS * deps.random();
      }
      case "unknown":
        return beginEpoch(clock.now());
      case "twin":
        return Math.max(3 * HEARTBEAT_MS, failed(pushed.why, "conflict"));
      case "refused":
        return failed(pushed.why, "refused");
      case "failed":
        return Math.max(failed(pushed.why, "unreachable"), pushed.retryAfterMs ?? 0);
    }
  }

  /** Logs the reason once and returns the delay until the next try. */
  function failed(why: string, as: Failed): number {
    const longest = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(failures, 20), LONGEST_PAUSE_MS);
    if (failures === 0 || state !== as) {
      const tell = as === "unreachable" ? log.warn : log.error;
      tell(WORDS[as], { error: why });
    }
    failures++;
    allFailures++;
    state = as;
    problem = why;
    // Randomize half of the delay, because many sites may have lost the same hub.
    return longest * (0.5 + deps.random() / 2);
  }

  return {
    start(): void {
      running ??= run();
    },
    wake: (): void => pause.end(),
    status() {
      const waitingFacts = Math.max(0, outbox.edges().head - outbox.cursor());
      return {
        state,
        problem,
        lastContactAt,
        waitingFacts,
        waitingBytes: waitingFacts * ROW_BYTES,
        waitingSince: waitingFacts === 0 ? null : drainedAt,
        daysLeft: outbox.daysLeft(),
        dropped: outbox.hasLost(),
        sentFacts,
        sentBytes,
        failures: allFailures,
      };
    },
    drainedAt: () => drainedAt,
    lastContactAt: () => lastContactAt,
    async stop(): Promise<void> {
      stopped = true;
      pause.end();
      if (isHeld) ending.abort();
      const cancel = timers.after(STOP_GRACE_MS, () => ending.abort());
      await running;
      cancel();
      if (talk === null || state !== "connected") return;
      const { body } = await deps.farewell();
      await deps.post(settings(), body, AbortSignal.timeout(STOP_GRACE_MS), clock.now);
    },
  };
}

const WORDS = {
  unreachable: "Cannot push to the hub; facts wait, retrying",
  refused: "The hub refuses this site; facts wait",
  conflict: "Another licmond pushes for this site, so this one's facts wait: give each machine its own site",
} as const;

/**
 * Syncs the facts of a push to disk before they are sent: after a power cut, other facts would reuse their
 * numbers. The write-ahead log may be opened here, because SQLite keeps no locks on it.
 */
async function toDisk(path: string): Promise<void> {
  try {
    const file = await open(path, "r+");
    try {
      await file.datasync();
    } finally {
      await file.close();
    }
  } catch (error) {
    // No such file: the log was already checkpointed, or this file system has none.
    if (codeOf(error) !== "ENOENT") throw error;
  }
}

function createPause(timers: Timers) {
  let end: (() => void) | null = null;
  let isDue = false;
  return {
    async pass(ms: number): Promise<void> {
      if (isDue) {
        isDue = false;
        return;
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      const cancel = timers.after(ms, resolve);
      end = resolve;
      await promise;
      end = null;
      cancel();
    },
    end(): void {
      if (end === null) isDue = true;
      else end();
    },
  };
}
