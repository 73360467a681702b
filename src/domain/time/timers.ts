/** Timers as an argument, so that tests of a schedule need no sleep. */
export interface Timers {
  /** Calls `run` after `ms`; the answer calls it off. */
  after(ms: number, run: () => void): () => void;
}

export const systemTimers: Timers = {
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/** Calls `run` every `ms` until the answer is called. */
export function repeat(ms: number, run: () => void): () => void {
  const timer = setInterval(run, ms);
  return () => clearInterval(timer);
}
