import type { RandomBytes } from "../domain/keys.ts";
import { DAY_MS } from "../domain/time/clock.ts";
import type { Store } from "../store/open/open.ts";
import { RECORDED, type Recorded } from "./recording.ts";

/** A row of the outbox: what happened, and the key by which its row is found. */
export interface OutboxRow {
  readonly seq: number;
  readonly kind: Recorded;
  readonly key: string | number;
}

/** A day that the hub is to get. */
export interface DueDay {
  readonly day: number;
  readonly whole: boolean;
  readonly touches: number;
}

/** The day under which stands what belongs to none: open sessions, the names of users. */
export const NO_DAY = -1;

/** What a row of the outbox takes on the disk, on average; measured. */
export const ROW_BYTES = 26;

const KINDS = new Map(
  (Object.keys(RECORDED) as Recorded[]).map((name): [string, Recorded] => [RECORDED[name], name]),
);

/** Rows that are removed at once: a millisecond or so. */
const TRIM_ROWS = 5_000;

/**
 * `epoch`: random, 16 hex digits · `met`: the hub knows it · `cursor`: the newest fact that the hub has · `lost`: facts behind the cursor were
 * dropped · `drained`: when nothing waited last, epoch ms · `stopped`: since when nothing was recorded, epoch ms · `users`:
 * highest number of a user that the hub has · `people`: under which names the hub knows people.
 */
type Mark = "epoch" | "met" | "cursor" | "lost" | "drained" | "stopped" | "users" | "people";

export type Outbox = ReturnType<typeof createOutbox>;

/** What a site still has to tell its hub. Throws StoreError. */
export function createOutbox(store: Store, random: RandomBytes) {
  const { sqlite, read, transaction } = store;
  const page = sqlite.query<Omit<OutboxRow, "kind"> & { readonly kind: string }, [number, number]>(
    "SELECT seq, kind, key FROM fleet_outbox WHERE seq > ? ORDER BY seq LIMIT ?",
  );
  const edges = sqlite.query<{ oldest: number | null; head: number }, []>(
    `SELECT (SELECT min(seq) FROM fleet_outbox) AS oldest,
       ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'fleet_outbox'), 0) AS head`,
  );
  const add = sqlite.query<null, [string, string]>("INSERT INTO fleet_outbox (kind, key) VALUES (?, ?)");
  // Commands expire within minutes.
  const done = sqlite.query<{ id: string }, [number]>(
    `SELECT json_extract(key, '$.command') AS id FROM fleet_outbox WHERE seq > ? - 20000 AND kind = '${RECORDED.outcome}'`,
  );
  const trim = sqlite.query<null, [number]>("DELETE FROM fleet_outbox WHERE seq <= ?");
  const getMark = sqlite.query<{ value: string | number }, [Mark]>(
    "SELECT value FROM fleet_marks WHERE name = ?",
  );
  const setMark = sqlite.query<null, [Mark, string | number]>(
    "INSERT OR REPLACE INTO fleet_marks (name, value) VALUES (?, ?)",
  );
  const removeMark = sqlite.query<null, [Mark]>("DELETE FROM fleet_marks WHERE name = ?");
  const markDays = sqlite.query<null, [number, number]>(
    `WITH RECURSIVE days (day) AS (SELECT ?1 UNION ALL SELECT day + 1 FROM days WHERE day < ?2)
     INSERT INTO fleet_days (day, whole, touches) SELECT day, 1, 1 FROM days WHERE TRUE
       ON CONFLICT DO UPDATE SET whole = 1, touches = touches + 1`,
  );
  /**
   * Facts of rows that began before an instant and may have changed since: their days are not told again, because the site
   * may have deleted rows of them that the hub keeps.
   */
  const tellBegun = sqlite.query<null, [number]>(
    `INSERT INTO fleet_outbox (kind, key)
     WITH last_read AS (
       SELECT server_id, max(from_at) AS from_at, read_at, until_at FROM coverage WHERE from_at < ?1 GROUP BY server_id
     )
     SELECT '${RECORDED.coverage}', from_at || ' ' || server_id FROM last_read
     UNION ALL SELECT '${RECORDED.status}', max(from_at) || ' ' || server_id FROM server_statuses WHERE from_at < ?1
       GROUP BY server_id
     UNION ALL SELECT '${RECORDED.denial}', id FROM denials WHERE at < ?1 AND until >= ?1 - ${DAY_MS}
     -- Those of a server that was removed from the configuration end when it was last read.
     UNION ALL SELECT '${RECORDED.ended}', sessions.id FROM last_read JOIN sessions USING (server_id)
       WHERE ended_at >= read_at AND ended_at < min(until_at, ?1) AND end_reason = 'unobserved'
     UNION ALL SELECT '${RECORDED.event}', max(events.id) FROM events JOIN alerts ON alerts.id = json_extract(body, '$.alert')
       WHERE type = 'alert' AND at >= ?1 AND started_at < ?1 GROUP BY alerts.id`,
  );
  /** Days of facts that wait and are of rows of any time: imported sessions have ids below 0. */
  const markWaiting = sqlite.query<null, [number]>(
    `INSERT INTO fleet_days (day, whole, touches)
     SELECT DISTINCT at / ${DAY_MS}, 1, 1 FROM (
       SELECT ended_at AS at FROM fleet_outbox JOIN sessions ON id = key
         WHERE seq > ?1 AND kind = '${RECORDED.ended}' AND key < 0
       UNION ALL SELECT at FROM fleet_outbox JOIN denials ON id = key WHERE seq > ?1 AND kind = '${RECORDED.denial}')
     WHERE TRUE ON CONFLICT DO UPDATE SET whole = 1, touches = touches + 1`,
  );
  const oldest = sqlite.query<{ at: number | null }, []>(
    `SELECT min(at) AS at FROM (
       SELECT min(at) AS at FROM samples UNION ALL SELECT min(key) / ${2 ** 24} * ${DAY_MS} FROM sample_days
       UNION ALL SELECT min(key) / ${2 ** 24} * ${DAY_MS} FROM rollup_days
       UNION ALL SELECT min(from_at) FROM coverage UNION ALL SELECT min(from_at) FROM server_statuses
       UNION ALL SELECT min(at) FROM denials UNION ALL SELECT min(started_at) FROM alerts
       UNION ALL SELECT min(ended_at) FROM sessions WHERE ended_at IS NOT NULL)`,
  );
  /** What is packed once the day is over waits until that is done. */
  const due = sqlite.query<{ day: number; whole: number; touches: number }, [number]>(
    `SELECT day, whole, touches FROM fleet_days AS due
     WHERE whole = 1 OR (day < ?1 AND NOT EXISTS (SELECT 1 FROM history_open
       WHERE (span = ${DAY_MS} AND at = due.day * ${DAY_MS})
         OR (span = 3600000 AND at >= due.day * ${DAY_MS} AND at < (due.day + 1) * ${DAY_MS})))
     ORDER BY day = ${NO_DAY} DESC, day DESC LIMIT 1`,
  );
  const daysLeft = sqlite.query<{ count: number }, []>(
    "SELECT count(*) AS count FROM fleet_days WHERE whole = 1",
  );
  const forgetDay = sqlite.query<null, [number, number]>(
    "DELETE FROM fleet_days WHERE day = ? AND touches = ?",
  );
  const shrinkDay = sqlite.query<null, [number]>("UPDATE fleet_days SET whole = 0 WHERE day = ?");

  const text = (name: Mark) => read(() => getMark.get(name)?.value ?? null);
  const number = (name: Mark) => Number(text(name) ?? 0);

  function resync(from: number, now: number): void {
    markDays.run(Math.floor(Math.min(from, now) / DAY_MS), Math.floor(now / DAY_MS));
    markDays.run(NO_DAY, NO_DAY);
  }

  /** Begins a new epoch: the hub takes this for another database, and all of its days are sent again. */
  function beginEpoch(now: number): void {
    transaction(() => {
      sqlite.run("DELETE FROM fleet_outbox");
      sqlite.run("DELETE FROM fleet_days");
      for (const name of ["met", "lost", "stopped", "users"] as const) removeMark.run(name);
      setMark.run("epoch", Buffer.from(random(8)).toString("hex"));
      setMark.run("cursor", edges.get()?.head ?? 0);
      setMark.run("drained", now);
      resync(oldest.get()?.at ?? now, now);
    });
  }

  /** Gives up what waits: the days since an instant are told as a whole, and what began before them as it stands. */
  function drop(since: number, now: number): void {
    transaction(() => {
      markWaiting.run(number("cursor"));
      sqlite.run("DELETE FROM fleet_outbox");
      setMark.run("lost", 1);
      setMark.run("cursor", edges.get()?.head ?? 0);
      removeMark.run("stopped");
      resync(since, now);
      tellBegun.run(Math.floor(Math.min(since, now) / DAY_MS) * DAY_MS);
    });
  }

  return {
    beginEpoch,
    drop,
    /** Makes sure that there is an epoch, and that days are told in whose facts nobody listened. */
    begin(now: number): void {
      transaction(() => {
        if (text("epoch") === null) beginEpoch(now);
        if (text("stopped") !== null) drop(Math.min(number("stopped"), number("drained")), now);
      });
    },
    /** Facts name people from now on in this way. Where it was another, the hub gets all of it anew: then it answers true. */
    speakOf(people: string, now: number): boolean {
      const before = text("people");
      if (before === people) return false;
      transaction(() => {
        if (before !== null) beginEpoch(now);
        setMark.run("people", people);
      });
      return before !== null;
    },
    /** Whether the hub has acknowledged anything of this epoch. */
    isMet: () => number("met") === 1,
    epoch: (): string => String(text("epoch") ?? ""),
    cursor: () => number("cursor"),
    /** Numbers of the oldest fact that is still there (null = none is) and of the newest that there was. */
    edges: () => read(() => edges.get()) ?? { oldest: null, head: 0 },
    /** Whether facts behind the cursor were dropped, so that the hub must not wait for them. */
    hasLost: () => number("lost") === 1,
    drainedAt: () => number("drained"),
    usersSent: () => number("users"),
    /** The facts above a number, at most `limit`, in order. */
    page: (after: number, limit: number): OutboxRow[] =>
      // Rows of before there were letters have the word.
      read(() => page.all(after, limit)).map((row) => ({
        ...row,
        kind: KINDS.get(row.kind) ?? (row.kind as Recorded),
      })),
    /** What became of a command. */
    addOutcome: (outcome: object): void =>
      transaction(() => void add.run(RECORDED.outcome, JSON.stringify(outcome))),
    /** Commands whose outcome is among the newest facts. */
    commandsDone: (): string[] => read(() => done.all(edges.get()?.head ?? 0)).map(({ id }) => id),
    /** The hub has the facts up to a number; those up to `removable` need not be kept. `drainedAt` null = some wait. */
    acknowledged(cursor: number, removable: number, drainedAt: number | null): void {
      transaction(() => {
        setMark.run("met", 1);
        setMark.run("cursor", cursor);
        removeMark.run("lost");
        if (drainedAt !== null) setMark.run("drained", drainedAt);
        const { oldest: first } = edges.get() ?? { oldest: null };
        if (first !== null && first <= removable) trim.run(Math.min(removable, first + TRIM_ROWS));
      });
    },
    /** The hub lost facts that it had: it gets them again. */
    goBack: (cursor: number): void => transaction(() => void setMark.run("cursor", cursor)),
    /** The next day to be told: what belongs to none first, then the newest. */
    nextDay(now: number): DueDay | null {
      const found = read(() => due.get(Math.floor(now / DAY_MS)));
      return found && { ...found, whole: found.whole === 1 };
    },
    /** How many days of the past the hub does not have. */
    daysLeft: () => read(() => daysLeft.get())?.count ?? 0,
    /** A day was told; it is told once more where there was news meanwhile. */
    dayDone({ day, touches, whole }: DueDay, users: number): void {
      transaction(() => {
        if (forgetDay.run(day, touches).changes === 0 && whole) shrinkDay.run(day);
        setMark.run("users", users);
      });
    },
  };
}

/** Notes that from now on no facts are recorded, so that a later process knows which days are missing. */
export function noteStop({ sqlite, read, transaction }: Store, now: number): void {
  const isSite = read(() => sqlite.query("SELECT 1 FROM fleet_marks WHERE name = 'epoch'").get()) !== null;
  if (!isSite) return;
  transaction(() => {
    sqlite.run("INSERT OR IGNORE INTO fleet_marks (name, value) VALUES ('stopped', ?)", [now]);
    sqlite.run("DELETE FROM fleet_outbox");
  });
}
