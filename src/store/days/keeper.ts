import type { Clock } from "../../domain/clock.ts";
import type { Log } from "../../domain/log.ts";
import type { HistoryClient } from "../history/client.ts";
import type { HistoryTimers } from "../history/history.ts";
import { dayOf } from "../history/spans.ts";
import type { Store } from "../open.ts";
import type { DayQueries } from "./queries.ts";
import type { NewFeature, NewName } from "./session-names.ts";

/** Keeps what answers over long ranges are made of: see `0014-sums-of-days.sql`. */
export interface DayKeeper {
  start(): void;
  stop(): void;
  /** Makes one day that is due; false when there is none. Rejects when the store or the worker fails. */
  step(): Promise<boolean>;
}

export interface DayKeeperDeps {
  readonly store: Pick<Store, "sqlite" | "read" | "transaction">;
  /** The days are made where history is read: one takes some tenths of a second at a large site. */
  readonly history: Pick<HistoryClient<DayQueries>, "query">;
  readonly clock: Clock;
  readonly timers: HistoryTimers;
  readonly log: Log;
}

/** A day is made this long after its end. */
const GRACE_MS = 120_000;
const IDLE_MS = 60_000;
/** Between two days whoever asks has his turn. */
const PAUSE_MS = 100;
/** Of a day with a million sessions. */
const TIMEOUT_MS = 120_000;

interface Due {
  readonly kind: "session" | "site";
  readonly day: number;
}

export function createDayKeeper({ store, history, clock, timers, log }: DayKeeperDeps): DayKeeper {
  const { sqlite } = store;
  const edges = sqlite.query<{ ended: number | null; sampled: number | null }, []>(
    `SELECT (SELECT min(ended_at) FROM sessions WHERE ended_at IS NOT NULL) AS ended,
       (SELECT min(key) / 16777216 FROM sample_days) AS sampled`,
  );
  const made = {
    session: sqlite.query<{ day: number }, []>("SELECT day FROM session_days WHERE data IS NOT NULL"),
    site: sqlite.query<{ day: number }, []>("SELECT day FROM site_days WHERE data IS NOT NULL"),
  };
  const open = sqlite.query<{ day: number }, []>("SELECT DISTINCT at / 86400000 AS day FROM history_open");
  const begin = {
    session: sqlite.query("INSERT OR REPLACE INTO session_days (day, data) VALUES (?, NULL)"),
    site: sqlite.query("INSERT OR REPLACE INTO site_days (day, data) VALUES (?, NULL)"),
  };
  const finish = {
    session: sqlite.query<null, [Uint8Array, number]>(
      "UPDATE session_days SET data = ? WHERE day = ? AND data IS NULL",
    ),
    site: sqlite.query<null, [Uint8Array, number]>(
      "UPDATE site_days SET data = ? WHERE day = ? AND data IS NULL",
    ),
  };
  const addName = sqlite.query<null, [number, string]>("INSERT INTO session_names (id, name) VALUES (?, ?)");
  const addFeature = sqlite.query<null, [number, string, string, string]>(
    "INSERT INTO session_features (id, server_id, daemon, name) VALUES (?, ?, ?, ?)",
  );
  let timer: unknown = null;
  let stopped = true;
  let failing = false;

  /** The newest day that can be made and is not: of the newest people ask the most. */
  function nextDue(): Due | null {
    return store.read(() => {
      const { ended, sampled } = edges.get() ?? { ended: null, sampled: null };
      const last = dayOf(clock.now() - GRACE_MS) - 1;
      const newest = (kind: Due["kind"], first: number | null, except: readonly { day: number }[]) => {
        if (first === null) return null;
        const done = new Set([...made[kind].all(), ...except].map(({ day }) => day));
        for (let day = last; day >= first; day--) if (!done.has(day)) return { kind, day } as const;
        return null;
      };
      const session = newest("session", ended === null ? null : dayOf(ended), []);
      // What is still to be packed is not the last word.
      const site = newest("site", sampled, open.all());
      return session !== null && site !== null && site.day > session.day ? site : (session ?? site);
    });
  }

  async function step(): Promise<boolean> {
    const due = nextDue();
    if (due === null) return false;
    const { kind, day } = due;
    store.transaction(() => void begin[kind].run(day));
    const options = { who: "days", timeoutMs: TIMEOUT_MS };
    const answer =
      kind === "session"
        ? await history.query("sessionDay", { day }, options)
        : { ...(await history.query("siteDay", { day }, options)), names: [], features: [] };
    write(due, answer);
    return true;
  }

  /** News of the day that came meanwhile have taken the row away: then the day is made once more. */
  function write({ kind, day }: Due, { data, names, features }: Made): void {
    store.transaction(() => {
      if (finish[kind].run(data, day).changes === 0) return;
      for (const { id, name } of names) addName.run(id, name);
      for (const { id, server, daemon, name } of features) addFeature.run(id, server, daemon, name);
    });
  }

  async function run(): Promise<void> {
    let wait = IDLE_MS;
    try {
      if (await step()) wait = PAUSE_MS;
      failing = false;
    } catch (error) {
      if (!failing && !stopped)
        log.warn("The sums of a day could not be made, it is tried again", {
          error: error instanceof Error ? error.message : String(error),
        });
      failing = true;
    }
    if (!stopped) timer = timers.set(() => void run(), wait);
  }

  return {
    step,
    start() {
      stopped = false;
      timer = timers.set(() => void run(), PAUSE_MS);
    },
    stop() {
      stopped = true;
      if (timer !== null) timers.clear(timer);
    },
  };
}

interface Made {
  readonly data: Uint8Array;
  readonly names: readonly NewName[];
  readonly features: readonly NewFeature[];
}
