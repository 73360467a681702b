/** A piece of work that waits for its turn. It must not reject. */
type Job = () => Promise<void>;

interface FlightQueue {
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

/** What a piece of work sees of its flight. */
export interface FlightControl {
  /** A signal for the next attempt: aborted by `interrupt` and when the flight is called off. */
  attempt(): AbortSignal;
  readonly calledOff: boolean;
}

interface FlightsDeps<T> {
  /** Flights at once. */
  readonly limit: number;
  readonly work: (key: string, control: FlightControl) => Promise<T>;
  /** A flight has ended and was not called off; its key is free again. */
  readonly onLanding: (key: string) => void;
}

/** Work by key: one flight a key, which everybody joins who asks meanwhile, and `limit` in all. */
interface Flights<T> {
  /** Joins the key's flight, waiting or running, or queues one. An urgent one goes ahead, slow ones share few places. */
  launch(key: string, urgent: boolean, slow: boolean): Promise<T>;
  has(key: string): boolean;
  isRunning(key: string): boolean;
  /** Aborts the attempt that runs; the work decides whether to make another. */
  interrupt(key: string): void;
  /** Calls a flight off: who waits for it gets the error at once, and the key's next flight waits until it is down. */
  ground(key: string, why: Error): void;
  /** Settles when nothing called off runs any more. */
  allGrounded(): Promise<unknown>;
  readonly waiting: number;
}

interface Flight<T> {
  readonly job: Job;
  readonly done: Promise<T>;
  readonly reject: (error: unknown) => void;
  /** Settles when nothing of it runs any more. Never rejects. */
  readonly landed: Promise<void>;
  running: boolean;
  calledOff: boolean;
  abort: AbortController;
}

export function createFlights<T>({ limit, work, onLanding }: FlightsDeps<T>): Flights<T> {
  const queue = createFlightQueue(limit);
  const flights = new Map<string, Flight<T>>();
  /** Called-off flights that are not down yet. */
  const landing = new Map<string, Promise<void>>();

  function takeOff(key: string): Flight<T> {
    const { promise: done, resolve, reject } = Promise.withResolvers<T>();
    const { promise: landed, resolve: land } = Promise.withResolvers<void>();
    // Scheduled work has nobody to tell: its failures stand in the log.
    done.catch(() => {});
    const flight: Flight<T> = {
      job: async () => {
        flight.running = true;
        await landing.get(key);
        const tell = await perform(key, flight).then(
          (value) => () => resolve(value),
          (error: unknown) => () => reject(error),
        );
        if (!flight.calledOff) {
          flights.delete(key);
          onLanding(key);
        }
        tell();
        land();
      },
      done,
      reject,
      landed,
      running: false,
      calledOff: false,
      abort: new AbortController(),
    };
    flights.set(key, flight);
    return flight;
  }

  async function perform(key: string, flight: Flight<T>): Promise<T> {
    if (flight.calledOff) throw new Error("called off");
    return work(key, {
      attempt() {
        flight.abort = new AbortController();
        if (flight.calledOff) flight.abort.abort();
        return flight.abort.signal;
      },
      get calledOff() {
        return flight.calledOff;
      },
    });
  }

  return {
    launch(key, urgent, slow) {
      const known = flights.get(key);
      if (known !== undefined) {
        if (urgent) queue.hasten(known.job);
        return known.done;
      }
      const flight = takeOff(key);
      queue.add(flight.job, urgent, slow);
      return flight.done;
    },
    has: (key) => flights.has(key),
    isRunning: (key) => flights.get(key)?.running ?? false,
    interrupt: (key) => flights.get(key)?.abort.abort(),
    ground(key, why) {
      const flight = flights.get(key);
      if (flight === undefined) return;
      flights.delete(key);
      flight.calledOff = true;
      flight.reject(why);
      if (queue.remove(flight.job)) return;
      const landed = Promise.all([landing.get(key), flight.landed]).then(() => {
        if (landing.get(key) === landed) landing.delete(key);
      });
      landing.set(key, landed);
      flight.abort.abort();
    },
    allGrounded: () => Promise.all(landing.values()),
    get waiting() {
      return queue.waiting;
    },
  };
}
