/** How far figures are written out: beyond this nothing was measured. */

const MS_PER_HOUR = 3_600_000;

/** A ratio as percent with two decimals; null stays unknown. */
export function percentOf(ratio: number | null): number | null {
  return ratio === null ? null : Math.round(ratio * 10_000) / 100;
}

/** Averages of seats and seat-hours: four decimals. */
export function fourDecimals(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}

/** Seat-milliseconds as seat-hours. */
export function seatHours(seatMs: number): number {
  return fourDecimals(seatMs / MS_PER_HOUR);
}

/** A share of time, 0–1, six decimals: half a minute of a year still shows. Of no time nothing is covered. */
export function shareOf(part: number, whole: number): number {
  return whole > 0 ? Math.round((part / whole) * 1_000_000) / 1_000_000 : 0;
}
