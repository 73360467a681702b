/** A piece of work that waits for its turn. It must not reject. */
export type Job = () => Promise<void>;

export interface FlightQueue {
  /** Queues a job: urgent ones go ahead of all others, equals in the order in which they came. */
  add(job: Job, urgent: boolean): void;
  /** Moves a waiting job to the urgent ones; nothing happens when it runs already. */
  hasten(job: Job): void;
  /** Takes a waiting job out; false when it does not wait. */
  remove(job: Job): boolean;
  readonly running: number;
  readonly waiting: number;
}

/** Runs at most `limit` jobs at once. */
export function createFlightQueue(limit: number): FlightQueue {
  const urgentJobs = new Set<Job>();
  const jobs = new Set<Job>();
  let running = 0;

  function takeNext(): Job | undefined {
    for (const lane of [urgentJobs, jobs]) {
      for (const job of lane) {
        lane.delete(job);
        return job;
      }
    }
    return undefined;
  }

  function pump(): void {
    while (running < limit) {
      const job = takeNext();
      if (job === undefined) return;
      running++;
      void job().finally(() => {
        running--;
        pump();
      });
    }
  }

  return {
    add(job, urgent) {
      (urgent ? urgentJobs : jobs).add(job);
      pump();
    },
    hasten(job) {
      if (jobs.delete(job)) urgentJobs.add(job);
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
