import { type FeatureRow, type HolderRow, nameOf, peopleOf, sumOf } from "./model.ts";

const sum = (values: readonly (number | null)[]) =>
  values.reduce((all, value) => (all === null || value === null ? null : all + value), 0);
const WORST = ["failed", "stale", "partial", "ok"] as const;
const earliest = <T extends string>(values: readonly (T | null)[]) =>
  values.filter((each) => each !== null).sort()[0] ?? null;

/**
 * Merges features of the same name on several servers or daemons. Adds up their seats, and takes the worst
 * state and the first expiry. The id of the merged row is not the id of a feature.
 */
export function groupedByName(rows: readonly FeatureRow[]): FeatureRow[] {
  return [...Map.groupBy(rows, ({ feature }) => `${feature.unit} ${feature.name}`)].map(([named, of]) => {
    const [first] = of as [FeatureRow];
    if (of.length === 1) return first;
    const features = of.map(({ feature }) => feature);
    const add = (field: "total" | "used" | "available" | "reserved" | "queued") =>
      sum(features.map((each) => each[field]));
    const available = add("available");
    const expires = of.reduce((a, b) =>
      (b.facts.expiresAt ?? Infinity) < (a.facts.expiresAt ?? Infinity) ? b : a,
    );
    const feature = {
      ...expires.feature,
      total: add("total"),
      used: add("used"),
      available,
      reserved: add("reserved"),
      queued: add("queued"),
      unlimited: features.some(({ unlimited }) => unlimited),
      permanent: features.every(({ permanent }) => permanent),
      state: WORST.find((state) => features.some((each) => each.state === state)) ?? "ok",
      collectedAt: earliest(of.map(({ feature: each, server }) => each.collectedAt ?? server.collectedAt)),
      error: null,
    };
    const free = available === null || feature.unlimited ? null : Math.max(0, available);
    return { ...first, id: `name ${named}`, feature, free, facts: expires.facts, of: of.length };
  });
}

export const HOLDER_GROUPS = ["user", "host", "feature"] as const;
export type HolderGroup = (typeof HOLDER_GROUPS)[number];

export interface GroupRow {
  readonly id: string;
  readonly name: string | null;
  readonly first: HolderRow;
  /**
   * Number of features that the person or host holds. If rows are grouped by feature, number of people who
   * hold it.
   */
  readonly others: number;
  readonly count: number;
  readonly unit: HolderRow["unit"];
  readonly waiting: number;
  readonly since: number | null;
}

/** Groups holders, most seats first. */
export function groupedHolders(rows: readonly HolderRow[], by: HolderGroup): GroupRow[] {
  const keyOf = (row: HolderRow) => (by === "feature" ? `${row.server.id} ${row.feature}` : (row[by] ?? ""));
  const groups = [...Map.groupBy(rows, keyOf)].map(([id, of]): GroupRow => {
    const [first] = of as [HolderRow];
    const unit = by === "feature" ? first.unit : "seats";
    const held = of.filter(({ kind }) => kind === "checkout");
    const times = held.flatMap(({ since }) => since ?? []);
    return {
      id,
      name: by === "feature" ? nameOf(first) : first[by],
      first,
      others:
        by === "feature" ? peopleOf(of) : new Set(of.map((row) => `${row.server.id} ${row.feature}`)).size,
      count: sumOf(held, unit),
      unit,
      waiting: of.length - held.length,
      since: times.length === 0 ? null : times.reduce((a, b) => Math.min(a, b)),
    };
  });
  return groups.sort((a, b) => b.count - a.count || (a.id < b.id ? -1 : 1));
}
