import type { Log } from "../../../src/domain/log.ts";
import { createDayKeeper, DAY_QUERIES, type DayAsked } from "../../../src/history/day-keeper.ts";
import { createReader, type Reader } from "../../../src/history/reader.ts";
import type { Store } from "../../../src/store/open/open.ts";

export const INTERVALS = { eda: 3_600_000, cad: 7_200_000 };

/** A keeper of days whose worker answers at once; `meanwhile` happens after it has read. */
export function keeperOf(
  store: Store,
  clock: { now(): number },
  log: Log,
  meanwhile: () => void = () => {},
  intervals: Readonly<Record<string, number>> = INTERVALS,
) {
  const ask =
    <Answer>(query: (read: Reader, asked: DayAsked) => Promise<Answer>) =>
    async (asked: DayAsked) => {
      const answer = await query(createReader(store.sqlite, { now: clock.now() }), asked);
      meanwhile();
      return answer;
    };
  return createDayKeeper({
    ...{ store, clock, log, timers: { set: () => null, clear() {} }, intervals: () => intervals },
    worker: { siteDay: ask(DAY_QUERIES.siteDay), sessionSums: ask(DAY_QUERIES.sessionSums) },
  });
}

/** Makes every day that is due; answers how many of sessions and of sites are made then. */
export async function makeDays(
  ...given: Parameters<typeof keeperOf>
): Promise<{ sessions: number; sites: number }> {
  const keeper = keeperOf(...given);
  while (await keeper.step());
  const count = (sql: string) => given[0].sqlite.query<{ days: number }, []>(sql).get()?.days ?? 0;
  return {
    sessions: count("SELECT count(*) AS days FROM session_days_made WHERE made = 1"),
    sites: count("SELECT count(*) AS days FROM site_days WHERE data IS NOT NULL"),
  };
}
