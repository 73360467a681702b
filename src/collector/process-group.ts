import { readdirSync, readFileSync } from "node:fs";

type EndCause = "timeout" | "overflow" | "abort";

export type Ending = ReturnType<typeof createEnding>;

/** Ends a command: SIGTERM to its process group, SIGKILL after `graceMs`, and gives up after `killWaitMs`. */
export function createEnding(pid: number, graceMs: number, killWaitMs: number) {
  const { promise: gaveUp, resolve: giveUp } = Promise.withResolvers<void>();
  let cause: EndCause | null = null;
  let timer: Timer | undefined;
  const kill = () => {
    signalGroup(pid, "SIGKILL");
    timer = setTimeout(giveUp, killWaitMs);
  };
  return {
    /** Reason for ending the command; null while it runs or if it exited by itself. */
    get cause() {
      return cause;
    },
    /** Resolves if the process survived SIGKILL. */
    gaveUp,
    begin(why: EndCause): void {
      if (cause !== null) return;
      cause = why;
      // A tool that prints too much gets no grace period.
      if (why !== "overflow") signalGroup(pid, "SIGTERM");
      timer = setTimeout(kill, why === "overflow" ? 0 : graceMs);
    },
    clear: () => clearTimeout(timer),
  };
}

export function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // ESRCH: all processes have exited. EPERM: a set-user-ID tool, which is reported as abandoned later.
  }
}

/** Variable that identifies every process of a command, even in another process group or session. */
export const MARK = "LICMOND_RUN";

/**
 * Marks are collected for this long before /proc is read once for all of them: with 300 processes on a host, reading
 * it blocks the event loop for 8 ms, and hundreds of polls may end within a second.
 */
const SWEEP_MS = 200;

/**
 * Kills processes with `LICMOND_RUN` set to one of the marks. A process that called setsid(2) has left its command's
 * group, so signals to the group do not reach it.
 *
 * Processes are not found if they removed the variable, or if the kernel hides their environment from their own user:
 * set-user-ID programs, and programs that are executable but not readable (proc_pid_environ(5)).
 */
export function createSweeper() {
  const marks = new Set<string>();
  let timer: Timer | undefined;

  /** Sweeps now if there are marks. */
  function now(): void {
    clearTimeout(timer);
    timer = undefined;
    if (marks.size > 0) killMarked(marks);
    marks.clear();
  }

  return {
    /** Registers the mark of a command that ended; the next sweep kills the remaining processes with it. */
    add(mark: string): void {
      marks.add(mark);
      timer ??= setTimeout(now, SWEEP_MS);
    },
    now,
  };
}

function killMarked(marks: ReadonlySet<string>): void {
  const killed = new Set<number>();
  for (;;) {
    // Repeat after each find: a killed process may have started another before.
    const pids = readdirSync("/proc").map(Number);
    const found = pids.filter((pid) => pid > 0 && !killed.has(pid) && marks.has(markOf(pid)));
    if (found.length === 0) return;
    for (const pid of found) {
      killed.add(pid);
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // ESRCH: it has already exited.
      }
    }
  }
}

function markOf(pid: number): string {
  try {
    const environment = readFileSync(`/proc/${pid}/environ`, "latin1").split("\0");
    return environment.find((entry) => entry.startsWith(`${MARK}=`))?.slice(MARK.length + 1) ?? "";
  } catch {
    // It has exited or belongs to another user.
    return "";
  }
}
