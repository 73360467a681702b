import { readdirSync, readFileSync } from "node:fs";

type EndCause = "timeout" | "overflow" | "abort";

export type Ending = ReturnType<typeof createEnding>;

/** SIGTERM to the group, SIGKILL after the grace, and an end to the waiting after that. */
export function createEnding(pid: number, graceMs: number, killWaitMs: number) {
  const { promise: gaveUp, resolve: giveUp } = Promise.withResolvers<void>();
  let cause: EndCause | null = null;
  let timer: Timer | undefined;
  const kill = () => {
    signalGroup(pid, "SIGKILL");
    timer = setTimeout(giveUp, killWaitMs);
  };
  return {
    /** Why the command is being ended from here; null while it runs or when it ended by itself. */
    get cause() {
      return cause;
    },
    /** Settles when even SIGKILL did not help in time. */
    gaveUp,
    begin(why: EndCause): void {
      if (cause !== null) return;
      cause = why;
      // A tool that prints too much gets no time to go on.
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
    // ESRCH: all gone already. EPERM: a set-uid tool, which the wait for its end will show as abandoned.
  }
}

/** The variable by which every process of a command is known, whatever process group or session it makes for itself. */
export const MARK = "LICMOND_RUN";

/**
 * Marks are collected for so long before /proc is read for all of them at once: with 300 processes on a host one reading
 * takes 8 ms of the event loop, and hundreds of polls may end in one second.
 */
const SWEEP_MS = 200;

/**
 * Kills processes that have `LICMOND_RUN` with one of the marks in their environment. A process that called setsid(2) is
 * no longer in its command's group, and a signal to the group does not reach it.
 *
 * Not found are processes that dropped the variable, and those whose environment the kernel does not show to their own
 * user: set-user-ID programs, and programs that may be executed and not read (proc_pid_environ(5)).
 */
export function createSweeper() {
  const marks = new Set<string>();
  let timer: Timer | undefined;

  /** Sweeps, if there is anything to look for. */
  function now(): void {
    clearTimeout(timer);
    timer = undefined;
    if (marks.size > 0) killMarked(marks);
    marks.clear();
  }

  return {
    /** A command has ended: processes with its mark are killed by the next sweep. */
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
    // Once more after each find: what was just killed may have started another before.
    const pids = readdirSync("/proc").map(Number);
    const found = pids.filter((pid) => pid > 0 && !killed.has(pid) && marks.has(markOf(pid)));
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

function markOf(pid: number): string {
  try {
    const environment = readFileSync(`/proc/${pid}/environ`, "latin1").split("\0");
    return environment.find((entry) => entry.startsWith(`${MARK}=`))?.slice(MARK.length + 1) ?? "";
  } catch {
    // Gone meanwhile, or of another user.
    return "";
  }
}
