/** What a piece of work sees of its flight. */
export interface FlightControl {
  /** A signal for the next attempt: aborted by `interrupt` and when the flight is called off. */
  attempt(): AbortSignal;
  readonly calledOff: boolean;
  /** Lets the next flight begin: what is left of this one needs no place. */
  freePlace(): void;
}

export interface FlightsDeps<T> {
  /** Flights at once. */
  readonly limit: number;
  readonly work: (key: string, control: FlightControl) => Promise<T>;
  /** A flight has ended and was not called off; its key is free again. */
  readonly onLanding: (key: string) => void;
}

/** Work by key: one flight a key, which everybody joins who asks meanwhile, and `limit` in all. */
export interface Flights<T> {
  /**
   * Joins the key's flight, waiting or running, or queues one. Urgent ones go ahead of all others, equals in the order in
   * which they came. A slow one waits while slow flights have their share of the places.
   */
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
  /** Keys of the flights that hold a place. */
  inPlaces(): ReadonlySet<string>;
}

/**
 * Share of the places that slow flights have together. The other three quarters always turn over quickly: 30 hanging
 * tools of 50 would otherwise hold all 8 places for two minutes at a time.
 */
const SLOW_SHARE = 0.25;

interface Flight<T> {
  readonly key: string;
  readonly slow: boolean;
  readonly done: PromiseWithResolvers<T>;
  /** Settles when nothing of it runs any more. Never rejects. */
  readonly landed: PromiseWithResolvers<void>;
  running: boolean;
  calledOff: boolean;
  abort: AbortController;
}

export function createFlights<T>({ limit, work, onLanding }: FlightsDeps<T>): Flights<T> {
  const slowLimit = Math.max(1, Math.floor(limit * SLOW_SHARE));
  const flights = new Map<string, Flight<T>>();
  const urgentLane = new Set<Flight<T>>();
  const lane = new Set<Flight<T>>();
  const places = new Set<Flight<T>>();
  /** Called-off flights that are not down yet. */
  const landing = new Map<string, Promise<void>>();

  function next(): Flight<T> | undefined {
    const isSlowFull = [...places].filter(({ slow }) => slow).length >= slowLimit;
    return [...urgentLane, ...lane].find(({ slow }) => !(slow && isSlowFull));
  }

  function fill(): void {
    while (places.size < limit) {
      const flight = next();
      if (flight === undefined) return;
      urgentLane.delete(flight);
      lane.delete(flight);
      places.add(flight);
      void fly(flight);
    }
  }

  function freePlace(flight: Flight<T>): void {
    if (places.delete(flight)) fill();
  }

  async function fly(flight: Flight<T>): Promise<void> {
    const { key, done, landed } = flight;
    flight.running = true;
    await landing.get(key);
    const settle = await perform(flight).then(
      (value) => () => done.resolve(value),
      (error: unknown) => () => done.reject(error),
    );
    if (!flight.calledOff) {
      flights.delete(key);
      onLanding(key);
    }
    settle();
    landed.resolve();
    freePlace(flight);
  }

  async function perform(flight: Flight<T>): Promise<T> {
    if (flight.calledOff) throw new Error("called off");
    return work(flight.key, {
      attempt() {
        flight.abort = new AbortController();
        if (flight.calledOff) flight.abort.abort();
        return flight.abort.signal;
      },
      get calledOff() {
        return flight.calledOff;
      },
      freePlace: () => freePlace(flight),
    });
  }

  return {
    launch(key, urgent, slow) {
      const known = flights.get(key);
      if (known !== undefined) {
        if (urgent && lane.delete(known)) urgentLane.add(known);
        return known.done.promise;
      }
      const flight: Flight<T> = {
        key,
        slow,
        done: Promise.withResolvers<T>(),
        landed: Promise.withResolvers<void>(),
        running: false,
        calledOff: false,
        abort: new AbortController(),
      };
      // Scheduled work has nobody to tell: its failures stand in the log.
      flight.done.promise.catch(() => {});
      flights.set(key, flight);
      (urgent ? urgentLane : lane).add(flight);
      fill();
      return flight.done.promise;
    },
    has: (key) => flights.has(key),
    isRunning: (key) => flights.get(key)?.running ?? false,
    interrupt: (key) => flights.get(key)?.abort.abort(),
    ground(key, why) {
      const flight = flights.get(key);
      if (flight === undefined) return;
      flights.delete(key);
      flight.calledOff = true;
      flight.done.reject(why);
      if (lane.delete(flight) || urgentLane.delete(flight)) return;
      const landed = Promise.all([landing.get(key), flight.landed.promise]).then(() => {
        if (landing.get(key) === landed) landing.delete(key);
      });
      landing.set(key, landed);
      flight.abort.abort();
    },
    allGrounded: () => Promise.all(landing.values()),
    get waiting() {
      return lane.size + urgentLane.size;
    },
    inPlaces: () => new Set([...places].map(({ key }) => key)),
  };
}
