import type { Store } from "../open.ts";

/** Drops the oldest day of packed sessions when all of them ended before an instant; answers how many rows went. */
export function createSessionDayDrop({ sqlite }: Pick<Store, "sqlite">): (endedBefore: number) => number {
  const drop = sqlite.query<null, [number]>(
    "DELETE FROM session_days WHERE day = (SELECT min(day) FROM session_days) AND (day + 1) * 86400000 <= ?",
  );
  return (endedBefore) => drop.run(endedBefore).changes;
}
