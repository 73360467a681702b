import { type Clock, DAY_MS } from "../domain/time/clock.ts";
import type { Store } from "./open/open.ts";

export interface QuotaLimits {
  readonly daily: number | null;
  readonly monthly: number | null;
}

export interface QuotaRefusal {
  readonly period: "day" | "month";
  readonly limit: number;
  /** End of the period, epoch ms: the next UTC midnight, or the start of the next UTC month. */
  readonly until: number;
}

export type Counter = { dayAt: number; dayCount: number; monthAt: number; monthCount: number };

/** Counts requests by key in memory, so that a request costs no write. */
export function createQuotaBook(clock: Clock) {
  const counters = new Map<string, Counter>();

  function current(keyId: string): Counter {
    const now = clock.now();
    const [dayAt, monthAt] = [now - (now % DAY_MS), monthStart(now)];
    const counter = counters.get(keyId);
    if (counter === undefined) return { dayAt, dayCount: 0, monthAt, monthCount: 0 };
    // If the clock was set back over midnight, keep the daily count. If the clock was wrong by more than a
    // day, start a new count.
    if (counter.dayAt > now && counter.dayAt - now <= DAY_MS) return counter;
    if (counter.monthAt !== monthAt) Object.assign(counter, { monthAt, monthCount: 0 });
    if (counter.dayAt !== dayAt) Object.assign(counter, { dayAt, dayCount: 0 });
    return counter;
  }

  return {
    counters,
    current,
    take(keyId: string, { daily, monthly }: QuotaLimits): QuotaRefusal | null {
      const counter = current(keyId);
      const { dayAt, dayCount, monthAt, monthCount } = counter;
      // Check the month first, because if both quotas are exhausted, the monthly one is exhausted for
      // longer.
      if (monthly !== null && monthCount >= monthly)
        return { period: "month", limit: monthly, until: monthStart(monthAt, 1) };
      if (daily !== null && dayCount >= daily) return { period: "day", limit: daily, until: dayAt + DAY_MS };
      counter.dayCount++;
      counter.monthCount++;
      counters.set(keyId, counter);
      return null;
    },
    outdated: () => monthStart(clock.now()) - DAY_MS,
  };
}

export type Quotas = ReturnType<typeof createQuotas>;

/**
 * Counts requests by key. `flush` stores the counts. The daemon calls `flush` every second, so a kill loses
 * the counts of at most one second.
 */
export function createQuotas({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
  const { sqlite } = store;
  const stored = sqlite.query<Counter & { keyId: string }, []>(
    `SELECT key_id AS keyId, day_at AS dayAt, day_count AS dayCount, month_at AS monthAt, month_count AS monthCount
     FROM quota_counts`,
  );
  const book = createQuotaBook(clock);
  const { counters } = book;
  for (const { keyId, ...counter } of store.read(() => stored.all())) counters.set(keyId, counter);
  const unwritten = new Set<string>();

  const write = sqlite.query<null, [Counter & { keyId: string }]>(
    "INSERT OR REPLACE INTO quota_counts VALUES ($keyId, $dayAt, $dayCount, $monthAt, $monthCount)",
  );
  const forget = sqlite.query<null, [number]>("DELETE FROM quota_counts WHERE day_at < ?");

  return {
    take(keyId: string, limits: QuotaLimits): QuotaRefusal | null {
      const refusal = book.take(keyId, limits);
      if (refusal === null) unwritten.add(keyId);
      return refusal;
    },
    used(keyId: string): { readonly day: number; readonly month: number } {
      const { dayCount: day, monthCount: month } = book.current(keyId);
      return { day, month };
    },
    flush(): void {
      if (unwritten.size === 0) return;
      const outdated = book.outdated();
      store.transaction(() => {
        for (const keyId of unwritten) {
          const counter = counters.get(keyId);
          if (counter !== undefined) write.run({ keyId, ...counter });
        }
        forget.run(outdated);
      });
      unwritten.clear();
      for (const [keyId, { dayAt }] of counters) if (dayAt < outdated) counters.delete(keyId);
    },
  };
}

function monthStart(at: number, later = 0): number {
  const date = new Date(at);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + later);
}
