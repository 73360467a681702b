import type { Config } from "../config/config.ts";
import { messageOf } from "../domain/error-code.ts";
import type { Log } from "../domain/log.ts";
import { type Clock, DAY_MS, HOUR_MS, repeat } from "../domain/time/clock.ts";
import type { Day, Fact } from "../fleet/protocol.ts";
import type { Pool } from "./database/connect.ts";
import { LOCK, LOCKS } from "./database/migrate.ts";
import type { Partitioned, Partitions } from "./database/partitions.ts";
import { dropEvents } from "./streams/publish.ts";

/** Maximum time that steps wait for their packed day, which arrives late from a site that was offline. */
const STEPS_MS = 30 * DAY_MS;

type FirstDays = ReturnType<typeof firstDays>;

export function firstDays({ sessionsMs, rollupsMs }: Config["retention"], now: number) {
  const dayBefore = (ms: number) => Math.floor((now - ms) / DAY_MS);
  return {
    sessions: dayBefore(sessionsMs),
    denials: dayBefore(sessionsMs),
    steps: dayBefore(STEPS_MS),
    packed_days: dayBefore(Math.max(rollupsMs, sessionsMs)),
  };
}

interface RetentionDeps {
  readonly pool: Pool;
  readonly partitions: Partitions;
  readonly clock: Clock;
  readonly keep: () => Config["retention"];
  readonly log: Log;
}

/** Deletes data beyond retention once an hour, on one hub at a time. */
export function createHubRetention({ pool, partitions, clock, keep, log }: RetentionDeps) {
  async function run(): Promise<void> {
    const { sessionsMs, samplesMs, rollupsMs, eventsMs, auditMs, outagesMs } = keep();
    const now = clock.now();
    const first = firstDays(keep(), now);
    const dayBefore = (ms: number) => Math.floor((now - ms) / DAY_MS);
    const sessions = await partitions.drop("sessions", first.sessions);
    if (sessions > 0)
      await pool`
        INSERT INTO marks (name, value) VALUES ('sessions_from', ${first.sessions * DAY_MS})
        ON CONFLICT (name) DO UPDATE SET value = greatest(marks.value, excluded.value)`;
    const drops = [
      sessions,
      await partitions.drop("denials", first.denials),
      await partitions.drop("steps", first.steps),
      await partitions.drop("packed_days", first.packed_days),
      await dropEvents(pool, partitions, dayBefore(eventsMs), dayBefore(auditMs)),
    ];
    await pool`
      DELETE FROM packed_days WHERE day < CASE kind
        WHEN 'samples' THEN ${dayBefore(samplesMs)}::int WHEN 'held' THEN ${first.sessions}::int
        ELSE ${dayBefore(rollupsMs)}::int END`;
    await pool`DELETE FROM last_seen WHERE at < ${now - sessionsMs}`;
    await pool`DELETE FROM coverage WHERE until_at < ${now - rollupsMs}`;
    await pool`DELETE FROM statuses WHERE greatest(until_at, next_by) < ${now - outagesMs}`;
    await pool`DELETE FROM alerts WHERE resolved_at < ${now - eventsMs}`;
    await pool`DELETE FROM refused WHERE at < ${now - eventsMs}`;
    await pool`DELETE FROM commands WHERE expires_at < ${now - eventsMs}`;
    const dropped = drops.reduce((sum, one) => sum + one, 0);
    if (dropped > 0) log.info("Dropped old partitions", { partitions: dropped });
  }

  async function step(): Promise<void> {
    // The lock belongs to this connection, so PostgreSQL releases it if the hub is killed.
    const connection = await pool.reserve();
    try {
      const [lock] =
        await connection`SELECT pg_try_advisory_lock(${LOCK}::int, ${LOCKS.retention}::int) AS held`;
      if (!lock.held) return;
      try {
        await run();
      } finally {
        await connection`SELECT pg_advisory_unlock(${LOCK}::int, ${LOCKS.retention}::int)`;
      }
    } finally {
      connection.release();
    }
  }

  const attempt = () =>
    step().catch((error) => log.warn("Cannot delete old rows", { error: messageOf(error) }));
  const end = repeat(HOUR_MS, () => void attempt());
  return { step, stop: end };
}

interface Brought {
  readonly facts: readonly Fact[];
  readonly days: readonly Day[];
}

const PACKED: ReadonlySet<string> = new Set(["samples", "hours", "rollups", "held"]);

/** Returns the partitioned table of a fact or day, and the number of its day; null for other tables. */
function placeOf(item: Fact | Day): readonly [keyof FirstDays, number] | null {
  const dayOf = (at: number) => Math.floor(at / DAY_MS);
  if ("table" in item) {
    const { table, day } = item;
    if (day < 0) return null;
    if (table === "sessions" || table === "denials") return [table, day];
    return PACKED.has(table) ? ["packed_days", day] : null;
  }
  if (item.kind === "session" && item.endedAt !== null) return ["sessions", dayOf(item.endedAt)];
  if (item.kind === "denial") return ["denials", dayOf(item.at)];
  return item.kind === "step" ? ["steps", dayOf(item.at)] : null;
}

export function daysIn({ facts, days }: Brought): Partial<Record<Partitioned, Set<number>>> {
  const found: Partial<Record<Partitioned, Set<number>>> = {};
  for (const item of [...facts, ...days]) {
    const place = placeOf(item);
    if (place === null) continue;
    const [table, day] = place;
    found[table] ??= new Set();
    found[table].add(day);
  }
  return found;
}

/**
 * Removes rows that retention would delete within the hour anyway. Each of their days would need a
 * partition, and thousands of partitions slow down every query.
 */
export function withinRetention<B extends Brought>(brought: B, first: FirstDays): B {
  const isKept = (item: Fact | Day) => {
    const place = placeOf(item);
    return place === null || place[1] >= first[place[0]];
  };
  const facts = brought.facts.flatMap((fact): Fact[] => {
    if (isKept(fact)) return [fact];
    if (fact.kind !== "session") return [];
    return [{ kind: "gone", seq: fact.seq, row: { of: "session", id: fact.id } }];
  });
  return { ...brought, facts, days: brought.days.filter(isKept) };
}
