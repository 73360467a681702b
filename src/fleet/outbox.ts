import type { RandomBytes } from "../domain/keys.ts";
import { DAY_MS } from "../domain/time/clock.ts";
import { createDirty, packedKey } from "../history/buckets.ts";
import { createAlerts } from "../store/alerts.ts";
import type { Store } from "../store/open/open.ts";
import { RECORDED, type Recorded } from "./recording.ts";

export interface OutboxRow {
  readonly seq: number;
  readonly kind: Recorded;
  readonly key: string | number;
}

/**
 * A day that must be sent to the hub. If `whole`, the rows of all tables are sent, otherwise only the
 * packed tables.
 */
export interface DueDay {
  readonly day: number;
  readonly whole: boolean;
}

/** Day number of everything that belongs to no day: open sessions and user names. */
export const NO_DAY = -1;

const HUB_MARKS = ["hub", "hub_rows"] as const;

/** Average size of an outbox row on disk, measured. */
export const ROW_BYTES = 26;

const KINDS = new Map(
  (Object.keys(RECORDED) as Recorded[]).map((name): [string, Recorded] => [RECORDED[name], name]),
);

/** Number of rows deleted per transaction, which takes about 1 ms. */
const TRIM_ROWS = 5_000;

/**
 * `epoch`: random, 16 hex digits · `met`: the hub has acknowledged the epoch · `cursor`: newest fact at the
 * hub · `lost`: facts after the cursor were dropped · `drained`: when the backlog was last empty, epoch ms
 * · `stopped`: when recording stopped, epoch ms · `users`: highest user number at the hub · `people`: how
 * facts sent so far name people.
 */
type Mark = "epoch" | "met" | "cursor" | "lost" | "drained" | "stopped" | "users" | "people";

export type Outbox = ReturnType<typeof createOutbox>;

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
  // The newest 20,000 rows suffice, because commands expire within minutes.
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
  const dirty = createDirty(store);
  /**
   * Records rows that began before a time and may have changed since. Their days are not sent again,
   * because the site may have deleted rows that the hub keeps.
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
     UNION ALL SELECT '${RECORDED.event}', max(id) FROM events
       WHERE type = 'alert' AND at >= ?1 AND unixepoch(json_extract(body, '$.startedAt'), 'subsec') * 1000 < ?1
       GROUP BY json_extract(body, '$.alert')`,
  );
  /** Days of waiting imported sessions (with negative ids) and denials. Both may be of any age. */
  const waiting = sqlite.query<{ day: number }, [number]>(
    `SELECT DISTINCT at / ${DAY_MS} AS day FROM (
       SELECT ended_at AS at FROM fleet_outbox JOIN sessions ON id = key
         WHERE seq > ?1 AND kind = '${RECORDED.ended}' AND key < 0
       UNION ALL SELECT at FROM fleet_outbox JOIN denials ON id = key WHERE seq > ?1 AND kind = '${RECORDED.denial}')`,
  );
  const alerts = createAlerts(store);
  const oldest = sqlite.query<{ at: number | null }, []>(
    `SELECT min(at) AS at FROM (
       SELECT min(at) AS at FROM samples
       UNION ALL SELECT * FROM (SELECT day * ${DAY_MS} FROM packed_days ORDER BY key LIMIT 1)
       UNION ALL SELECT * FROM (SELECT day * ${DAY_MS} FROM packed_days
         WHERE key >= ${packedKey("rollups", 0)} ORDER BY key LIMIT 1)
       UNION ALL SELECT min(from_at) FROM coverage UNION ALL SELECT min(from_at) FROM server_statuses
       UNION ALL SELECT min(at) FROM denials
       UNION ALL SELECT min(ended_at) FROM sessions WHERE ended_at IS NOT NULL)`,
  );
  /** Selects the next day to send. Unless a day is sent whole, it must be over and completely packed. */
  const due = sqlite.query<{ at: number; whole: number }, [number]>(
    `SELECT at, EXISTS (SELECT 1 FROM dirty WHERE kind = 'hub_rows' AND at = due.at) AS whole FROM dirty AS due
     WHERE kind = 'hub' AND (whole OR (at < ?1 AND NOT EXISTS (SELECT 1 FROM dirty
       WHERE kind IN ('hours', 'rollups') AND at >= due.at AND at < due.at + ${DAY_MS})))
     ORDER BY at < 0 DESC, at DESC LIMIT 1`,
  );
  const daysLeft = sqlite.query<{ count: number }, []>(
    "SELECT count(*) AS count FROM dirty WHERE kind = 'hub_rows'",
  );

  const text = (name: Mark) => read(() => getMark.get(name)?.value ?? null);
  const number = (name: Mark) => Number(text(name) ?? 0);

  function markWhole(from: number, until = from): void {
    for (const kind of HUB_MARKS) dirty.mark(kind, from, until);
  }

  function resync(from: number, now: number): void {
    markWhole(Math.min(from, now), now);
    markWhole(NO_DAY * DAY_MS);
  }

  function beginEpoch(now: number): void {
    transaction(() => {
      sqlite.run("DELETE FROM fleet_outbox");
      sqlite.run("DELETE FROM dirty WHERE kind IN ('hub', 'hub_rows')");
      for (const name of ["met", "lost", "stopped", "users"] as const) removeMark.run(name);
      setMark.run("epoch", Buffer.from(random(8)).toString("hex"));
      setMark.run("cursor", edges.get()?.head ?? 0);
      setMark.run("drained", now);
      resync(Math.min(oldest.get()?.at ?? now, alerts.oldest() ?? now), now);
    });
  }

  /**
   * Drops the backlog. Days since `since` are sent whole instead. Earlier rows that may have changed are
   * sent in their current state.
   */
  function drop(since: number, now: number): void {
    transaction(() => {
      for (const { day } of waiting.all(number("cursor"))) markWhole(day * DAY_MS);
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
    begin(now: number): void {
      transaction(() => {
        if (text("epoch") === null) beginEpoch(now);
        if (text("stopped") !== null) drop(Math.min(number("stopped"), number("drained")), now);
      });
    },
    /**
     * Sets how facts name people from now on, and returns whether this is a change. A change begins a new
     * epoch, so the hub gets everything again.
     */
    speakOf(people: string, now: number): boolean {
      const before = text("people");
      if (before === people) return false;
      transaction(() => {
        if (before !== null) beginEpoch(now);
        setMark.run("people", people);
      });
      return before !== null;
    },
    isMet: () => number("met") === 1,
    epoch: (): string => String(text("epoch") ?? ""),
    cursor: () => number("cursor"),
    edges: () => read(() => edges.get()) ?? { oldest: null, head: 0 },
    hasLost: () => number("lost") === 1,
    drainedAt: () => number("drained"),
    usersSent: () => number("users"),
    page: (after: number, limit: number): OutboxRow[] =>
      // Rows of older versions have words instead of letters.
      read(() => page.all(after, limit)).map((row) => ({
        ...row,
        kind: KINDS.get(row.kind) ?? (row.kind as Recorded),
      })),
    addOutcome: (outcome: object): void =>
      transaction(() => void add.run(RECORDED.outcome, JSON.stringify(outcome))),
    commandsDone: (): string[] => read(() => done.all(edges.get()?.head ?? 0)).map(({ id }) => id),
    /**
     * Stores that the hub has all facts up to `cursor` and that facts up to `removable` may be deleted.
     * `drainedAt` is null if facts are still waiting.
     */
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
    goBack: (cursor: number): void => transaction(() => void setMark.run("cursor", cursor)),
    /** Returns the next day to send and marks it as begun: first {@link NO_DAY}, then the newest day. */
    nextDay(now: number): DueDay | null {
      const found = read(() => due.get(Math.floor(now / DAY_MS) * DAY_MS));
      if (found === null) return null;
      const { at, whole } = found;
      transaction(() => {
        for (const kind of HUB_MARKS) dirty.begin(kind, at);
      });
      return { day: at / DAY_MS, whole: whole === 1 };
    },
    daysLeft: () => read(() => daysLeft.get())?.count ?? 0,
    dayDone({ day }: DueDay, users: number): void {
      transaction(() => {
        for (const kind of HUB_MARKS) dirty.end(kind, day * DAY_MS);
        setMark.run("users", users);
      });
    },
  };
}

/** Records when recording stopped, so that a later process knows which days are missing. */
export function noteStop({ sqlite, read, transaction }: Store, now: number): void {
  const isSite = read(() => sqlite.query("SELECT 1 FROM fleet_marks WHERE name = 'epoch'").get()) !== null;
  if (!isSite) return;
  transaction(() => {
    sqlite.run("INSERT OR IGNORE INTO fleet_marks (name, value) VALUES ('stopped', ?)", [now]);
    sqlite.run("DELETE FROM fleet_outbox");
  });
}
