import type { Log } from "../../../src/domain/log.ts";
import { createDayKeeper, DAY_QUERIES } from "../../../src/history/day-keeper.ts";
import { createReader } from "../../../src/history/reader.ts";
import type { Store } from "../../../src/store/open/open.ts";

export const INTERVALS = { eda: 3_600_000, cad: 7_200_000 };

/** Makes every day that is due; answers how many of sessions and of sites are made then. `meanwhile` happens after each read. */
export async function makeDays(
  store: Store,
  clock: { now(): number },
  log: Log,
  meanwhile: () => void = () => {},
  intervals: Readonly<Record<string, number>> = INTERVALS,
): Promise<{ sessions: number; sites: number }> {
  const keeper = createDayKeeper({
    store,
    clock,
    log,
    timers: { after: () => () => {} },
    intervals: () => intervals,
    history: {
      async query(name, asked) {
        const answer = await DAY_QUERIES[name](createReader(store.sqlite, { now: clock.now() }), asked);
        meanwhile();
        return answer as never;
      },
    },
  });
  while (await keeper.step());
  const count = (sql: string) => store.sqlite.query<{ days: number }, []>(sql).get()?.days ?? 0;
  return {
    sessions: count("SELECT count(*) AS days FROM session_days WHERE data IS NOT NULL"),
    sites: count("SELECT count(*) AS days FROM site_days WHERE data IS NOT NULL"),
  };
}
