import { readdirSync, readFileSync } from "node:fs";

type EndCause = "timeout" | "overflow" | "abort";

export type Ending = ReturnType<typeof createEnding>;

/**
 * Ends a command: SIGTERM to its process group, SIGKILL after `graceMs`. Gives up after another
 * `killWaitMs`.
 */
export function createEnding(pid: number, graceMs: number, killWaitMs: number) {
  const { promise: gaveUp, resolve: giveUp } = Promise.withResolvers<void>();
  let cause: EndCause | null = null;
  let timer: Timer | undefined;
  const kill = () => {
    signalGroup(pid, "SIGKILL");
    timer = setTimeout(giveUp, killWaitMs);
  };
  return {
    /** Why the process was ended; null while it runs, or if it exited by itself. */
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
    // Ignore ESRCH (all processes have exited) and EPERM (a set-user-ID tool, which is reported as abandoned).
  }
}

/** Name of the environment variable that marks every process of a command, even after setsid(2). */
export const MARK = "LICMOND_RUN";

/**
 * Time for which marks are collected before /proc is read. With 300 processes on a host, reading /proc
 * blocks the event loop for 8 ms, and hundreds of polls may end within a second.
 */
const SWEEP_MS = 200;

/**
 * Kills processes whose `LICMOND_RUN` is one of the marks. These processes called setsid(2), so they left
 * their command's group and get no signals that are sent to the group. The sweep does not find processes
 * that removed the variable, nor processes whose environment the kernel hides from their own user: set-
 * user-ID programs, and programs that are executable but not readable (proc_pid_environ(5)).
 */
export function createSweeper() {
  const marks = new Set<string>();
  let timer: Timer | undefined;

  function now(): void {
    clearTimeout(timer);
    timer = undefined;
    if (marks.size > 0) killMarked(marks);
    marks.clear();
  }

  return {
    /** Marks a command that has ended; the next sweep kills its remaining processes. */
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
    // Search until no process is found, because a killed process may have started another one before.
    const pids = readdirSync("/proc").map(Number);
    const found = pids.filter((pid) => pid > 0 && !killed.has(pid) && marks.has(markOf(pid)));
    if (found.length === 0) return;
    for (const pid of found) {
      killed.add(pid);
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // ESRCH: the process has exited.
      }
    }
  }
}

function markOf(pid: number): string {
  try {
    const environment = readFileSync(`/proc/${pid}/environ`, "latin1").split("\0");
    return environment.find((entry) => entry.startsWith(`${MARK}=`))?.slice(MARK.length + 1) ?? "";
  } catch {
    // The process has exited or belongs to another user.
    return "";
  }
}
