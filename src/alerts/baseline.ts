import { featureKey, featureOfKey } from "../domain/history.ts";
import type { ServerPicture } from "../domain/picture.ts";
import { amountOf } from "../domain/plain-text.ts";
import type { Unit } from "../domain/words.ts";

/**
 * Normal state of a server, with which new readings are compared. Stored, so that a restart misses nothing.
 */
export interface Baseline {
  /**
   * Seats issued, by feature key; null means unlimited, `?` means a known feature with an unknown number of
   * seats.
   */
  readonly totals: Readonly<Record<string, number | null | typeof UNSAID>>;
  /** Units of the totals that do not count seats, by feature key. Absent if all totals count seats. */
  readonly units?: Readonly<Record<string, Unit>>;
  readonly unparsed: number;
}

const UNSAID = "?";

export interface TotalChange {
  readonly daemon: string;
  readonly feature: string;
  readonly unit: Unit;
  /**
   * Null means unlimited. Absent means that the feature did not exist (`from`) or no longer exists (`to`).
   */
  readonly from?: number | null;
  readonly to?: number | null;
}

/** Compares a good reading with the baseline; without a baseline, only creates one. Pure. */
export function compareTotals(baseline: Baseline | null, { features }: ServerPicture) {
  const totals: Record<string, Baseline["totals"][string]> = {};
  const units: Record<string, Unit> = {};
  const changes: TotalChange[] = [];
  let isSame = baseline !== null;
  const before = baseline?.totals ?? {};
  for (const { daemon, name, state, unlimited, total: issued, unit = "seats" } of features) {
    const key = featureKey(daemon, name);
    if (unit !== "seats") units[key] = unit;
    const from = before[key];
    const to = unlimited ? null : issued;
    const isCounted = state === "ok" && (unlimited || issued !== null);
    const total = isCounted ? to : from === undefined ? UNSAID : from;
    totals[key] = total;
    if (total === from) continue;
    isSame = false;
    if (baseline === null || from === UNSAID || total === UNSAID) continue;
    changes.push({ daemon, feature: name, unit, ...(from !== undefined && { from }), to });
  }
  for (const [key, from] of Object.entries(before)) {
    if (key in totals) continue;
    isSame = false;
    const [daemon, feature] = featureOfKey(key);
    const unit = baseline?.units?.[key] ?? "seats";
    if (from !== UNSAID) changes.push({ daemon, feature, unit, from });
  }
  const others = Object.keys(units).length > 0 && { units };
  return { counted: { totals, ...others }, isSame, changes };
}

export function totalMessage({ feature, unit, from, to }: TotalChange): string {
  const seats = (total: number | null) => (total === null ? `unlimited ${unit}` : amountOf(total, unit));
  if (to === undefined) return `${feature} is gone; it had ${seats(from ?? null)}`;
  if (from === undefined) return `${feature} is new, with ${seats(to)}`;
  return `${feature} has ${seats(to)} now; it had ${from === null ? "unlimited" : from}`;
}

export function readBaseline(text: string): Baseline | null {
  try {
    const { totals, units, unparsed } = (JSON.parse(text) ?? {}) as Partial<Baseline>;
    if (typeof totals !== "object" || typeof unparsed !== "number") return null;
    return { totals, ...(typeof units === "object" && { units }), unparsed };
  } catch {
    return null;
  }
}
