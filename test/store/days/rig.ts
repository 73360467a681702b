import type { Log } from "../../../src/domain/log.ts";
import { createDayKeeper } from "../../../src/store/days/keeper.ts";
import { DAY_QUERIES } from "../../../src/store/days/queries.ts";
import { createReader } from "../../../src/store/history/reader.ts";
import type { Store } from "../../../src/store/open.ts";

/** A keeper of days whose worker answers at once; `meanwhile` happens after it has read. */
export function keeperOf(store: Store, clock: { now(): number }, log: Log, meanwhile: () => void = () => {}) {
  return createDayKeeper({
    ...{ store, clock, log, timers: { set: () => null, clear() {} } },
    history: {
      async query(name, { day }) {
        const read = createReader(store.sqlite, { now: clock.now() });
        const answer = DAY_QUERIES[name](read, { day });
        meanwhile();
        // The name decides on the answer, as the client's types have it.
        return answer as never;
      },
    },
  });
}

/** Makes every day that is due. */
export async function makeDays(...given: Parameters<typeof keeperOf>): Promise<number> {
  const keeper = keeperOf(...given);
  let made = 0;
  while (await keeper.step()) made++;
  return made;
}
