export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

/** Features have ids below this: a day and a feature are one number. */
const FEATURES = 2 ** 24;

/** Key of a packed row: `day` counts days since 1970-01-01 UTC. */
export function packedKey(day: number, featureId: number): number {
  return day * FEATURES + featureId;
}

export function featureOfKey(key: number): number {
  return key % FEATURES;
}

export function dayOfKey(key: number): number {
  return Math.floor(key / FEATURES);
}

export function dayOf(at: number): number {
  return Math.floor(at / DAY_MS);
}

export function hourStart(at: number): number {
  return Math.floor(at / HOUR_MS) * HOUR_MS;
}

export function hourEnd(at: number): number {
  return Math.ceil(at / HOUR_MS) * HOUR_MS;
}
