import { iso } from "../../domain/clock.ts";
import { UsageRecord } from "../../domain/history-records.ts";
import type { UsageGroup, UsageKey } from "../../domain/stats/usage.ts";
import type { HistoryRead } from "../../store/history/read.ts";
import { namesOf } from "../../store/statistics/people.ts";
import { type UsageQuery, usageQuery } from "../../store/statistics/usage.ts";
import { type NamesFor, namesFor } from "../anonymous/names.ts";
import type { Pseudonyms } from "../anonymous/pseudonyms.ts";
import type { Answer } from "../answers/answer.ts";
import type { Format } from "../answers/format.ts";
import { rowsAnswer } from "../answers/rows.ts";

/** The columns beside the keys of the groups. */
export const FIGURES = ["seatHours", "sessions", "peakUsed", "uniqueUsers", "lastUsedAt"];

export interface UsageAsked extends UsageQuery {
  readonly format: Format;
}

export function usageAnswer(read: HistoryRead, asked: UsageAsked, pseudonyms: Pseudonyms | null): Answer {
  const { filter, groupBy, limit, offset, format } = asked;
  const people = namesFor(pseudonyms, () => namesOf(read, filter, asked));
  const { start, end, rows, total } = usageQuery(read, { ...asked, filter: people.wanted(filter) });
  return rowsAnswer(
    {
      ...{ plural: "groups", record: UsageRecord, total, limit, offset },
      rows: rows.map((group) => usageRecord(group, groupBy, people)),
      columns: [...groupBy, ...FIGURES],
      beside: { start: iso(start), end: iso(end), resolution: "exact" },
    },
    format,
  );
}

function usageRecord({ keys, ...group }: UsageGroup, by: readonly UsageKey[], people: NamesFor): UsageRecord {
  const { seatHours, sessions, peakUsed, uniqueUsers, lastUsedAt } = group;
  const named = by.map((key, index) => {
    const value = keys[index] ?? null;
    if (key === "user") return [key, people.user(value ?? "")] as const;
    return [key, key === "host" ? people.host(value) : value] as const;
  });
  return {
    ...Object.fromEntries(named),
    ...{ seatHours, sessions, peakUsed, uniqueUsers, lastUsedAt: iso(lastUsedAt) },
  };
}
