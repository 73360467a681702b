import { Type } from "@sinclair/typebox";
import {
  EfficiencyRecord,
  EfficiencyRow,
  HeatCellRecord,
  StatsRecord,
  UsageRecord,
} from "../../domain/history-records.ts";
import { FLEET_USAGE_KEYS, type UsageKey } from "../../domain/stats/usage.ts";
import { iso } from "../../domain/time/clock.ts";
import type { HistorySource } from "../../history/reader.ts";
import { type EfficiencyQuery, efficiencyQuery } from "../../history/statistics/efficiency.ts";
import { type HeatmapQuery, heatmapQuery } from "../../history/statistics/heatmap.ts";
import { ofProducts, type ProductsAsked, productFigures } from "../../history/statistics/products.ts";
import { type StatsQuery, statsQuery } from "../../history/statistics/stats.ts";
import { type UsageQuery, usageQuery } from "../../history/statistics/usage.ts";
import type { NamesFor } from "../anonymous/anonymous.ts";
import { type Answer, type Formatted, valueAnswer } from "../answers/answer.ts";
import { rowsAnswer } from "../answers/list.ts";

interface StatsAnswer extends Answer {
  /** Number of points of the series; with too many, rows are omitted. */
  readonly points: number;
}

export async function statsAnswer(
  read: HistorySource,
  asked: StatsQuery & ProductsAsked & Formatted,
): Promise<StatsAnswer> {
  const own = asked.product ? ofProducts(read, asked) : read;
  const { rows, total, points, start, end, interval, resolution } = await statsQuery(own, asked);
  const records = rows.map(({ points: series, ...row }) =>
    series === null
      ? row
      : { ...row, series: series.map(({ at, ...point }) => ({ timestamp: iso(at), ...point })) },
  );
  const isTold = asked.product !== null && asked.format === "json";
  const products = isTold && { products: await productFigures(read, asked) };
  const beside = { start: iso(start), end: iso(end), interval, resolution, ...products };
  const answer = rowsAnswer("features", StatsRecord, records satisfies StatsRecord[], total, asked, beside);
  return { ...answer, points };
}

export async function heatmapAnswer(read: HistorySource, asked: HeatmapQuery & Formatted): Promise<Answer> {
  const { cells, features, unit, start, end, resolution } = await heatmapQuery(read, asked);
  const { timezone, format } = asked;
  if (format === "json")
    return valueAnswer({ timezone, features, unit, cells, start: iso(start), end: iso(end), resolution });
  return rowsAnswer("cells", HeatCellRecord, cells, cells.length, { limit: null, offset: 0, format });
}

export async function efficiencyAnswer(
  read: HistorySource,
  asked: EfficiencyQuery & ProductsAsked & Formatted,
): Promise<Answer> {
  const own = asked.product ? ofProducts(read, asked) : read;
  const { rows, total, start, end, resolution } = await efficiencyQuery(own, asked);
  if (asked.format === "json") {
    const products = asked.product && { products: await productFigures(read, asked) };
    const beside = { start: iso(start), end: iso(end), resolution, ...products };
    return rowsAnswer("features", EfficiencyRecord, rows, total, asked, beside);
  }
  // CSV rows of a feature: one per seat, and one per simulated number of seats.
  const parts = rows.flatMap(({ seats, whatIf, ...feature }): EfficiencyRow[] => {
    const none = { busyPercent: null, saturatedSeconds: null, affectedSessions: null };
    return [
      ...seats.map(({ seat, ...row }) => ({
        ...feature,
        part: "seat" as const,
        seats: seat,
        ...none,
        ...row,
      })),
      ...whatIf.map(({ total: n, ...row }) => ({
        ...feature,
        part: "whatIf" as const,
        seats: n,
        ...none,
        ...row,
      })),
    ];
  });
  return rowsAnswer("features", EfficiencyRow, parts, total, asked);
}

export const FIGURES = ["heldSeatHours", "sessions", "peakHeld", "uniqueUsers", "lastUsedAt", "unit"];

/** Returns the key columns of groups. A feature also has its server and daemon. */
export function keyColumns(by: readonly UsageKey[]): readonly UsageKey[] {
  return by.includes("feature") ? ["server", "daemon", ...by] : by;
}

export type UsageAsked = UsageQuery & Formatted;

export async function usageAnswer(read: HistorySource, asked: UsageAsked, people: NamesFor): Promise<Answer> {
  const { filter, groupBy } = asked;
  const shown = (key: UsageKey, name: string | null) =>
    key === "user" ? people.user(name) : key === "host" ? people.host(name) : name;
  const question = { ...asked, filter: people.wanted(filter) };
  const { start, end, coverage, rows, total } = await usageQuery(read, question, shown);
  const groups = rows.map(({ keys, heldSeatHours, sessions, peakHeld, uniqueUsers, lastUsedAt, unit }) => ({
    ...keys,
    heldSeatHours,
    sessions,
    peakHeld,
    uniqueUsers,
    lastUsedAt: iso(lastUsedAt),
    unit,
  }));
  const beside = { start: iso(start), end: iso(end), resolution: "exact", coverage };
  const columns = ["site", ...keyColumns(groupBy), ...FIGURES];
  // Names of labels are not in the schema.
  const labels = groupBy.filter((key) => !FLEET_USAGE_KEYS.some((known) => known === key));
  const record = Type.Object({
    ...Object.fromEntries(labels.map((label) => [label, Type.String()])),
    ...UsageRecord.properties,
  });
  return rowsAnswer("groups", record, groups, total, asked, beside, columns);
}
