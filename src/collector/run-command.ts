import { readdirSync, readFileSync } from "node:fs";
import { explainStart, locate, type StartFailure } from "./tool.ts";

/** The largest output of a real tool that we have seen is under 1 MB. */
export const DEFAULT_MAX_BYTES = 16 * 1024 * 1024;
const MAX_STDERR_BYTES = 1024 * 1024;

export interface CommandRequest {
  /** The program and its arguments. No shell will see them. */
  readonly argv: readonly string[];
  /** Additions to the scrubbed environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** What it reads on stdin; nothing by default. */
  readonly stdin?: Uint8Array;
  /** Cap of stdout; default 16 MiB. */
  readonly maxBytes?: number;
  /** What becomes of a command whose stdout is longer: it is killed (default), or goes on and the rest is thrown away. */
  readonly onOverflow?: "kill" | "discard";
  /** Kills the command. */
  readonly signal?: AbortSignal;
  /**
   * Ends processes of the command that left its group (setsid), too. Not for a command that may start a service: that
   * is to outlive it.
   */
  readonly endEscaped?: boolean;
}

export type CommandResult = CommandRun | CommandNotStarted;

interface CommandNotStarted {
  readonly started: false;
  readonly argv: readonly string[];
  readonly failure: StartFailure;
}

export interface CommandRun {
  readonly started: true;
  readonly argv: readonly string[];
  /** Null when a signal ended it, or when it could not be killed. */
  readonly exitCode: number | null;
  /** Name of the signal that ended it, e.g. `SIGKILL`. */
  readonly signal: string | null;
  readonly stdout: Uint8Array;
  /** Cut at 1 MiB. */
  readonly stderr: Uint8Array;
  /** stdout was longer than the cap: `stdout` is its first 1 MiB, or the cap if that is less. */
  readonly truncated: boolean;
  readonly stderrTruncated: boolean;
  readonly timedOut: boolean;
  /** Ended by its AbortSignal or by `stop()`. */
  readonly aborted: boolean;
  /** It survived SIGKILL (e.g. it hangs in a dead network file system) and was left behind. */
  readonly abandoned: boolean;
  readonly durationMs: number;
}

export interface CommandRunner {
  /** Never rejects. */
  run(request: CommandRequest): Promise<CommandResult>;
  /** Commands running now. */
  readonly running: number;
  /** Kills everything that runs, waits for it, and starts nothing any more. */
  stop(): Promise<void>;
  /** For a process that ends at once: SIGKILL to everything that runs. Nothing is waited for, or started any more. */
  killNow(): void;
}

interface CommandRunnerDeps {
  /** $PATH and $HOME of the daemon; nothing else of its environment reaches a tool. */
  readonly path: string;
  readonly home: string;
  /** Time between SIGTERM and SIGKILL. */
  readonly graceMs?: number;
  /** How long a silent pipe is waited for that a grandchild keeps open after the command has ended. */
  readonly quietMs?: number;
  /** How long a killed command may take to be gone. */
  readonly killWaitMs?: number;
}

type Child = Bun.Subprocess<"ignore" | Uint8Array, "pipe", "pipe">;

type EndCause = "timeout" | "overflow" | "abort";

/**
 * Runs tools that may hang, spam, fork or die: each in a process group of its own, which is killed as a whole.
 * (Bun's own `timeout` and `signal` reach only the direct child, and reading its pipe then waits for the grandchild.)
 */
export function createCommandRunner(deps: CommandRunnerDeps): CommandRunner {
  const { path, home, graceMs = 500, quietMs = 500, killWaitMs = 1000 } = deps;
  const running = new Map<number, { endNow(): void; abort(): void; done: Promise<unknown> }>();
  let nextId = 0;
  let stopped = false;

  async function run(request: CommandRequest): Promise<CommandResult> {
    const { argv, signal } = request;
    const [tool = ""] = argv;
    if (stopped || signal?.aborted) return notStarted(argv, ABORTED);
    // Found here and not by the spawn: it would look in the daemon's own start-up $PATH.
    const program = locate(tool, path);
    if (program === null) return notStarted(argv, explainStart(new Error("not found"), tool, path));
    const startedAt = performance.now();
    const mark = request.endEscaped ? crypto.randomUUID() : null;
    let child: Child;
    try {
      child = Bun.spawn([program, ...argv.slice(1)], {
        // LC_ALL=C: parsers know the tools' English words only.
        env: {
          PATH: path,
          HOME: home,
          LC_ALL: "C",
          LANG: "C",
          LANGUAGE: "C",
          ...request.env,
          ...(mark && { [MARK]: mark }),
        },
        stdin: request.stdin ?? "ignore",
        stdout: "pipe",
        stderr: "pipe",
        detached: true,
      });
    } catch (error) {
      return notStarted(argv, explainStart(error, tool, path));
    }

    const ending = createEnding(child.pid, graceMs, killWaitMs);
    const stdout = readCapped(child.stdout, request.maxBytes ?? DEFAULT_MAX_BYTES, () => {
      if (request.onOverflow !== "discard") ending.begin("overflow");
    });
    const stderr = readCapped(child.stderr, MAX_STDERR_BYTES);
    const timer = setTimeout(() => ending.begin("timeout"), request.timeoutMs);
    const abort = () => ending.begin("abort");
    signal?.addEventListener("abort", abort, { once: true });

    const id = nextId++;
    const endNow = () => {
      signalGroup(child.pid, "SIGKILL");
      if (mark !== null) killMarked(mark);
    };
    const done = settle(child, stdout, stderr, ending, endNow);
    running.set(id, { endNow, abort, done });
    try {
      const abandoned = await done;
      return {
        started: true,
        argv,
        exitCode: child.exitCode,
        signal: signalName(child.signalCode),
        stdout: stdout.bytes(),
        stderr: stderr.bytes(),
        truncated: stdout.truncated,
        stderrTruncated: stderr.truncated,
        timedOut: ending.cause === "timeout",
        aborted: ending.cause === "abort",
        abandoned,
        durationMs: performance.now() - startedAt,
      };
    } finally {
      running.delete(id);
      clearTimeout(timer);
      ending.clear();
      signal?.removeEventListener("abort", abort);
    }
  }

  /** Waits for the command and its pipes, but for nobody longer than needed. True when it could not be killed. */
  async function settle(
    child: Child,
    stdout: CappedReader,
    stderr: CappedReader,
    ending: Ending,
    endNow: () => void,
  ): Promise<boolean> {
    const pipesEnded = Promise.all([stdout.ended, stderr.ended]);
    const exited = child.exited.then(() => true);
    const gone = await Promise.race([exited, ending.gaveUp.then(() => false)]);
    if (!gone) {
      child.unref();
    } else if (ending.cause === null) {
      const silence = watchSilence(() => stdout.chunks + stderr.chunks, quietMs);
      await Promise.race([pipesEnded, silence.came, ending.gaveUp]);
      silence.clear();
    }
    // Nothing of the group outlives its command. The number cannot mean another group yet: it was freed just now.
    endNow();
    const closed = await within(killWaitMs, pipesEnded);
    if (!closed) {
      // Somebody left the group and keeps the pipe: what was read so far is the output.
      stdout.letGo();
      stderr.letGo();
    }
    return !gone;
  }

  return {
    run,
    get running() {
      return running.size;
    },
    async stop() {
      stopped = true;
      const all = [...running.values()];
      for (const each of all) each.abort();
      await Promise.allSettled(all.map((each) => each.done));
    },
    killNow() {
      stopped = true;
      for (const { endNow } of running.values()) endNow();
    },
  };
}

/** A signal without a name of its own (real-time signals) is called by its number. */
function signalName(signal: NodeJS.Signals | number | null): string | null {
  return typeof signal === "number" ? `SIG${signal}` : signal;
}

const ABORTED: StartFailure = {
  reason: "aborted",
  path: null,
  message: "It was called off before it started.",
  fix: null,
};

function notStarted(argv: readonly string[], failure: StartFailure): CommandNotStarted {
  return { started: false, argv, failure };
}

interface Ending {
  /** Why the command is being ended from here; null while it runs or when it ended by itself. */
  readonly cause: EndCause | null;
  /** Settles when even SIGKILL did not help in time. */
  readonly gaveUp: Promise<void>;
  begin(cause: EndCause): void;
  clear(): void;
}

/** SIGTERM to the group, SIGKILL after the grace, and an end to the waiting after that. */
function createEnding(pid: number, graceMs: number, killWaitMs: number): Ending {
  const { promise: gaveUp, resolve: giveUp } = Promise.withResolvers<void>();
  let cause: EndCause | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const kill = () => {
    signalGroup(pid, "SIGKILL");
    timer = setTimeout(giveUp, killWaitMs);
  };
  return {
    get cause() {
      return cause;
    },
    gaveUp,
    begin(why) {
      if (cause !== null) return;
      cause = why;
      // Who spams gets no time to go on.
      if (why === "overflow") return kill();
      signalGroup(pid, "SIGTERM");
      timer = setTimeout(kill, graceMs);
    },
    clear: () => clearTimeout(timer),
  };
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // ESRCH: all gone already. EPERM: a set-uid tool, which the wait for its end will show as abandoned.
  }
}

/** Settles once `count` has stood still for `ms`. */
function watchSilence(count: () => number, ms: number): { came: Promise<void>; clear(): void } {
  const { promise: came, resolve } = Promise.withResolvers<void>();
  let last = count();
  const timer = setInterval(() => {
    const now = count();
    if (now === last) resolve();
    last = now;
  }, ms);
  return { came, clear: () => clearInterval(timer) };
}

async function within(ms: number, promise: Promise<unknown>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  const inTime = await Promise.race([promise.then(() => true), late]);
  clearTimeout(timer);
  return inTime;
}

/** The variable by which every process of a command is known, whatever process group or session it makes for itself. */
const MARK = "LICMOND_RUN";

/**
 * Kills the processes that have `LICMOND_RUN` with this value in their environment. A process that called setsid(2) is no
 * longer in its command's group, and a signal to the group does not reach it.
 *
 * Not found are processes that dropped the variable, and those whose environment the kernel does not show to their own
 * user: set-user-ID programs, and programs that may be executed and not read (proc_pid_environ(5)).
 */
function killMarked(value: string): void {
  const killed = new Set<number>();
  for (;;) {
    // Once more after each find: what was just killed may have started another before.
    const found = candidates().filter((pid) => !killed.has(pid) && isMarked(pid, value));
    if (found.length === 0) return;
    for (const pid of found) {
      killed.add(pid);
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // ESRCH: it ended by itself.
      }
    }
  }
}

function isMarked(pid: number, value: string): boolean {
  return read(`/proc/${pid}/environ`).split("\0").includes(`${MARK}=${value}`);
}

/**
 * Processes among which those of our commands are: under systemd the few of our own cgroup, which no process leaves
 * without privileges (cgroups(7)), else all of the host or container.
 */
function candidates(): number[] {
  for (const line of read("/proc/self/cgroup").split("\n")) {
    const [, controllers, ...rest] = line.split(":");
    const path = rest.join(":");
    const roots = controllers === "" ? ["", "/unified"] : controllers === "name=systemd" ? ["/systemd"] : [];
    for (const root of roots) {
      const pids = read(`/sys/fs/cgroup${root}${path}/cgroup.procs`).split("\n").map(Number);
      // Where another's tree is shown under this path, we are not in it.
      if (pids.includes(process.pid)) return pids.filter((pid) => pid > 0);
    }
  }
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0);
}

function read(file: string): string {
  try {
    return readFileSync(file, "latin1");
  } catch {
    // Gone meanwhile, or of another user.
    return "";
  }
}

/** Bytes at most that are kept of a stream longer than its cap: enough to see what it was. */
const HEAD_BYTES = 1024 * 1024;

/** A whole stream up to a cap, and only the head of a longer one; the rest is read and thrown away. */
interface CappedReader {
  /** Settles at the end of the stream, or when it was let go. Never rejects. */
  readonly ended: Promise<void>;
  /** True when there was more than the cap. */
  readonly truncated: boolean;
  /** Counts every chunk, also those thrown away: tells whether anybody still writes. */
  readonly chunks: number;
  /** Stops reading; what was read stays. */
  letGo(): void;
  /** The stream, or its first 1 MiB (or cap, if that is less) when it was longer than the cap. */
  bytes(): Uint8Array;
}

/**
 * Reads `stream` to its end, so that a pipe nobody reads cannot pile up in memory.
 * `onOverflow` is called once, with the first byte beyond `maxBytes`.
 */
function readCapped(
  stream: ReadableStream<Uint8Array>,
  maxBytes: number,
  onOverflow: () => void = () => {},
): CappedReader {
  const reader = stream.getReader();
  let kept: Uint8Array[] = [];
  let length = 0;
  let truncated = false;
  let chunks = 0;

  const take = (chunk: Uint8Array) => {
    chunks++;
    if (truncated) return;
    kept.push(chunk);
    length += chunk.length;
    if (length <= maxBytes) return;
    truncated = true;
    length = Math.min(maxBytes, HEAD_BYTES);
    // A copy, so that the head does not hold the chunks.
    kept = [Buffer.concat(kept, length)];
    onOverflow();
  };

  const pump = async () => {
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        take(value);
      }
    } catch {
      // A pipe that breaks ends the output like one that closes: the exit status tells the rest.
    }
  };

  return {
    ended: pump(),
    get truncated() {
      return truncated;
    },
    get chunks() {
      return chunks;
    },
    letGo() {
      reader.cancel().catch(() => {});
    },
    bytes() {
      const [only] = kept;
      if (kept.length === 1 && only !== undefined) return only;
      const all = Buffer.concat(kept, length);
      // Not held twice while the caller works on it.
      kept = [all];
      return all;
    },
  };
}
