import type { PollRaw } from "../domain/poll.ts";
import { createEnding, createSweeper, type Ending, MARK, signalGroup } from "./process-group.ts";
import { explainStart, locate, type StartFailure } from "./tool.ts";

/** The largest output of a real tool that we have seen is under 1 MB. */
export const DEFAULT_MAX_BYTES = 16 * 1024 * 1024;
/** Cap of the stream that is not the answer. */
const MAX_BESIDE_BYTES = 1024 * 1024;

export interface CommandRequest {
  /** The program and its arguments. No shell will see them. */
  readonly argv: readonly string[];
  /** Additions to the scrubbed environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Null: it may run for ever. */
  readonly timeoutMs: number | null;
  /** Gets stdout as it comes, and nothing of it is kept. While a promise of it is pending no more is read. */
  readonly onStdout?: (chunk: Uint8Array) => Promise<void> | undefined;
  /** Gets stderr as it comes, beside what is kept of it. */
  readonly onStderr?: (chunk: Uint8Array) => Promise<void> | undefined;
  /** What it reads on stdin; nothing by default. */
  readonly stdin?: Uint8Array;
  /** Where it prints what is asked for: the cap and what follows from it are of this stream; default stdout. */
  readonly answersOn?: "stdout" | "stderr";
  /** Cap of that stream; default 16 MiB. */
  readonly maxBytes?: number;
  /** What becomes of a command whose answer is longer: it is killed (default), or goes on and the rest is thrown away. */
  readonly onOverflow?: "kill" | "discard";
  /** Kills the command. */
  readonly signal?: AbortSignal;
  /**
   * Ends processes of the command that left its group (setsid), too. Not for a command that may start a service: that
   * is to outlive it.
   */
  readonly endEscaped?: boolean;
}

export type CommandResult =
  | CommandRun
  | { readonly started: false; readonly argv: readonly string[]; readonly failure: StartFailure };

/** A command that was started: what it printed (the other stream cut at 1 MiB), and how it ended. */
export interface CommandRun extends PollRaw {
  readonly started: true;
  /** The other stream was longer than its cap. */
  readonly stderrTruncated: boolean;
  readonly timedOut: boolean;
  /** Ended by its AbortSignal or by `stop()`. */
  readonly aborted: boolean;
  /** It survived SIGKILL (e.g. it hangs in a dead network file system) and was abandoned. */
  readonly abandoned: boolean;
  readonly durationMs: number;
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

/** A command that runs. */
interface Running {
  readonly child: Bun.Subprocess<"ignore" | Uint8Array, "pipe", "pipe">;
  readonly stdout: CappedReader;
  readonly stderr: CappedReader;
  readonly ending: Ending;
  /** SIGKILL to its group and, where that is asked for, to what left the group. */
  endNow(): void;
}

export type CommandRunner = ReturnType<typeof createCommandRunner>;

/**
 * Runs tools that may hang, spam, fork or die: each in a process group of its own, which is killed as a whole.
 * (Bun's own `timeout` and `signal` reach only the direct child, and reading its pipe then waits for the grandchild.)
 */
export function createCommandRunner(deps: CommandRunnerDeps) {
  const { path, home, graceMs = 500, quietMs = 500, killWaitMs = 1000 } = deps;
  // LC_ALL=C: parsers know the tools' English words only.
  const environment = { PATH: path, HOME: home, LC_ALL: "C", LANG: "C", LANGUAGE: "C" };
  const running = new Map<Running, Promise<boolean>>();
  const sweeper = createSweeper();
  let stopped = false;

  /** Never rejects. */
  async function run(request: CommandRequest): Promise<CommandResult> {
    const { argv, signal } = request;
    if (stopped || signal?.aborted) return { started: false, argv, failure: ABORTED };
    const startedAt = performance.now();
    let command: Running;
    try {
      command = start(request);
    } catch (error) {
      return { started: false, argv, failure: explainStart(error, argv[0] ?? "", path) };
    }
    const { child, stdout, stderr, ending } = command;
    const { timeoutMs } = request;
    const timer = timeoutMs === null ? undefined : setTimeout(() => ending.begin("timeout"), timeoutMs);
    const abort = () => ending.begin("abort");
    signal?.addEventListener("abort", abort, { once: true });
    const done = settle(command);
    running.set(command, done);
    try {
      const abandoned = await done;
      const { exitCode, signalCode } = child;
      return {
        started: true,
        argv,
        exitCode,
        // A signal without a name of its own (real-time signals) goes by its number.
        signal: typeof signalCode === "number" ? `SIG${signalCode}` : signalCode,
        stdout: stdout.bytes(),
        stderr: stderr.bytes(),
        truncated: (request.answersOn === "stderr" ? stderr : stdout).truncated,
        stderrTruncated: (request.answersOn === "stderr" ? stdout : stderr).truncated,
        timedOut: ending.cause === "timeout",
        aborted: ending.cause === "abort",
        abandoned,
        durationMs: performance.now() - startedAt,
      };
    } finally {
      running.delete(command);
      clearTimeout(timer);
      ending.clear();
      signal?.removeEventListener("abort", abort);
    }
  }

  function start(request: CommandRequest): Running {
    const { argv, env, stdin, maxBytes, answersOn, onOverflow, endEscaped, onStdout, onStderr } = request;
    const [tool = "", ...args] = argv;
    // Found here and not by the spawn: it would look in the daemon's own start-up $PATH.
    const program = locate(tool, path);
    if (program === null) throw new Error("not found");
    const mark = endEscaped ? crypto.randomUUID() : null;
    const child = Bun.spawn([program, ...args], {
      env: { ...environment, ...env, ...(mark && { [MARK]: mark }) },
      stdin: stdin ?? "ignore",
      stdout: "pipe",
      stderr: "pipe",
      detached: true,
    });
    const ending = createEnding(child.pid, graceMs, killWaitMs);
    const overflow = () => {
      if (onOverflow !== "discard") ending.begin("overflow");
    };
    // What is handed on is not kept.
    const cap = onStdout === undefined ? (maxBytes ?? DEFAULT_MAX_BYTES) : null;
    const answer = [cap, overflow] as const;
    const beside = [MAX_BESIDE_BYTES, () => {}] as const;
    const stdout = readCapped(child.stdout, ...(answersOn === "stderr" ? beside : answer), onStdout);
    const stderr = readCapped(child.stderr, ...(answersOn === "stderr" ? answer : beside), onStderr);
    const endNow = () => {
      signalGroup(child.pid, "SIGKILL");
      if (mark !== null) sweeper.add(mark);
    };
    return { child, stdout, stderr, ending, endNow };
  }

  /** Waits for the command and its pipes, no longer than needed. True when it could not be killed. */
  async function settle({ child, stdout, stderr, ending, endNow }: Running): Promise<boolean> {
    const pipesEnded = Promise.all([stdout.ended, stderr.ended]);
    const gone = await Promise.race([child.exited.then(() => true), ending.gaveUp.then(() => false)]);
    if (!gone) {
      child.unref();
    } else if (ending.cause === null) {
      const silence = watchSilence(() => stdout.chunks + stderr.chunks, quietMs);
      await Promise.race([pipesEnded, silence.came, ending.gaveUp]);
      silence.clear();
    }
    // Nothing of the group outlives its command. The number cannot mean another group yet: it was freed just now.
    endNow();
    const { promise: late, resolve: giveUp } = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      // A process left the group and keeps the pipe: what was read so far is the output.
      stdout.letGo();
      stderr.letGo();
      giveUp();
    }, killWaitMs);
    await Promise.race([pipesEnded, late]);
    clearTimeout(timer);
    return !gone;
  }

  return {
    run,
    /** Kills everything that runs, waits for it, and starts nothing any more. */
    async stop() {
      stopped = true;
      for (const { ending } of running.keys()) ending.begin("abort");
      await Promise.allSettled(running.values());
      sweeper.now();
    },
    /** For a process that ends at once: SIGKILL to everything that runs. Nothing is waited for, or started any more. */
    killNow() {
      stopped = true;
      for (const { endNow } of running.keys()) endNow();
      sweeper.now();
    },
  };
}

const ABORTED: StartFailure = {
  reason: "aborted",
  path: null,
  message: "It was called off before it started.",
  fix: null,
};

/** Settles once `count` has stood still for `ms`. */
function watchSilence(count: () => number, ms: number): { came: Promise<void>; clear(): void } {
  const { promise: came, resolve } = Promise.withResolvers<void>();
  let last = count();
  const timer = setInterval(() => {
    if (count() === last) resolve();
    last = count();
  }, ms);
  return { came, clear: () => clearInterval(timer) };
}

/** Bytes at most that are kept of a stream longer than its cap: enough to see what it was. */
export const HEAD_BYTES = 1024 * 1024;

type CappedReader = ReturnType<typeof readCapped>;

/**
 * Reads `stream` to its end, so that an unread pipe cannot pile up in memory: all of it up to a cap, the head alone
 * of a longer one; nothing where the cap is null. `onOverflow` is called once, with the first byte beyond `maxBytes`.
 */
function readCapped(
  stream: ReadableStream<Uint8Array>,
  maxBytes: number | null,
  onOverflow: () => void,
  pass: CommandRequest["onStdout"],
) {
  const reader = stream.getReader();
  let kept: Uint8Array[] = [];
  let length = 0;
  let truncated = false;
  let chunks = 0;

  function take(chunk: Uint8Array): void {
    chunks++;
    if (truncated || maxBytes === null) return;
    kept.push(chunk);
    length += chunk.length;
    if (length <= maxBytes) return;
    truncated = true;
    length = Math.min(maxBytes, HEAD_BYTES);
    // A copy, so that the head does not hold the chunks.
    kept = [Buffer.concat(kept, length)];
    onOverflow();
  }

  async function pump(): Promise<void> {
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        take(value);
        await pass?.(value);
      }
    } catch {
      // A pipe that breaks ends the output like one that closes: the exit status says the rest.
    }
  }

  return {
    /** Settles at the end of the stream, or when it was let go. Never rejects. */
    ended: pump(),
    /** True when there was more than the cap. */
    get truncated() {
      return truncated;
    },
    /** Counts every chunk, also those thrown away: it shows whether a process still writes. */
    get chunks() {
      return chunks;
    },
    /** Stops reading; what was read stays. */
    letGo: () => void reader.cancel().catch(() => {}),
    /** The stream, or its first 1 MiB (or cap, if that is less) when it was longer than the cap. */
    bytes: (): Uint8Array => (kept.length === 1 && kept[0]) || Buffer.concat(kept, length),
  };
}
