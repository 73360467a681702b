/** A piece of work that waits for its turn. It must not reject. */
export type Job = () => Promise<void>;

export interface FlightQueue {
  /**
   * Queues a job: urgent ones go ahead of all others, equals in the order in which they came. A slow one waits while
   * slow jobs have their share of the places.
   */
  add(job: Job, urgent: boolean, slow: boolean): void;
  /** Moves a waiting job to the urgent ones; nothing happens when it runs already. */
  hasten(job: Job): void;
  /** Takes a waiting job out; false when it does not wait. */
  remove(job: Job): boolean;
  readonly running: number;
  readonly waiting: number;
}

/**
 * Share of the places that slow jobs have together. The other three quarters always turn over quickly: 30 hanging tools
 * of 50 would otherwise hold all 8 places for two minutes at a time.
 */
const SLOW_SHARE = 0.25;

/** Runs at most `limit` jobs at once, a quarter of them (but at least one) slow. */
export function createFlightQueue(limit: number): FlightQueue {
  const slowLimit = Math.max(1, Math.floor(limit * SLOW_SHARE));
  /** Waiting jobs, and whether each is slow. */
  const urgentJobs = new Map<Job, boolean>();
  const jobs = new Map<Job, boolean>();
  let running = 0;
  let slowRunning = 0;

  function takeNext(): { job: Job; slow: boolean } | undefined {
    for (const lane of [urgentJobs, jobs]) {
      for (const [job, slow] of lane) {
        if (slow && slowRunning >= slowLimit) continue;
        lane.delete(job);
        return { job, slow };
      }
    }
    return undefined;
  }

  function pump(): void {
    while (running < limit) {
      const next = takeNext();
      if (next === undefined) return;
      const slow = next.slow ? 1 : 0;
      running++;
      slowRunning += slow;
      void next.job().finally(() => {
        running--;
        slowRunning -= slow;
        pump();
      });
    }
  }

  return {
    add(job, urgent, slow) {
      (urgent ? urgentJobs : jobs).set(job, slow);
      pump();
    },
    hasten(job) {
      const slow = jobs.get(job);
      if (slow === undefined) return;
      jobs.delete(job);
      urgentJobs.set(job, slow);
    },
    remove: (job) => jobs.delete(job) || urgentJobs.delete(job),
    get running() {
      return running;
    },
    get waiting() {
      return jobs.size + urgentJobs.size;
    },
  };
}
