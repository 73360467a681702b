import { escapeControls, maskSecrets } from "../../domain/plain-text.ts";
import type { Clock, Timers } from "../../domain/time/clock.ts";
import type { CommandResult, CommandRunner } from "../run-command.ts";
import { type Follower, MAX_LINE } from "./follow-file.ts";

/** Position in a command's output. Restarted commands usually repeat their last lines. Plain JSON. */
export interface CommandPlace {
  readonly offset: number;
  /** Hashes of the last lines read, newest last. */
  readonly lines: readonly string[];
  /** When the log was last followed, epoch ms. */
  readonly seenAt: number;
}

interface CommandFollowerDeps {
  readonly run: CommandRunner["run"];
  readonly clock: Clock;
  readonly timers: Timers;
}

/** Maximum number of remembered lines; `tail` repeats only ten by default. */
const REMEMBERED = 64;
/**
 * A started command first prints old lines, until it is silent for QUIET_MS, at most until AT_ONCE_MS after
 * its start.
 */
const QUIET_MS = 1_000;
const AT_ONCE_MS = 30_000;
/**
 * The wait before a restart doubles from FIRST_WAIT_MS to LONGEST_WAIT_MS. A run of at least STEADY_MS
 * resets the wait.
 */
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;
const STEADY_MS = 60_000;
/** Maximum number of queued bytes. Beyond this limit, the pipe fills up and blocks the command. */
const MAX_QUEUED = 1024 * 1024;
const HEAD = 4096;
const LF = 0x0a;

/**
 * Follows a log through a command that prints the log as it grows, e.g. `ssh lic1 tail -F
 * /var/log/acmed.log`. The first output after the first start is old and skipped. If a restarted command
 * repeats the last lines, reading continues after these lines, without loss or duplicates. Otherwise lines
 * may be missing: the gap is reported as `lost`, and the first output is skipped because its time is
 * unknown.
 */
export function createCommandFollower(
  argv: readonly string[],
  from: CommandPlace | null,
  { run, clock, timers }: CommandFollowerDeps,
): Follower<CommandPlace> {
  const name = `log_command (${argv[0]})`;
  const closing = new AbortController();
  let place = from;
  let seenAt = from?.seenAt ?? null;
  let problem: string | null = null;
  const queue: Uint8Array[] = [];
  let queued = 0;
  let goOn = () => {};
  /** State of the running process. `own` has hashes of its last lines, `begun` the incomplete line. */
  let head = new Uint8Array(0);
  let own: string[] = [];
  let ownCount = 0;
  let begun = new Uint8Array(0);
  let startedAt = 0;
  let printedAt: number | null = null;
  let isLive = false;
  let hasResumed = false;
  let hasLost = false;
  let cancelWait = () => {};
  let lastSaid = "";

  async function follow(): Promise<void> {
    const { signal } = closing;
    for (let wait = FIRST_WAIT_MS; !signal.aborted; ) {
      [head, own, ownCount, begun] = [new Uint8Array(0), [], 0, new Uint8Array(0)];
      [startedAt, printedAt, lastSaid] = [clock.now(), null, ""];
      const taking = { onStdout: take, onStderr: say };
      const result = await run({ argv, env: {}, timeoutMs: null, signal, endEscaped: true, ...taking });
      if (signal.aborted) return;
      [isLive, printedAt] = [false, null];
      problem = endOf(result, lastSaid, name);
      wait = clock.now() - startedAt >= STEADY_MS ? FIRST_WAIT_MS : Math.min(wait * 2, LONGEST_WAIT_MS);
      const { promise, resolve } = Promise.withResolvers<void>();
      cancelWait = resolve;
      timers.after(wait, resolve);
      await promise;
      // The comparison uses lines that were read, so wait until the queue is empty.
      while (queued > 0 && !signal.aborted) await new Promise<void>((resolve) => (goOn = resolve));
    }
  }

  function take(chunk: Uint8Array): Promise<void> | undefined {
    const now = clock.now();
    settle(printedAt === null && now - startedAt >= AT_ONCE_MS);
    printedAt = now;
    if (head.length < HEAD) head = Buffer.concat([head, chunk], Math.min(HEAD, head.length + chunk.length));
    const all = Buffer.concat([begun, chunk]);
    const lastEnd = all.lastIndexOf(LF) + 1;
    const end = lastEnd === 0 && all.length > MAX_LINE ? all.length : lastEnd;
    begun = new Uint8Array(all.subarray(end));
    const lines = all.subarray(0, end);
    const fresh = isLive ? lines : behindKnown(lines);
    if (fresh.length === 0) return;
    queue.push(fresh);
    queued += fresh.length;
    if (queued < MAX_QUEUED) return;
    return new Promise((resolve) => (goOn = resolve));
  }

  /** Returns the lines after the known ones, or nothing while the printed lines may be old. */
  function behindKnown(lines: Uint8Array): Uint8Array {
    const known = place?.lines ?? [];
    let end = -1;
    eachLine(lines, (line, next) => {
      own.push(hashOf(line));
      if (own.length > REMEMBERED) own.shift();
      ownCount++;
      if (own.at(-1) !== known.at(-1)) return;
      const wanted = known.slice(-Math.min(known.length, ownCount));
      if (wanted.every((hash, index) => hash === own.at(index - wanted.length))) end = next;
    });
    if (end === -1) return lines.subarray(lines.length);
    [isLive, hasResumed, problem] = [true, true, null];
    return lines.subarray(end);
  }

  /** Ends the first phase, in which printed lines are old and skipped. */
  function settle(isLate = false): void {
    const now = clock.now();
    const isOver = printedAt !== null && (now - printedAt >= QUIET_MS || now - startedAt >= AT_ONCE_MS);
    if (isLive || !(isOver || isLate)) return;
    hasLost = place !== null;
    [isLive, problem] = [true, null];
    place = { offset: (place?.offset ?? 0) + 1, lines: [...own], seenAt: now };
  }

  function say(chunk: Uint8Array): undefined {
    const lines = Buffer.from(chunk).toString().trimEnd().split("\n");
    lastSaid = escapeControls(maskSecrets(lines.at(-1) ?? "")).slice(0, 300) || lastSaid;
  }

  void follow();
  return {
    name,
    async next(_, now) {
      settle();
      const bytes = queue.shift();
      if (bytes === undefined && !isLive) {
        if (problem !== null) throw new Error(problem);
        return null;
      }
      if (isLive) seenAt = now;
      const lost = hasLost;
      const resumed = hasResumed;
      [hasLost, hasResumed] = [false, false];
      if (bytes === undefined) return { bytes: new Uint8Array(0), atEnd: true, lost, resumed };
      queued -= bytes.length;
      if (queued < MAX_QUEUED) goOn();
      const lines: string[] = [...(place?.lines ?? [])];
      eachLine(bytes, (line) => void lines.push(hashOf(line)));
      const offset = (place?.offset ?? 0) + bytes.length;
      place = { offset, lines: lines.slice(-REMEMBERED), seenAt: seenAt ?? now };
      return { bytes, atEnd: queued === 0, lost, resumed };
    },
    head: async () => head,
    get place() {
      return place;
    },
    seenAt: () => seenAt,
    close() {
      closing.abort();
      cancelWait();
      goOn();
    },
  };
}

/** Calls `line` for each line without its end, and with the start of the next line. */
function eachLine(bytes: Uint8Array, line: (line: Uint8Array, next: number) => void): void {
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf(LF, at);
    const next = end === -1 ? bytes.length : end + 1;
    line(bytes.subarray(at, end === -1 ? next : end), next);
    at = next;
  }
}

function hashOf(line: Uint8Array): string {
  return Bun.hash(line).toString(36);
}

function endOf(result: CommandResult, lastSaid: string, name: string): string {
  const again = "It will be restarted.";
  if (!result.started) return `${name} cannot be started: ${result.failure.message} ${again}`;
  const { exitCode, signal } = result;
  const how = exitCode === null ? `was killed by ${signal ?? "a signal"}` : `exited with code ${exitCode}`;
  return `${name} ${how}${lastSaid === "" ? "" : `: ${lastSaid.replace(/[.]$/, "")}`}. ${again}`;
}
