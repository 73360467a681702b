import { featureKey } from "../../domain/merge-blocks.ts";
import type { FeaturePicture, ServerPicture } from "../../domain/picture.ts";
import type { Finding } from "./rule.ts";

/** What was normal for a server until now: what a new reading is held against. Stored, so that a restart misses nothing. */
export interface Baseline {
  /** Seats issued, by feature key; null = unlimited, `?` = there is such a feature, and nobody could say how many. */
  readonly totals: Readonly<Record<string, number | null | typeof UNSAID>>;
  /** Lines of the tool's output that no rule knows and everybody has got used to. */
  readonly unparsed: number;
}

const UNSAID = "?";
/** Another total counts as over after this time. */
export const TOTALS_LAST_MS = 24 * 3_600_000;

/** A total that is not what it was. */
export interface TotalChange {
  readonly daemon: string;
  readonly feature: string;
  /** Null = unlimited; absent = there was, or is, no such feature. */
  readonly from?: number | null;
  readonly to?: number | null;
}

/** Compares a good reading with the baseline; the first one only makes it. Pure. */
export function compareTotals(
  baseline: Baseline | null,
  picture: ServerPicture,
): { readonly totals: Baseline["totals"]; readonly changes: readonly TotalChange[] } {
  const totals: Record<string, Baseline["totals"][string]> = {};
  const changes: TotalChange[] = [];
  const before = new Map(Object.entries(baseline?.totals ?? {}));
  for (const feature of picture.features) {
    const { daemon, name } = feature;
    const key = featureKey(daemon, name);
    const from = before.get(key);
    before.delete(key);
    if (!isCounted(feature)) {
      totals[key] = from === undefined ? UNSAID : from;
      continue;
    }
    const to = feature.unlimited ? null : feature.total;
    totals[key] = to;
    if (baseline === null || from === to || from === UNSAID) continue;
    changes.push({ daemon, feature: name, ...(from !== undefined && { from }), to });
  }
  for (const [key, from] of before) {
    const [daemon = "", feature = ""] = key.split("\0");
    if (from !== UNSAID) changes.push({ daemon, feature, from });
  }
  return { totals, changes };
}

/** The total was read now, in whole. */
function isCounted({ state, unlimited, total }: FeaturePicture): boolean {
  return state === "ok" && (unlimited || total !== null);
}

export function totalFinding({ feature, from, to }: TotalChange): Finding {
  const seats = (total: number | null) => (total === null ? "unlimited seats" : `${total} seats`);
  const message =
    to === undefined
      ? `${feature} is gone; it had ${seats(from ?? null)}`
      : from === undefined
        ? `${feature} is new, with ${seats(to)}`
        : `${feature} has ${seats(to)} now; it had ${from === null ? "unlimited" : from}`;
  return { severity: "warning", message, value: to ?? null, threshold: from ?? null };
}

/** A baseline as it was stored; null when the text is none. */
export function readBaseline(text: string): Baseline | null {
  try {
    const { totals, unparsed } = (JSON.parse(text) ?? {}) as Partial<Baseline>;
    return typeof totals === "object" && typeof unparsed === "number" ? { totals, unparsed } : null;
  } catch {
    return null;
  }
}
