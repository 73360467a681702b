import { type CappedReader, readCapped } from "./capped-reader.ts";
import { createEnding, createSweeper, type Ending, MARK, signalGroup } from "./process-group.ts";
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

/**
 * Runs tools that may hang, spam, fork or die: each in a process group of its own, which is killed as a whole.
 * (Bun's own `timeout` and `signal` reach only the direct child, and reading its pipe then waits for the grandchild.)
 */
export function createCommandRunner(deps: CommandRunnerDeps): CommandRunner {
  const { path, home, graceMs = 500, quietMs = 500, killWaitMs = 1000 } = deps;
  const running = new Map<number, { endNow(): void; abort(): void; done: Promise<unknown> }>();
  const sweeper = createSweeper();
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
      if (mark !== null) sweeper.add(mark);
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
      sweeper.now();
    },
    killNow() {
      stopped = true;
      for (const { endNow } of running.values()) endNow();
      sweeper.now();
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
