import { lt, sql } from "drizzle-orm";
import type { Clock } from "../domain/time/clock.ts";
import { quotaCounts } from "./database/schema.ts";
import type { Store } from "./open/open.ts";

const DAY_MS = 86_400_000;

/** How many requests a key may make; null = any number. */
export interface QuotaLimits {
  readonly daily: number | null;
  readonly monthly: number | null;
}

/** A quota that is used up, and until when. */
export interface QuotaRefusal {
  readonly period: "day" | "month";
  readonly limit: number;
  /** Epoch ms of the next UTC midnight, or of the first of the next UTC month. */
  readonly until: number;
}

export interface Quotas {
  /** Counts one request of a key, unless a quota is used up: then nothing is counted and this says which. */
  take(keyId: string, limits: QuotaLimits): QuotaRefusal | null;
  /** Requests of a key counted in this UTC day and month. */
  used(keyId: string): { readonly day: number; readonly month: number };
  /** Writes what was counted since the last call. On a StoreError it stays to be written. */
  flush(): void;
}

export interface QuotasDeps {
  readonly store: Store;
  readonly clock: Clock;
}

interface Counter {
  dayAt: number;
  dayCount: number;
  monthAt: number;
  monthCount: number;
}

/**
 * Counts in memory, so that a request costs no write: whoever makes this calls `flush` every second, and a kill
 * forgets at most that second. In memory are the keys that made a valid request this month.
 */
export function createQuotas({ store, clock }: QuotasDeps): Quotas {
  const { db } = store;
  const counters = new Map<string, Counter>();
  const unwritten = new Set<string>();
  let cleanedMonth: number | null = null;

  for (const { keyId, ...counter } of store.read(() => db.select().from(quotaCounts).all())) {
    counters.set(keyId, counter);
  }

  const write = db
    .insert(quotaCounts)
    .values({
      keyId: sql.placeholder("keyId"),
      dayAt: sql.placeholder("dayAt"),
      dayCount: sql.placeholder("dayCount"),
      monthAt: sql.placeholder("monthAt"),
      monthCount: sql.placeholder("monthCount"),
    })
    .onConflictDoUpdate({
      target: quotaCounts.keyId,
      set: {
        dayAt: sql`excluded.day_at`,
        dayCount: sql`excluded.day_count`,
        monthAt: sql`excluded.month_at`,
        monthCount: sql`excluded.month_count`,
      },
    })
    .prepare();

  function current(keyId: string): Counter {
    const now = clock.now();
    const [dayAt, monthAt] = [startOfDay(now), startOfMonth(now)];
    const counter = counters.get(keyId);
    if (counter === undefined) return { dayAt, dayCount: 0, monthAt, monthCount: 0 };
    // A clock put back over midnight must not give the day anew; one that was wrong by more than a day may.
    if (counter.dayAt > now && counter.dayAt - now <= DAY_MS) return counter;
    if (counter.monthAt !== monthAt) Object.assign(counter, { monthAt, monthCount: 0 });
    if (counter.dayAt !== dayAt) Object.assign(counter, { dayAt, dayCount: 0 });
    return counter;
  }

  function flush(): void {
    if (unwritten.size === 0) return;
    const monthAt = startOfMonth(clock.now());
    const outdated = monthAt - DAY_MS;
    store.transaction(({ after }) => {
      for (const keyId of unwritten) {
        const counter = counters.get(keyId);
        if (counter !== undefined) write.run({ keyId, ...counter });
      }
      const isNewMonth = cleanedMonth !== monthAt;
      // Once a month: whoever has not come since is forgotten, here and in the database.
      if (isNewMonth) db.delete(quotaCounts).where(lt(quotaCounts.dayAt, outdated)).run();
      after(() => {
        unwritten.clear();
        cleanedMonth = monthAt;
        if (!isNewMonth) return;
        for (const [keyId, { dayAt }] of counters) if (dayAt < outdated) counters.delete(keyId);
      });
    });
  }
  store.beforeClose(flush);

  return {
    take(keyId, { daily, monthly }) {
      const counter = current(keyId);
      const { dayAt, dayCount, monthAt, monthCount } = counter;
      // The month first: it is the longer wait, where both are used up.
      if (monthly !== null && monthCount >= monthly) {
        return { period: "month", limit: monthly, until: startOfNextMonth(monthAt) };
      }
      if (daily !== null && dayCount >= daily) {
        return { period: "day", limit: daily, until: dayAt + DAY_MS };
      }
      counter.dayCount++;
      counter.monthCount++;
      counters.set(keyId, counter);
      unwritten.add(keyId);
      return null;
    },
    used(keyId) {
      const { dayCount: day, monthCount: month } = current(keyId);
      return { day, month };
    },
    flush,
  };
}

function startOfDay(at: number): number {
  return Math.floor(at / DAY_MS) * DAY_MS;
}

function startOfMonth(at: number): number {
  const date = new Date(at);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
}

function startOfNextMonth(at: number): number {
  const date = new Date(at);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
}
