import { createDayPacker, DAY_QUERIES } from "../../../src/history/day-packer.ts";
import { createReader } from "../../../src/history/reader.ts";
import type { Store } from "../../../src/store/open/open.ts";

export const INTERVALS = { eda: 3_600_000, cad: 7_200_000 };

/**
 * Packs every due day; returns the number of packed days with held seats and of packed site days.
 * `meanwhile` runs after each query.
 */
export async function makeDays(
  store: Store,
  clock: { now(): number },
  meanwhile: () => void = () => {},
  intervals: Readonly<Record<string, number>> = INTERVALS,
): Promise<{ sessions: number; sites: number }> {
  const step = createDayPacker({
    store,
    clock,
    intervals: () => intervals,
    async query(name, asked) {
      const answer = await DAY_QUERIES[name](createReader(store.sqlite, { now: clock.now() }), asked);
      meanwhile();
      return answer as never;
    },
  });
  while (await step());
  const reader = createReader(store.sqlite, { now: clock.now() });
  return { sessions: reader.daysPacked(0, 1e6).size, sites: reader.siteDays(0, 1e6).size };
}
