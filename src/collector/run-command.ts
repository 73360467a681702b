import type { PollRaw } from "../domain/poll.ts";
import { createEnding, createSweeper, type Ending, MARK, signalGroup } from "./process-group.ts";
import { explainStart, locate, type StartFailure } from "./tool.ts";

/**
 * Default for the maximum size of an answer in bytes. The largest output of a real tool seen so far is
 * under 1 MB.
 */
export const DEFAULT_MAX_BYTES = 16 * 1024 * 1024;
/** Maximum size of the stream that does not contain the answer. */
const MAX_BESIDE_BYTES = 1024 * 1024;

export interface CommandRequest {
  readonly argv: readonly string[];
  /** Variables that are added to the scrubbed environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Maximum duration; null = no limit. */
  readonly timeoutMs: number | null;
  /** Receives stdout in chunks instead of keeping it. Reading pauses while the promise is pending. */
  readonly onStdout?: (chunk: Uint8Array) => Promise<void> | undefined;
  /** Receives stderr in chunks, in addition to keeping it. */
  readonly onStderr?: (chunk: Uint8Array) => Promise<void> | undefined;
  readonly stdin?: Uint8Array;
  /** Stream with the answer, to which `maxBytes` applies; default stdout. */
  readonly answersOn?: "stdout" | "stderr";
  /** Maximum size of the answer in bytes; default 16 MiB. */
  readonly maxBytes?: number;
  /** Whether to kill a command that exceeds the limit (default) or to discard the rest. */
  readonly onOverflow?: "kill" | "discard";
  readonly signal?: AbortSignal;
  /**
   * Whether to kill also processes that left the command's group (setsid). Do not set it for a command that
   * starts a service.
   */
  readonly endEscaped?: boolean;
}

export type CommandResult =
  | CommandRun
  | { readonly started: false; readonly argv: readonly string[]; readonly failure: StartFailure };

/** Output of a command that was started, and how it ended. */
export interface CommandRun extends PollRaw {
  readonly started: true;
  readonly stderrTruncated: boolean;
  readonly timedOut: boolean;
  readonly aborted: boolean;
  /** True if the process survived SIGKILL, e.g. because it hangs in a dead network file system. */
  readonly abandoned: boolean;
  readonly durationMs: number;
}

interface CommandRunnerDeps {
  /** $PATH and $HOME of tools, which inherit no other variable of the daemon. */
  readonly path: string;
  readonly home: string;
  /** Time between SIGTERM and SIGKILL. */
  readonly graceMs?: number;
  /** Maximum time to wait for a silent pipe that a grandchild holds open after the command exits. */
  readonly quietMs?: number;
  /** Maximum time to wait for a killed command to exit. */
  readonly killWaitMs?: number;
}

interface Running {
  readonly child: Bun.Subprocess<"ignore" | Uint8Array, "pipe", "pipe">;
  readonly stdout: CappedReader;
  readonly stderr: CappedReader;
  readonly ending: Ending;
  /** Sends SIGKILL to the command's group and, with `endEscaped`, to processes that left the group. */
  endNow(): void;
}

export type CommandRunner = ReturnType<typeof createCommandRunner>;

/**
 * Runs tools that may hang, flood, fork or crash, each in its own process group, which is killed as a
 * whole. Bun's own `timeout` and `signal` end only the direct child, and reading its pipe then waits for
 * the grandchild.
 */
export function createCommandRunner(deps: CommandRunnerDeps) {
  const { path, home, graceMs = 500, quietMs = 500, killWaitMs = 1000 } = deps;
  // Parsers only understand English.
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
        // Real-time signals have no name, only a number.
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
    // Bun.spawn would search the $PATH that the daemon was started with.
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

  /** Waits for the command and its pipes. Returns true if the command could not be killed. */
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
    // Kill the rest of the group, because no process of it may outlive its command. The group's number has
    // just been freed, so no other group has that number yet.
    endNow();
    const { promise: late, resolve: giveUp } = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      // A process left the group and holds the pipe, so use the output read so far.
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
    /** Kills all running commands and waits for them. No command starts afterwards. */
    async stop() {
      stopped = true;
      for (const { ending } of running.keys()) ending.begin("abort");
      await Promise.allSettled(running.values());
      sweeper.now();
    },
    /**
     * Kills all running commands without waiting, for a process that exits at once. No command starts
     * afterwards.
     */
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
  message: "It was cancelled before it started.",
  fix: null,
};

function watchSilence(count: () => number, ms: number): { came: Promise<void>; clear(): void } {
  const { promise: came, resolve } = Promise.withResolvers<void>();
  let last = count();
  const timer = setInterval(() => {
    if (count() === last) resolve();
    last = count();
  }, ms);
  return { came, clear: () => clearInterval(timer) };
}

/** Number of bytes that are kept from the start of a stream that exceeds its limit. */
export const HEAD_BYTES = 1024 * 1024;

type CappedReader = ReturnType<typeof readCapped>;

/**
 * Reads a stream to its end, because Bun would buffer an unread pipe in memory. Keeps everything up to the
 * limit, only the head of a longer stream, and nothing if `maxBytes` is null. Calls `onOverflow` once when
 * the limit is exceeded.
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
    // Copy the head, so that the chunks can be freed.
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
      // Treat a broken pipe like a closed one; the exit status shows the failure.
    }
  }

  return {
    /** Resolves at the end of the stream or after `letGo`. Never rejects. */
    ended: pump(),
    get truncated() {
      return truncated;
    },
    /** Number of chunks read, including discarded ones, to detect whether a process still writes. */
    get chunks() {
      return chunks;
    },
    /** Stops reading and keeps the data read so far. */
    letGo: () => void reader.cancel().catch(() => {}),
    bytes: (): Uint8Array => (kept.length === 1 && kept[0]) || Buffer.concat(kept, length),
  };
}
