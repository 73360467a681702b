import { DAY_MS } from "../../domain/time/clock.ts";
import { fromWallClock, secondOccurrence } from "../../domain/time/zone.ts";

export const DAY_SECONDS = 86_400;

/**
 * Converts days and seconds of the zone's clock to epoch ms. When clocks go back, a span of time occurs
 * twice. A time in this span means its first occurrence. Once the first occurrence would be earlier than
 * the latest line by more than half of the span, times on this day mean the second occurrence.
 */
export function createToUtc(zone: string): (day: number, second: number) => number {
  let cachedDay = Number.NaN;
  let midnight = 0;
  let even = false;
  let repeated = false;
  let latest = Number.NEGATIVE_INFINITY;

  const utcOf = (day: number, second: number) => fromWallClock(zone, day * DAY_MS + second * 1000);

  return (day, second) => {
    if (day !== cachedDay) {
      cachedDay = day;
      repeated = false;
      midnight = utcOf(day, 0);
      even = utcOf(day + 1, 0) - midnight === DAY_MS;
    }
    let at = even ? midnight + second * 1000 : utcOf(day, second);
    const again = even ? null : secondOccurrence(zone, at);
    if (again !== null && at < latest - (again - at) / 2 && again - latest < DAY_MS) repeated = true;
    if (again !== null && repeated) at = again;
    if (at > latest) latest = at;
    return at;
  };
}
